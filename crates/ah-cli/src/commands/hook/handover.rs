//! A call handed to the server of this machine, through its socket.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use ah_import::{HookCall, HookFate};
use ah_server::{HOOK_SOCKET, frame};

/// How long the server may take; the call gives up on it in time for another way.
const WAIT: Duration = Duration::from_millis(100);
/// Longest answer.
const ANSWER_BYTES_MAX: u32 = 64 * 1024;

/// Gives the call to the server whose sockets are in `dir`; nothing when there is none, or when it
/// does not say what it did. The call can then go another way: it is known by its key.
pub(super) fn send(dir: &Path, call: &HookCall) -> Option<HookFate> {
    let stream = UnixStream::connect(dir.join(HOOK_SOCKET)).ok()?;
    exchange(stream, call).ok()
}

fn exchange(mut stream: UnixStream, call: &HookCall) -> io::Result<HookFate> {
    stream.set_read_timeout(Some(WAIT))?;
    stream.set_write_timeout(Some(WAIT))?;
    stream.write_all(&frame(&serde_json::to_vec(call)?)?)?;
    let mut size = [0; 4];
    stream.read_exact(&mut size)?;
    let size = u32::from_be_bytes(size);
    if size > ANSWER_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut answer = Vec::new();
    stream.take(u64::from(size)).read_to_end(&mut answer)?;
    Ok(serde_json::from_slice(&answer)?)
}
