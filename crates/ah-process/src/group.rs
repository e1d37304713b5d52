//! A group of processes: a program and whatever it started.

use std::process::Command;

/// A group of processes.
#[derive(Debug, Clone, Copy)]
pub struct Group(u32);

impl Group {
    /// The group of the program with that number, which [`begin`] made its head.
    pub fn of(process: u32) -> Self {
        Self(process)
    }

    /// The number of its head.
    pub fn head(self) -> u32 {
        self.0
    }

    /// Asks them to end.
    pub fn ask(self) {
        self.signal(Signal::Terminate);
    }

    /// Ends them.
    pub fn kill(self) {
        self.signal(Signal::Kill);
    }

    /// Holds them still.
    pub fn hold(self) {
        self.signal(Signal::Hold);
    }

    /// Lets them go on.
    pub fn go_on(self) {
        self.signal(Signal::GoOn);
    }

    /// Waits until its head has ended, which stays there to be asked how: so long nobody else gets
    /// its number.
    #[cfg(unix)]
    pub fn await_head(self) {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        if let Some(pid) = self.pid() {
            // Whoever asks how it ended hears of anything else.
            let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), options));
        }
    }

    #[cfg(not(unix))]
    pub fn await_head(self) {}

    #[cfg(unix)]
    fn pid(self) -> Option<rustix::process::Pid> {
        i32::try_from(self.0).ok().and_then(rustix::process::Pid::from_raw)
    }

    #[cfg(unix)]
    fn signal(self, signal: Signal) {
        use rustix::process::kill_process_group;
        let signal = match signal {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Kill => rustix::process::Signal::KILL,
            Signal::Hold => rustix::process::Signal::STOP,
            Signal::GoOn => rustix::process::Signal::CONT,
        };
        // Whoever has ended already needs no signal.
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, signal);
        }
    }

    #[cfg(not(unix))]
    fn signal(self, _signal: Signal) {}
}

#[derive(Debug, Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
    Hold,
    GoOn,
}

/// Makes the program the head of a group of its own, which the terminal's signals do not reach.
#[cfg(unix)]
pub fn begin(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
pub fn begin(_command: &mut Command) {}
