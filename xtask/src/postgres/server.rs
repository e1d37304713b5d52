//! A private PostgreSQL server in a directory of its own.
//!
//! Invariant: server and directory never outlive this process, however it ends: `guardian.sh` holds
//! both and removes them when the pipe to us closes.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Sync;
use super::find::Installation;
use crate::process::Failure;

const ROLE: &str = "ah";
const DATABASE: &str = "postgres";
const HOST: &str = "127.0.0.1";

/// A port found free may be taken before the server binds it.
const START_ATTEMPTS_MAX: u32 = 3;
const PORT_TAKEN: &str = "Address already in use";
const START_WAIT_MAX: Duration = Duration::from_secs(60);
const START_POLL: Duration = Duration::from_millis(20);

/// The line of `postmaster.pid` that holds the server's state.
const STATE_LINE: usize = 7;

pub(crate) struct Server {
    guardian: Child,
    directory: PathBuf,
    port: u16,
}

impl Server {
    /// Creates a database cluster and starts a server that accepts connections on return.
    pub(super) fn start(installation: &Installation, sync: Sync) -> Result<Self, Failure> {
        let mut attempt = 1;
        loop {
            match Self::start_once(installation, sync) {
                Err(failure)
                    if attempt < START_ATTEMPTS_MAX && failure.message.contains(PORT_TAKEN) =>
                {
                    attempt += 1;
                }
                result => return result,
            }
        }
    }

    pub(super) fn url(&self) -> String {
        format!("postgres://{ROLE}@{HOST}:{}/{DATABASE}", self.port)
    }

    /// What `psql` and its siblings read.
    pub(super) fn client_variables(&self) -> [(&'static str, String); 4] {
        [
            ("PGHOST", HOST.to_owned()),
            ("PGPORT", self.port.to_string()),
            ("PGUSER", ROLE.to_owned()),
            ("PGDATABASE", DATABASE.to_owned()),
        ]
    }

    fn start_once(installation: &Installation, sync: Sync) -> Result<Self, Failure> {
        let port = free_port()?;
        let directory = create_directory()?;
        let guardian = guard(installation, &directory, port, sync).inspect_err(|_| {
            let _ = fs::remove_dir_all(&directory);
        })?;
        let server = Self { guardian, directory, port };
        server.wait_until_ready()?;
        Ok(server)
    }

    fn wait_until_ready(&self) -> Result<(), Failure> {
        let started = Instant::now();
        while !self.is_ready() {
            let exited = self.directory.join("exited").exists();
            if exited || started.elapsed() > START_WAIT_MAX {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                return Err(Failure::new(format!("the PostgreSQL server did not start:\n{log}")));
            }
            std::thread::sleep(START_POLL);
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        fs::read_to_string(self.directory.join("data/postmaster.pid"))
            .is_ok_and(|status| status.lines().nth(STATE_LINE).map(str::trim) == Some("ready"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        if let Err(error) = self.guardian.wait() {
            eprintln!("warning: waiting for the PostgreSQL server: {error}");
        }
    }
}

/// The account the server runs as; PostgreSQL refuses to run as root.
#[derive(Debug, Clone, Copy)]
struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// Our own, unless we are root: then `postgres` or `nobody`, who is given the directory.
    fn for_server(directory: &Path) -> Result<Option<Self>, Failure> {
        let owner = fs::metadata(directory).map_err(Failure::file(directory))?.uid();
        if owner != 0 {
            return Ok(None);
        }
        let accounts = Path::new("/etc/passwd");
        let listed = fs::read_to_string(accounts).map_err(Failure::file(accounts))?;
        let account =
            Self::parse(&listed, "postgres")
                .or_else(|| Self::parse(&listed, "nobody"))
                .ok_or_else(|| Failure::new("neither `postgres` nor `nobody` is in /etc/passwd"))?;
        chown(directory, Some(account.uid), Some(account.gid)).map_err(Failure::file(directory))?;
        Ok(Some(account))
    }

    fn parse(listed: &str, name: &str) -> Option<Self> {
        listed.lines().find_map(|line| {
            let mut fields = line.split(':');
            let found = fields.next() == Some(name);
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            found.then_some(Self { uid, gid })
        })
    }
}

fn create_directory() -> Result<PathBuf, Failure> {
    let parent = std::env::temp_dir();
    let process_id = std::process::id();
    for number in 0..u32::MAX {
        let directory = parent.join(format!("ah-postgres-{process_id}-{number}"));
        match fs::DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::file(&directory)(error)),
        }
    }
    Err(Failure::new(format!("{} is full of old servers", parent.display())))
}

/// Starts the guardian, which creates and runs the server.
fn guard(
    installation: &Installation,
    directory: &Path,
    port: u16,
    sync: Sync,
) -> Result<Child, Failure> {
    let mut command = Command::new("sh");
    command.args(["-c", include_str!("guardian.sh"), "guardian"]);
    command.arg(directory).arg(&installation.directory).arg(ROLE);
    command.args(["-p", &port.to_string()]);
    for setting in settings(directory, sync) {
        command.arg("-c").arg(setting);
    }
    command.current_dir(directory).env("LC_ALL", "C");
    if let Some(account) = Account::for_server(directory)? {
        command.uid(account.uid).gid(account.gid);
    }
    // A process group of its own, so that a Ctrl-C reaches the tests before their server.
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map_err(|error| Failure::new(format!("cannot start `sh`: {error}")))
}

fn settings(directory: &Path, sync: Sync) -> Vec<String> {
    let mut settings = vec![
        format!("listen_addresses={HOST}"),
        format!("unix_socket_directories={}", directory.display()),
        // Tests run side by side, each with a pool of its own.
        "max_connections=200".to_owned(),
    ];
    if sync == Sync::Off {
        settings.extend(["fsync=off".to_owned(), "full_page_writes=off".to_owned()]);
    }
    settings
}

fn free_port() -> Result<u16, Failure> {
    TcpListener::bind((HOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| Failure::new(format!("no free port on {HOST}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_by_name() {
        let listed = "root:x:0:0::/root:/bin/sh\npostgres:x:101:104:,,,:/var:/bin/sh\n";
        let found = Account::parse(listed, "postgres").map(|account| (account.uid, account.gid));
        assert_eq!(found, Some((101, 104)));
        assert!(Account::parse(listed, "nobody").is_none());
    }
}
