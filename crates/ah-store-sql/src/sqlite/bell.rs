//! A bell that every commit rings, so that who waits in another process need not look again and
//! again.
//!
//! To ring is to open and close the queue's lock file: the kernel tells who watches it, nothing is
//! written. It is rung after the commit can be seen, which a watch of the WAL could not tell. Where
//! files cannot be watched, and if ever a ring is lost, the listener looks by itself.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the bell is.
pub(crate) struct Bell(PathBuf);

impl Bell {
    pub(crate) fn new(lock_file: &Path) -> Self {
        Self(lock_file.to_owned())
    }

    /// Tells everybody who listens.
    pub(crate) fn ring(&self) {
        // Without the file nobody listens.
        drop(File::open(&self.0));
    }
}

/// Somebody who listens.
pub(crate) struct Listener(platform::Listener);

impl Listener {
    /// Hears every ring from now on.
    pub(crate) fn new(bell: &Bell) -> Self {
        Self(platform::Listener::new(&bell.0))
    }

    /// Waits for a ring, at most for a while.
    pub(crate) fn wait(&self) {
        self.0.wait();
    }
}

/// How often somebody looks who cannot hear: a look costs about a microsecond.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

#[cfg(target_os = "linux")]
mod platform {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};

    use super::LOOK_AGAIN;

    /// Longest wait: for rings that nobody rang, and to see that nobody waits any more.
    const LONGEST: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

    /// Absent where the kernel has no watch to give: then it looks by itself.
    pub(super) struct Listener(Option<OwnedFd>);

    impl Listener {
        pub(super) fn new(file: &Path) -> Self {
            let watch = || {
                let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
                let closed = WatchFlags::CLOSE_NOWRITE | WatchFlags::CLOSE_WRITE;
                inotify::add_watch(&fd, file, closed)?;
                Ok::<_, rustix::io::Errno>(fd)
            };
            Self(watch().ok())
        }

        pub(super) fn wait(&self) {
            let Some(fd) = &self.0 else {
                std::thread::sleep(LOOK_AGAIN);
                return;
            };
            let rung = poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&LONGEST));
            if rung.is_err() {
                std::thread::sleep(LOOK_AGAIN);
            }
            // Many rings are one: whoever looks sees all that was committed before.
            let mut room = [MaybeUninit::uninit(); 4096];
            let mut rings = Reader::new(fd, &mut room);
            while rings.next().is_ok() {}
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::path::Path;

    use super::LOOK_AGAIN;

    pub(super) struct Listener;

    impl Listener {
        pub(super) fn new(_file: &Path) -> Self {
            Self
        }

        pub(super) fn wait(&self) {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}
