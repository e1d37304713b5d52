//! Where this side's certificate comes from and whom it lets in: what access points and executors have
//! in common.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ah_access::identity::{
    ExecProvider, FilesProvider, Provider, SpiffeId, TrustDomain, VaultProvider, VaultToken,
    Watched, WorkloadProvider,
};
use ah_access::keyring::{Admittance, Keyring};
use ah_access::peer::{AllowedName, PeerSide};
use ah_access::tls::OnRefusal;
use ah_store::SystemClock;

use crate::app::App;
use crate::error::{CommandError, Exit};

/// How long a source of identities may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Source {
    /// PEM files, read again when they change
    Files,
    /// A program that prints PEM
    Exec,
    /// The PKI engine of a Vault
    Vault,
    /// The Workload API of a SPIFFE agent
    Spiffe,
}

#[derive(Debug, clap::Args)]
pub(crate) struct IdentityArgs {
    /// Where the certificate comes from
    #[arg(long, value_enum, value_name = "SOURCE", default_value = "files")]
    identity: Source,
    /// A directory with chain.pem, key.pem and roots.pem, as `ah ca issue` makes it (files)
    #[arg(long, value_name = "DIR")]
    identity_dir: Option<PathBuf>,
    /// The program that prints key, chain and authorities, and its arguments (exec; once for each
    /// word)
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    identity_exec: Vec<String>,
    /// The Vault (vault)
    #[arg(long, value_name = "URL")]
    vault_address: Option<String>,
    /// Where its PKI engine is (vault)
    #[arg(long, value_name = "PATH", default_value = "pki")]
    vault_mount: String,
    /// The role that issues (vault)
    #[arg(long, value_name = "ROLE")]
    vault_role: Option<String>,
    /// A private file with the token for it (vault)
    #[arg(long, value_name = "FILE")]
    vault_token_file: Option<PathBuf>,
    /// Authorities that vouch for the Vault, instead of the public ones (vault; PEM)
    #[arg(long, value_name = "FILE")]
    vault_ca: Option<PathBuf>,
    /// Who the certificate shall name (vault), or which of several to take (spiffe)
    #[arg(long, value_name = "ID")]
    spiffe_id: Option<SpiffeId>,
    /// The socket of the SPIFFE agent (spiffe; SPIFFE_ENDPOINT_SOCKET when not given)
    #[arg(long, value_name = "unix:PATH")]
    spiffe_socket: Option<String>,
    /// Let SPIFFE ids of this trust domain in; that of the own one when not given
    #[arg(long, value_name = "DOMAIN")]
    trust_domain: Option<TrustDomain>,
    /// Let this name in, too: dns:HOST, uri:URI or spki:SHA256
    #[arg(long, value_name = "NAME")]
    allow: Vec<AllowedName>,
    /// Let nobody in whom this list of revocations has (PEM; read again when it changes)
    #[arg(long, value_name = "FILE")]
    crl: Option<PathBuf>,
}

impl IdentityArgs {
    /// The identity, fetched for the first time, and whom it lets in.
    pub(crate) fn keyring(
        &self,
        app: &App,
        side: PeerSide,
        on_refusal: OnRefusal,
    ) -> Result<Keyring, CommandError> {
        let provider = self.provider(app)?;
        let jitter = app.now().unix_ms().unsigned_abs() % 1_000;
        let jitter = u16::try_from(jitter).unwrap_or(0);
        let watched = Watched::load(provider, app.now(), jitter)
            .map_err(|error| unusable(&error).hint(MAKE_ONE))?;
        let admittance = Admittance {
            side,
            trust_domain: self.trust_domain.clone(),
            allowed: self.allow.clone(),
            crl_file: self.crl.clone(),
            on_refusal,
        };
        Keyring::new(watched, admittance, Arc::new(SystemClock)).map_err(|error| unusable(&error))
    }

    fn provider(&self, app: &App) -> Result<Box<dyn Provider>, CommandError> {
        match self.identity {
            Source::Files => {
                let directory = needed(self.identity_dir.as_ref(), "--identity-dir DIR")?;
                let directory = app.environment.absolute(directory)?;
                let [chain, key, roots] =
                    ["chain.pem", "key.pem", "roots.pem"].map(|name| directory.join(name));
                Ok(Box::new(FilesProvider { chain, key, roots }))
            }
            Source::Exec => {
                let (program, arguments) =
                    needed(self.identity_exec.split_first(), "--identity-exec PROGRAM")?;
                let (program, arguments) = (program.clone(), arguments.to_vec());
                Ok(Box::new(ExecProvider { program, arguments, timeout: PATIENCE }))
            }
            Source::Vault => {
                let file = needed(self.vault_token_file.as_ref(), "--vault-token-file FILE")?;
                Ok(Box::new(VaultProvider {
                    address: needed(self.vault_address.clone(), "--vault-address URL")?,
                    mount: self.vault_mount.clone(),
                    role: needed(self.vault_role.clone(), "--vault-role ROLE")?,
                    id: needed(self.spiffe_id.clone(), "--spiffe-id ID")?,
                    ttl: None,
                    ca_file: self.vault_ca.clone(),
                    token: VaultToken::File(app.environment.absolute(file)?),
                }))
            }
            Source::Spiffe => {
                let told = app.environment.var("SPIFFE_ENDPOINT_SOCKET").map(str::to_owned);
                let address = self.spiffe_socket.clone().or(told);
                let address = needed(address, "--spiffe-socket unix:PATH")?;
                let socket = WorkloadProvider::socket_of(&address)?;
                let id = self.spiffe_id.clone();
                Ok(Box::new(WorkloadProvider { socket, id, timeout: PATIENCE }))
            }
        }
    }
}

const MAKE_ONE: &str = "a private authority: `ah ca init`, then `ah ca issue NODE` (or `--server`)";

fn needed<T>(given: Option<T>, flag: &str) -> Result<T, CommandError> {
    given.ok_or_else(|| {
        let message = format!("this source of identities needs {flag}");
        CommandError::new(Exit::Usage, message).hint(MAKE_ONE)
    })
}

fn unusable(error: &dyn std::error::Error) -> CommandError {
    let mut message = format!("no identity: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    CommandError::new(Exit::Configuration, message)
}
