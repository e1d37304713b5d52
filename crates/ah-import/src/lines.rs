//! A file by lines, in bounded memory: a line that is too long to hold is only measured, and read
//! again in parts.
//!
//! Only the bytes that were there at the beginning are read: a file that grows meanwhile reads the
//! same twice, and what came later is for the next import.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// A line without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its number, from 1.
    pub(crate) number: u64,
    start: u64,
    /// Its bytes.
    pub(crate) bytes: u64,
    /// Whether its end is there: who writes a line writes its end last.
    pub(crate) ended: bool,
}

/// The lines of `input`.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    /// Where the next line starts, and where the last one ends.
    at: u64,
    end: u64,
    number: u64,
    held: Vec<u8>,
    held_max: usize,
}

impl<R: Read + Seek> Lines<R> {
    /// Reads the first `end` bytes of `input` from its start and holds lines of up to `held_max`.
    pub(crate) fn new(input: R, end: u64, held_max: usize) -> Self {
        let input = BufReader::with_capacity(64 * 1024, input);
        Self { input, at: 0, end, number: 0, held: Vec::new(), held_max }
    }

    /// As [`Self::new`], from the byte `at` on, before which there are `number` lines.
    pub(crate) fn resume_at(
        input: R,
        (at, number): (u64, u64),
        end: u64,
        held_max: usize,
    ) -> io::Result<Self> {
        let mut lines = Self { at, number, ..Self::new(input, end, held_max) };
        lines.resume()?;
        Ok(lines)
    }

    /// Where the next line starts, and how many there are before it.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.at, self.number)
    }

    /// Starts again.
    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        (self.at, self.number) = (0, 0);
        self.input.rewind()
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        self.held.clear();
        let start = self.at;
        let (mut last, mut ended) = ([0_u8; 2], false);
        while self.at < self.end {
            let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            let buffer = self.input.fill_buf()?;
            let buffer = &buffer[..buffer.len().min(left)];
            if buffer.is_empty() {
                // Somebody cut the file.
                self.end = self.at;
                break;
            }
            let newline = buffer.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(buffer.len(), |at| at + 1);
            // One byte over shows that the line was not held.
            let room = (self.held_max + 3).saturating_sub(self.held.len());
            self.held.extend_from_slice(&buffer[..taken.min(room)]);
            for byte in &buffer[taken.saturating_sub(2)..taken] {
                last = [last[1], *byte];
            }
            self.input.consume(taken);
            self.at += taken as u64;
            ended = newline.is_some();
            if ended {
                break;
            }
        }
        if self.at == start {
            return Ok(None);
        }
        let ending = match last {
            [b'\r', b'\n'] => 2,
            [_, b'\n'] | [_, b'\r'] => 1,
            _ => 0,
        };
        self.number += 1;
        let bytes = self.at - start - ending.min(self.at - start);
        self.held.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
        Ok(Some(Line { number: self.number, start, bytes, ended }))
    }

    /// The bytes of the line that was read last, or nothing when it was too long to hold.
    pub(crate) fn held(&self, line: &Line) -> Option<&[u8]> {
        let bytes = usize::try_from(line.bytes).ok().filter(|bytes| *bytes <= self.held_max)?;
        self.held.get(..bytes)
    }

    /// Goes to the start of `line`, to read it from [`Self::input`].
    pub(crate) fn revisit(&mut self, line: &Line) -> io::Result<&mut BufReader<R>> {
        self.input.seek(SeekFrom::Start(line.start))?;
        Ok(&mut self.input)
    }

    /// Goes back to where the next line starts.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        self.input.seek(SeekFrom::Start(self.at)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8], held_max: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::new(Cursor::new(bytes), bytes.len() as u64, held_max);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(lines.held(&line).map(<[u8]>::to_vec));
        }
        found
    }

    fn some(lines: &[&str]) -> Vec<Option<Vec<u8>>> {
        lines.iter().map(|line| Some(line.as_bytes().to_vec())).collect()
    }

    #[test]
    fn lines_end_with_either_ending_or_none() {
        assert_eq!(read(b"a\nb\r\n\r\n\nc", 9), some(&["a", "b", "", "", "c"]));
        assert_eq!(read(b"a\r", 9), some(&["a"]));
        assert_eq!(read(b"\n", 9), some(&[""]));
        assert_eq!(read(b"\r", 9), some(&[""]));
        assert_eq!(read(b"", 9), some(&[]));
        assert_eq!(read(b"a\rb\n", 9), some(&["a\rb"]));
    }

    #[test]
    fn a_line_over_the_bound_is_measured_and_read_again() {
        let bytes = b"abc\nabcd\r\nabcde";
        assert_eq!(read(bytes, 3), vec![Some(b"abc".to_vec()), None, None]);
        let mut lines = Lines::new(Cursor::new(bytes), 15, 3);
        lines.next().unwrap();
        let line = lines.next().unwrap().unwrap();
        assert_eq!(line, Line { number: 2, start: 4, bytes: 4, ended: true });
        let mut text = String::new();
        lines.revisit(&line).unwrap().take(line.bytes).read_to_string(&mut text).unwrap();
        assert_eq!(text, "abcd");
        lines.resume().unwrap();
        let torn = Line { number: 3, start: 10, bytes: 5, ended: false };
        assert_eq!(lines.next().unwrap(), Some(torn));
    }

    #[test]
    fn reading_goes_on_where_it_ended() {
        let bytes = b"a\nbc\nd\n";
        let mut lines = Lines::resume_at(Cursor::new(bytes), (2, 1), 7, 9).unwrap();
        let line = lines.next().unwrap().unwrap();
        assert_eq!(line, Line { number: 2, start: 2, bytes: 2, ended: true });
        assert_eq!((lines.held(&line), lines.place()), (Some(&b"bc"[..]), (5, 2)));
    }

    #[test]
    fn what_comes_after_the_beginning_is_not_read() {
        let mut lines = Lines::new(Cursor::new(b"a\nb\nc\n"), 3, 9);
        assert!(lines.next().unwrap().is_some());
        let line = lines.next().unwrap().unwrap();
        assert_eq!(lines.held(&line), Some(&b"b"[..]));
        assert_eq!(lines.next().unwrap(), None);
    }

    proptest! {
        #[test]
        fn lines_are_what_is_between_line_feeds(
            parts in prop::collection::vec(prop::collection::vec(11_u8..16, 0..6), 1..6),
            held_max in 0_usize..6,
        ) {
            let bytes = parts.join(&b'\n');
            let mut expected = parts;
            if expected.last().is_some_and(Vec::is_empty) {
                expected.pop();
            }
            let expected = expected.into_iter().map(|mut line| {
                line.pop_if(|byte| *byte == b'\r');
                (line.len() <= held_max).then_some(line)
            });
            prop_assert_eq!(read(&bytes, held_max), expected.collect::<Vec<_>>());
        }
    }
}
