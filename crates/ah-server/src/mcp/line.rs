//! Messages as lines, over pipes and sockets.
//!
//! The SDK's own reader drops what it cannot read without a word, and its client waits for ever.
//! Here every line that asks for something is answered.

use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::pin::Pin;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::{ServerInitializeError, ServiceExt};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::error::Category;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::handler::Handler;
use crate::limits::MCP_MESSAGE_BYTES_MAX;
use crate::state::ServerState;

/// Serves the caller of `handler` until it goes away or the server stops. Calls under way are
/// answered then; the SDK waits some seconds for them.
pub(super) async fn serve<R, W>(handler: Handler, read: R, write: W) -> Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let state = handler.state().clone();
    match handler.serve(Lines::new(state, read, write)).await {
        Ok(running) => running.waiting().await.map(drop).map_err(Error::other),
        // Whoever goes away before it says anything has nothing to complain about.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Error::new(ErrorKind::InvalidData, error.to_string())),
    }
}

type Reply = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

struct Lines<R, W> {
    state: ServerState,
    read: BufReader<R>,
    line: Vec<u8>,
    /// The line is longer than allowed: the rest of it is passed over.
    too_long: bool,
    write: Arc<Mutex<W>>,
    /// An answer to a line that is no message. It is kept here because a read may be broken off at
    /// any point, and half an answer must not be.
    reply: Option<Reply>,
}

/// What a read came to.
enum Step {
    Line,
    End,
    More,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    fn new(state: ServerState, read: R, write: W) -> Self {
        let (read, write) = (BufReader::new(read), Arc::new(Mutex::new(write)));
        Self { state, read, line: Vec::new(), too_long: false, write, reply: None }
    }

    /// Reads on. Nothing is lost if it is broken off: what was taken is in `line`.
    async fn step(&mut self) -> Result<Step> {
        let bytes = self.read.fill_buf().await?;
        if bytes.is_empty() {
            return Ok(if self.line.is_empty() && !self.too_long { Step::End } else { Step::Line });
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        if self.line.len() + taken > MCP_MESSAGE_BYTES_MAX {
            self.too_long = true;
            self.line = Vec::new();
        }
        if !self.too_long {
            self.line.extend_from_slice(&bytes[..taken]);
        }
        self.read.consume(taken);
        Ok(if end.is_some() { Step::Line } else { Step::More })
    }

    /// The message of the line that was read, unless it is none, which its sender is told.
    fn message(&mut self) -> Option<ClientJsonRpcMessage> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.too_long) {
            let text = format!("a message has more than {MCP_MESSAGE_BYTES_MAX} bytes");
            self.refuse(ErrorCode::INVALID_REQUEST, text, None);
            return None;
        }
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        match serde_json::from_slice(line) {
            Ok(message) => Some(message),
            Err(error) if matches!(error.classify(), Category::Syntax | Category::Eof) => {
                self.refuse(ErrorCode::PARSE_ERROR, format!("not JSON: {error}"), None);
                None
            }
            Err(error) => {
                self.refuse_shape(line, &error);
                None
            }
        }
    }

    /// Answers JSON that is no message, unless it is meant as one that is not answered.
    fn refuse_shape(&mut self, line: &[u8], error: &serde_json::Error) {
        #[derive(Deserialize)]
        struct Head {
            id: Option<RequestId>,
            method: Option<String>,
        }
        let head = serde_json::from_slice(line).unwrap_or(Head { id: None, method: None });
        let notifies = head.id.is_none()
            && head.method.is_some_and(|method| method.starts_with("notifications/"));
        if !notifies {
            let text = format!("not a message of the protocol: {error}");
            self.refuse(ErrorCode::INVALID_REQUEST, text, head.id);
        }
    }

    fn refuse(&mut self, code: ErrorCode, text: String, id: Option<RequestId>) {
        let answer = ServerJsonRpcMessage::error(ErrorData::new(code, text, None), id);
        self.reply = Some(Box::pin(write_line(Arc::clone(&self.write), answer)));
    }
}

async fn write_line<W: AsyncWrite + Unpin>(
    write: Arc<Mutex<W>>,
    message: ServerJsonRpcMessage,
) -> Result<()> {
    let mut line = serde_json::to_vec(&message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<()>> + Send + 'static {
        write_line(Arc::clone(&self.write), item)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(reply) = &mut self.reply {
                let replied = reply.await;
                self.reply = None;
                replied.ok()?;
            }
            let state = self.state.clone();
            let step = tokio::select! {
                // Nothing more is read; what is written is not hurt by that.
                () = state.closing() => return None,
                step = self.step() => step,
            };
            match step {
                Ok(Step::More) => {}
                Ok(Step::Line) => {
                    if let Some(message) = self.message() {
                        return Some(message);
                    }
                }
                Ok(Step::End) | Err(_) => return None,
            }
        }
    }

    async fn close(&mut self) -> Result<()> {
        self.write.lock().await.shutdown().await
    }
}
