use std::net::SocketAddr;
use std::path::PathBuf;

use ah_server::AuthMode;

use crate::app::App;
use crate::commands::executors::ExecutorsArgs;
use crate::commands::serving::{Residents, Serving, serve};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen here; port 0 takes any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4747")]
    bind: SocketAddr,
    /// Ask nobody for a token; only for programs of this machine
    #[arg(long)]
    no_auth: bool,
    /// Serve others without TLS: whoever is on the way can read their tokens
    #[arg(long)]
    insecure: bool,
    /// Serve under TLS with this certificate chain (PEM, the server's own first)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve the Agent Coordinator's interface at `/` of this port too; it is below `/coordinator`
    /// in any case
    #[arg(long, value_name = "PORT")]
    coordinator_compat: Option<u16>,
    #[command(flatten)]
    executors: ExecutorsArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let auth = if args.no_auth { AuthMode::Open } else { AuthMode::Tokens };
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    let (bind, insecure) = (args.bind, args.insecure);
    let coordinator = args.coordinator_compat.map(|port| SocketAddr::new(bind.ip(), port));
    let residents = Residents::Elsewhere;
    let executors = Some(&args.executors);
    serve(app, &Serving { bind, auth, insecure, tls, coordinator, residents, runs: 0, executors })
}
