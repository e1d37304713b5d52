//! What programs wrote, read from their files piece by piece.
//!
//! A piece is noted durably before it is given out, with where it ends. After a crash the same piece
//! is given again, byte for byte: its key is the same, so that it counts once, and nothing between it
//! and the next is left out.

use std::fs::File;
use std::os::unix::fs::FileExt;

use sha2::{Digest, Sha256};

use crate::executor::folder::{Folder, PROGRESS, Stream};
use crate::file::FileError;

/// Longest piece.
const PIECE_BYTES_MAX: u64 = 64 * 1024;
/// Numbers of a note: its own, how far each stream is taken, which stream the piece is of, its end.
const NUMBERS: usize = 5;
const SUM_BYTES: usize = 8;
const NOTE_BYTES: usize = NUMBERS * 8 + SUM_BYTES;

/// A piece of a program's output: whole lines, unless one is very long or the last has no end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it was written.
    pub stream: Stream,
    /// Where it begins in the stream, in bytes.
    pub offset: u64,
    /// Where it ends.
    pub end: u64,
    /// What was written; bytes that are no text are replaced.
    pub text: String,
}

/// How far the output of a run is taken.
#[derive(Debug)]
pub(super) struct Reader {
    folder: Folder,
    file: File,
    note: Note,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Note {
    /// Rises by one with each note.
    number: u64,
    /// How far each stream is taken.
    taken: [u64; 2],
    /// The piece that is given out: of the stream, up to where.
    given: Option<(Stream, u64)>,
}

impl Note {
    fn taken_of(&mut self, stream: Stream) -> &mut u64 {
        let [out, err] = &mut self.taken;
        match stream {
            Stream::Stdout => out,
            Stream::Stderr => err,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let [out, err] = self.taken;
        let (stream, end) = match self.given {
            None => (0, 0),
            Some((Stream::Stdout, end)) => (1, end),
            Some((Stream::Stderr, end)) => (2, end),
        };
        let numbers = [self.number, out, err, stream, end].map(u64::to_be_bytes).concat();
        let sum = sum(&numbers);
        [numbers, sum].concat()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (numbers, wanted) = bytes.split_at_checked(NUMBERS * 8)?;
        let words: Vec<u64> =
            numbers.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word)).collect();
        let [number, out, err, stream, end] = words.try_into().ok()?;
        let given = match stream {
            1 => Some((Stream::Stdout, end)),
            2 => Some((Stream::Stderr, end)),
            _ => None,
        };
        (sum(numbers) == wanted).then_some(Self { number, taken: [out, err], given })
    }
}

fn sum(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).into_iter().take(SUM_BYTES).collect()
}

impl Reader {
    pub(super) fn open(folder: &Folder) -> Result<Self, FileError> {
        let path = folder.path().join(PROGRESS);
        let file = ah_process::open_private(&path);
        let file = file.map_err(|error| FileError::io("open", &path, error))?;
        // Two places in turn: a note that was torn leaves the one before.
        let notes = [0, NOTE_BYTES].into_iter().filter_map(|at| {
            let mut bytes = [0; NOTE_BYTES];
            file.read_exact_at(&mut bytes, at as u64).ok()?;
            Note::read(&bytes)
        });
        let note = notes.max_by_key(|note| note.number).unwrap_or_default();
        Ok(Self { folder: folder.clone(), file, note })
    }

    /// The piece that is not taken yet. `is_over`: nothing more will be written.
    pub(super) fn next(&mut self, is_over: bool) -> Result<Option<Piece>, FileError> {
        if let Some((stream, end)) = self.note.given {
            let bytes = self.read(stream, end)?;
            return Ok(Some(self.piece(stream, &bytes)));
        }
        for stream in Stream::ALL {
            let bytes = self.read(stream, u64::MAX)?;
            let length = length(&bytes, is_over);
            if length > 0 {
                let end = *self.note.taken_of(stream) + length as u64;
                self.give(stream, end)?;
                let piece = bytes.get(..length).unwrap_or_default();
                return Ok(Some(self.piece(stream, piece)));
            }
        }
        Ok(None)
    }

    pub(super) fn taken(&mut self, piece: &Piece) {
        if self.note.given == Some((piece.stream, piece.end)) {
            *self.note.taken_of(piece.stream) = piece.end;
            // It is noted with the next piece. Given again after a crash, it counts once.
            self.note.given = None;
        }
    }

    fn piece(&mut self, stream: Stream, bytes: &[u8]) -> Piece {
        let offset = *self.note.taken_of(stream);
        let end = offset + bytes.len() as u64;
        Piece { stream, offset, end, text: String::from_utf8_lossy(bytes).into_owned() }
    }

    /// What comes after what is taken of a stream, up to `end`.
    fn read(&mut self, stream: Stream, end: u64) -> Result<Vec<u8>, FileError> {
        use std::io::{Read, Seek, SeekFrom};
        let path = self.folder.log(stream);
        let failed = |error| FileError::io("read", &path, error);
        let from = *self.note.taken_of(stream);
        let mut bytes = Vec::new();
        match File::open(&path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(from)).map_err(failed)?;
                let most = PIECE_BYTES_MAX.min(end.saturating_sub(from));
                file.take(most).read_to_end(&mut bytes).map_err(failed)?;
            }
            // Its keeper has not begun.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(bytes)
    }

    fn give(&mut self, stream: Stream, end: u64) -> Result<(), FileError> {
        let note = Note { number: self.note.number + 1, given: Some((stream, end)), ..self.note };
        let place = if note.number.is_multiple_of(2) { 0 } else { NOTE_BYTES as u64 };
        let written = self.file.write_all_at(&note.bytes(), place);
        let synced = written.and_then(|()| self.file.sync_data());
        synced
            .map_err(|error| FileError::io("write", &self.folder.path().join(PROGRESS), error))?;
        self.note = note;
        Ok(())
    }
}

/// How much of `bytes` is a piece: whole lines, or what there is if no end of a line can come, or
/// not soon.
fn length(bytes: &[u8], is_over: bool) -> usize {
    if let Some(at) = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
        return at + 1;
    }
    if is_over && (bytes.len() as u64) < PIECE_BYTES_MAX {
        return bytes.len();
    }
    if (bytes.len() as u64) < PIECE_BYTES_MAX {
        return 0;
    }
    match std::str::from_utf8(bytes) {
        // A character that is cut goes to the next piece.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_whole_lines_unless_there_is_no_end_of_one() {
        assert_eq!(length(b"one\ntwo\nthr", false), 8);
        assert_eq!(length(b"one\ntwo\nthr", true), 8);
        assert_eq!(length(b"10%\r20", false), 4);
        assert_eq!(length(b"thr", false), 0);
        assert_eq!(length(b"thr", true), 3);
        assert_eq!(length(b"", true), 0);
        let long = "é".repeat(40_000);
        let long = &long.as_bytes()[1..=64 * 1024];
        assert_eq!(length(long, false), 64 * 1024);
        let long = "é".repeat(40_000).replacen('é', "x", 1);
        assert_eq!(length(&long.as_bytes()[..64 * 1024], true), 64 * 1024 - 1);
    }

    #[test]
    fn a_torn_note_leaves_the_one_before() {
        let note = Note { number: 3, taken: [5, 9], given: Some((Stream::Stderr, 12)) };
        let bytes = note.bytes();
        assert_eq!(bytes.len(), NOTE_BYTES);
        assert_eq!(Note::read(&bytes), Some(note));
        let mut torn = bytes;
        torn[20] ^= 1;
        assert_eq!(Note::read(&torn), None);
    }
}
