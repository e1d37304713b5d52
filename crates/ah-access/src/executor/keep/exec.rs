//! Becomes the program: what must be done in its own process, before it is the program.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{KeepError, failed};
use crate::executor::folder::{Folder, MARK, Order};

/// Limits this process and replaces it by the program. Returns only if that does not work.
pub(super) fn become_program(folder: &Folder, keeper: &OsStr) -> KeepError {
    let order = match die_with(keeper).and_then(|()| Ok(folder.order()?)) {
        Ok(order) => order,
        Err(error) => return error,
    };
    let (name, error) = replace(folder, &order);
    let why = format!("cannot run {name:?} in {}: {error}", order.program.directory.display());
    match folder.note_not_started(&why) {
        Ok(()) => failed("become the program")(error),
        Err(error) => error.into(),
    }
}

/// Has the kernel end this process when the keeper ends, which it then does not outlive unwatched.
#[cfg(target_os = "linux")]
fn die_with(keeper: &OsStr) -> Result<(), KeepError> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed("follow the keeper"))?;
    let parent = getppid().map(|parent| parent.as_raw_nonzero().to_string());
    // It may have ended before.
    match parent.is_some_and(|parent| *keeper == *parent) {
        true => Ok(()),
        false => Err(KeepError::Void(format!("a program of keeper {}", keeper.display()))),
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_keeper: &OsStr) -> Result<(), KeepError> {
    Ok(())
}

/// What it would have been, and why it is not.
fn replace(folder: &Folder, order: &Order) -> (String, io::Error) {
    let Some((name, arguments)) = order.program.argv.split_first() else {
        return (String::new(), io::ErrorKind::NotFound.into());
    };
    if let Err(error) = order.program.limits.apply() {
        return (name.clone(), error);
    }
    let error = Command::new(name)
        .args(arguments)
        .current_dir(&order.program.directory)
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .envs(&order.program.env)
        .env("AH_RUN_ID", order.lease.run_id.as_str())
        .env("AH_RUN_EPOCH", order.lease.epoch.to_string())
        .env("AH_SESSION", order.session_id.as_str())
        .envs(order.dispatch.iter().map(|dispatch| ("AH_DISPATCH_ID", dispatch.as_str())))
        .env(MARK, folder.path())
        .exec();
    (name.clone(), error)
}
