//! What a program writes, copied to files up to a limit. What goes over it is read and counted, so
//! that the program does not stand still.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Most that is copied at a time.
const PIECE_BYTES: usize = 64 * 1024;
/// How long the end of the streams is awaited when all of the program has ended. Somebody outside
/// of it may hold them.
const PATIENCE: Duration = Duration::from_secs(2);

/// Both streams on their way to their files.
#[derive(Debug)]
pub(super) struct Copies {
    dropped: [Arc<AtomicU64>; 2],
    over: Receiver<()>,
}

impl Copies {
    /// Copies what `child` writes, a thread each.
    pub(super) fn begin(
        child: &mut Child,
        (out, err): (File, File),
        bytes_max: u64,
    ) -> io::Result<Self> {
        let (told, over) = channel();
        let dropped = [Arc::default(), Arc::default()];
        let [out_dropped, err_dropped] = &dropped;
        if let Some(from) = child.stdout.take() {
            begin(from, Log::of(out, bytes_max, out_dropped), told.clone())?;
        }
        if let Some(from) = child.stderr.take() {
            begin(from, Log::of(err, bytes_max, err_dropped), told)?;
        }
        Ok(Self { dropped, over })
    }

    /// Waits for the ends; how much was not kept of each stream.
    pub(super) fn finish(self) -> (u64, u64) {
        let until = Instant::now() + PATIENCE;
        for _ in &self.dropped {
            let left = until.saturating_duration_since(Instant::now());
            // Whoever holds a stream that long is not the program.
            let _ = self.over.recv_timeout(left);
        }
        let [out, err] = self.dropped.map(|dropped| dropped.load(Ordering::SeqCst));
        (out, err)
    }
}

fn begin(from: impl Read + Send + 'static, mut log: Log, over: Sender<()>) -> io::Result<()> {
    let copy = move || {
        log.copy(from);
        // Nobody listens when the keeper has stopped waiting.
        let _ = over.send(());
    };
    std::thread::Builder::new().name("ah-keep-copy".to_owned()).spawn(copy).map(drop)
}

/// The file of a stream.
struct Log {
    file: File,
    room: u64,
    bytes_max: u64,
    dropped: Arc<AtomicU64>,
}

impl Log {
    fn of(file: File, bytes_max: u64, dropped: &Arc<AtomicU64>) -> Self {
        Self { file, room: bytes_max, bytes_max, dropped: Arc::clone(dropped) }
    }

    fn copy(&mut self, mut from: impl Read) {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match from.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => self.add(piece.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // Before its end is said: what is reported of it is there.
        let _ = self.file.sync_all();
    }

    fn add(&mut self, piece: &[u8]) {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        let (kept, over) = piece.split_at(piece.len().min(room));
        let mut lost = over.len();
        if let Err(error) = self.file.write_all(kept) {
            // A full disk must not hold the program; nothing more is tried.
            lost = piece.len();
            self.room = 0;
            self.say(lost, &format!("output is not kept: {error}"));
        } else {
            self.room -= kept.len() as u64;
            self.say(lost, &format!("output beyond {} bytes is not kept", self.bytes_max));
        }
    }

    /// Says once, in the file itself, that it is not whole.
    fn say(&mut self, lost: usize, why: &str) {
        if lost > 0 && self.dropped.fetch_add(lost as u64, Ordering::SeqCst) == 0 {
            // The count says it as well.
            let _ = self.file.write_all(format!("\n[{why}]\n").as_bytes());
        }
    }
}
