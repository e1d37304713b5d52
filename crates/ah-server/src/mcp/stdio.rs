//! MCP on standard input and output, for one caller.

use std::io::Result;
use std::pin::pin;

use ah_hive::Host;
use rmcp::transport::stdio;
use tokio::runtime::Builder;
use tokio::time::timeout;

use super::Caller;
use super::act::Waits;
use super::handler::Handler;
use super::line;
use crate::limits::MCP_DRAIN_MAX;
use crate::options::ServerOptions;
use crate::signal::asked_to_end;
use crate::state::ServerState;

/// Threads that serve; what blocks has its own.
const THREADS: usize = 2;

/// Serves `caller` on standard input and output until the input ends, or the process is asked to;
/// the process is to end then. Nothing else may write to the output meanwhile.
pub fn serve_stdio(host: &Host, caller: Caller) -> Result<()> {
    let options = ServerOptions { homes: host.homes().cloned(), ..ServerOptions::default() };
    let state = ServerState::with_options(host.store().clone(), options);
    let runtime = Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    let served = runtime.block_on(async {
        let (read, write) = stdio();
        let asked = asked_to_end()?;
        let handler = Handler::new(state.clone(), caller, Waits::Aside);
        let mut serving = pin!(line::serve(handler, read, write));
        tokio::select! {
            served = &mut serving => return served,
            () = asked => state.close(),
        }
        // Who is not done by then is cut off.
        timeout(MCP_DRAIN_MAX, serving).await.unwrap_or(Ok(()))
    });
    // A thread that waits for a server, or for input, is not waited for: they all end with the
    // process, which is now. Shut down, the runtime would have tasks panic that just set a timer.
    std::mem::forget(runtime);
    served
}
