//! `ah up`: the harbor of this machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::serving::{Residents, Serving, serve};
use crate::app::App;
use crate::error::CommandError;

/// Where the harbor of a machine listens, when nobody says.
pub(crate) const PORT: u16 = 4747;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen on this port of this machine; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// Make three agents that follow scripts, if they are missing, and watch them at work
    #[arg(long)]
    demo: bool,
    /// How many tasks of `ah task create --queue` run here at once; 0 leaves them to executors
    #[arg(long, value_name = "N", default_value_t = 2)]
    runs: usize,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let bind = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), args.port);
    let residents = if args.demo { Residents::Demo } else { Residents::Kept };
    serve(app, &Serving { residents, runs: args.runs, ..Serving::of_this_machine(bind) })
}
