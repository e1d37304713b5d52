//! The socket that hooks of this machine hand their calls over through: a frame for a frame.
//!
//! A frame is its length in four bytes, the highest first, and so many bytes. What they mean is the
//! desk's, which this room is given: an answer says that the call is in the store for good.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use ah_store::Store;

/// The name of the socket in its directory.
pub const HOOK_SOCKET: &str = "hook.sock";

/// Takes a call into the store; the answer for who made it.
pub type HookDesk = Arc<dyn Fn(Arc<dyn Store>, Vec<u8>) -> Taken + Send + Sync>;

/// An answer under way.
pub type Taken = Pin<Box<dyn Future<Output = Vec<u8>> + Send>>;

/// `bytes` as a frame; too many are refused.
pub fn frame(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let size =
        u32::try_from(bytes.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
    let mut frame = Vec::with_capacity(bytes.len() + 4);
    frame.extend_from_slice(&size.to_be_bytes());
    frame.extend_from_slice(bytes);
    Ok(frame)
}

#[cfg(unix)]
mod serving {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;
    use tokio::time::timeout;

    use super::{HookDesk, frame, io};
    use crate::limits::{HOOK_BYTES_MAX, HOOK_READ_MAX};
    use crate::state::ServerState;

    /// Answers the calls of one connection until it ends.
    pub(crate) async fn serve(
        state: &ServerState,
        desk: &HookDesk,
        mut stream: UnixStream,
    ) -> io::Result<()> {
        while let Some(call) = timeout(HOOK_READ_MAX, read(&mut stream)).await?? {
            let desk = HookDesk::clone(desk);
            let taken = state.call(|store| async move { Ok(desk(store, call).await) }).await;
            // Without an answer the call goes another way: it was not taken.
            let Ok(answer) = taken else { break };
            stream.write_all(&frame(&answer)?).await?;
        }
        Ok(())
    }

    /// The next call; nothing at the end.
    async fn read(stream: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
        let mut size = [0; 4];
        match stream.read_exact(&mut size).await {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        };
        let size = u32::from_be_bytes(size);
        if size > HOOK_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // Held as it comes: a length alone takes no memory.
        let mut call = Vec::new();
        let read = stream.take(u64::from(size)).read_to_end(&mut call).await?;
        match read == size as usize {
            true => Ok(Some(call)),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

#[cfg(unix)]
pub(crate) use serving::serve;
