//! One socket that is listened on.

use std::fs::{Permissions, set_permissions, symlink_metadata};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::{Uid, geteuid};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::place::of_another;
use crate::hook::{self, HookDesk};
use crate::limits::{ACCEPT_PAUSE, MCP_CONNECTIONS_MAX, MCP_DRAIN_MAX};
use crate::mcp::Caller;
use crate::mcp::act::Waits;
use crate::mcp::handler::Handler;
use crate::mcp::line;
use crate::state::ServerState;

/// Longest path of a socket, with the zero behind it.
const PATH_BYTES: usize = if cfg!(target_os = "macos") { 104 } else { 108 };

/// A socket with whoever is connected to it; dropped, all of it ends and the file is gone.
pub(super) struct Listening {
    path: PathBuf,
    /// Which file it is: another in its place is left alone.
    inode: u64,
    accepting: JoinHandle<()>,
}

impl Listening {
    /// Listens at `path` for `service`. A socket that is there is one of a server that is gone,
    /// because this one has the directory; anything else is left alone and refused.
    pub(super) fn begin(path: PathBuf, state: ServerState, service: Service) -> Result<Self> {
        let bytes = path.as_os_str().as_bytes().len();
        if bytes >= PATH_BYTES {
            let reason = format!(
                "{} has {bytes} bytes, a socket's path may have {} here",
                path.display(),
                PATH_BYTES - 1
            );
            return Err(Error::new(ErrorKind::InvalidInput, reason));
        }
        check_replaceable(&path)?;
        // It gets its name once it listens: who sees it can connect. Nobody else reaches it
        // meanwhile: the directory is ours alone.
        let new = unnamed(&path);
        if check_replaceable(&new)? {
            std::fs::remove_file(&new).map_err(|error| named(&new, &error))?;
        }
        let listener = UnixListener::bind(&new).map_err(|error| named(&new, &error))?;
        set_permissions(&new, Permissions::from_mode(0o600))?;
        let inode = symlink_metadata(&new)?.ino();
        std::fs::rename(&new, &path).map_err(|error| named(&path, &error))?;
        let accepting = tokio::spawn(accept(listener, state, service));
        Ok(Self { path, inode, accepting })
    }

    /// Waits until it has ended by itself, as it does when the server stops.
    pub(super) async fn ended(&mut self) {
        // One that broke off has ended as well.
        let _ = (&mut self.accepting).await;
    }

    /// Whether its file is still the one that was made.
    pub(super) fn is_there(&self) -> bool {
        symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.accepting.abort();
        if self.is_there() {
            // One that cannot be removed is found stale by the next server.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// What a socket is for.
#[derive(Clone)]
pub(super) enum Service {
    /// MCP with this caller.
    Mcp(Caller),
    /// Calls of hooks.
    Hooks(HookDesk),
}

impl Service {
    async fn serve(self, state: ServerState, stream: UnixStream) {
        match self {
            Self::Mcp(caller) => {
                let handler = Handler::new(state, caller, Waits::Here);
                let (read, write) = stream.into_split();
                // A client that breaks the protocol has been told.
                let _ = line::serve(handler, read, write).await;
            }
            Self::Hooks(desk) => {
                // A hook that gets no answer takes another way.
                let _ = hook::serve(&state, &desk, stream).await;
            }
        }
    }
}

/// What a socket is called until it listens.
pub(super) fn unnamed(socket: &Path) -> PathBuf {
    socket.with_extension("new")
}

/// Whether a socket of ours is there; anything else is an error.
fn check_replaceable(path: &Path) -> Result<bool> {
    match symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            let reason = format!("{} is there and is no socket", path.display());
            Err(Error::new(ErrorKind::AlreadyExists, reason))
        }
        Ok(found) => match of_another(found.uid(), geteuid()) {
            None => Ok(true),
            Some(reason) => {
                let reason = format!("{} {reason}", path.display());
                Err(Error::new(ErrorKind::PermissionDenied, reason))
            }
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(named(path, &error)),
    }
}

/// The error with the path it is about.
pub(super) fn named(path: &Path, error: &Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Serves whoever connects. Connections end with it; when the server stops they have a moment to
/// answer what they were asked.
async fn accept(listener: UnixListener, state: ServerState, service: Service) {
    let room = Arc::new(Semaphore::new(MCP_CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = state.closing() => break,
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let Ok((stream, _)) = accepted else {
            // One that broke before it began, or no descriptors left for now.
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else { continue };
        if !is_of(&stream, geteuid()) {
            continue;
        }
        let (state, service) = (state.clone(), service.clone());
        connections.spawn(async move {
            let _permit = permit;
            service.serve(state, stream).await;
        });
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    // Who is not done by then is cut off.
    let _ = timeout(MCP_DRAIN_MAX, drained).await;
}

/// Whether the other side is that user.
fn is_of(stream: &UnixStream, user: Uid) -> bool {
    stream.peer_cred().is_ok_and(|peer| of_another(peer.uid(), user).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_is_of_the_user_who_made_it_and_of_nobody_else() {
        let (stream, _other) = UnixStream::pair().unwrap();
        let own = geteuid();
        assert!(is_of(&stream, own));
        let another = Uid::from_raw(own.as_raw() + 1);
        assert!(!is_of(&stream, another));
        let reason = format!("belongs to user {}, not to this one", own.as_raw());
        assert_eq!(of_another(own.as_raw(), another), Some(reason));
    }
}
