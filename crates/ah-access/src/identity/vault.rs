//! An identity from the PKI engine of a Vault: `POST {address}/v1/{mount}/issue/{role}`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ah_model::Timestamp;
use rustls::crypto::aws_lc_rs::default_provider;
use serde::Deserialize;
use ureq::Agent;
use ureq::tls::{Certificate as RootCertificate, RootCerts, TlsConfig};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

use super::{Identity, IdentityError, Mark, Parts, Provider, ProviderKind, SpiffeId, pem};
use crate::file;

/// How long a Vault may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The most that a Vault may answer.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;
/// The most of its own words in an error.
const WORDS_CHARS_MAX: usize = 300;

/// A role of a Vault's PKI engine.
pub struct VaultProvider {
    /// The Vault: `https://host:port`.
    pub address: String,
    /// Where the PKI engine is, such as `pki`.
    pub mount: String,
    /// The role that issues.
    pub role: String,
    /// Who the certificate shall say that this is.
    pub id: SpiffeId,
    /// How long it shall be valid; the role decides when absent.
    pub ttl: Option<Duration>,
    /// What lets us in.
    pub token: VaultToken,
    /// Authorities that vouch for the Vault, instead of the public ones.
    pub ca_file: Option<PathBuf>,
}

/// What lets us into a Vault.
pub enum VaultToken {
    /// The token itself.
    Text(String),
    /// A file that only we may read, looked at each time: an agent may renew it.
    File(PathBuf),
}

#[derive(Deserialize)]
struct Answer {
    data: Issued,
}

#[derive(Deserialize)]
struct Issued {
    certificate: String,
    private_key: String,
    issuing_ca: String,
    #[serde(default)]
    ca_chain: Vec<String>,
}

#[derive(Deserialize)]
struct Refused {
    errors: Vec<String>,
}

impl Provider for VaultProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Vault
    }

    fn load(&self, now: Timestamp) -> Result<Identity, IdentityError> {
        let url = self.url();
        let issued = self.issue(&url)?;
        let mut parts = pem::mixed(issued.certificate.as_bytes(), &url)?;
        parts.key = Some(pem::key(issued.private_key.as_bytes(), &url)?);
        let above = match issued.ca_chain.is_empty() {
            true => vec![issued.issuing_ca],
            false => issued.ca_chain,
        };
        let Parts { chain, roots, .. } = pem::mixed(above.join("\n").as_bytes(), &url)?;
        // An authority without one above it in the answer is the highest that is known: trust it.
        match (roots.is_empty(), chain.last()) {
            (true, Some(highest)) => parts.roots.push(highest.clone()),
            (true, None) | (false, _) => parts.roots.extend(roots),
        }
        parts.chain.extend(chain);
        Identity::new(parts, &url, now)
    }

    fn mark(&self) -> Result<Option<Mark>, IdentityError> {
        Ok(None)
    }
}

impl VaultProvider {
    fn url(&self) -> String {
        let (address, mount) = (self.address.trim_end_matches('/'), self.mount.trim_matches('/'));
        format!("{address}/v1/{mount}/issue/{}", self.role)
    }

    fn issue(&self, url: &str) -> Result<Issued, IdentityError> {
        let failed = |reason: String| IdentityError::Source { origin: url.to_owned(), reason };
        let token = self.token()?;
        let mut body = serde_json::json!({ "uri_sans": self.id.as_str() });
        if let (Some(ttl), Some(body)) = (self.ttl, body.as_object_mut()) {
            body.insert("ttl".to_owned(), format!("{}s", ttl.as_secs()).into());
        }
        let request = self.agent()?.post(url).header("X-Vault-Token", token);
        let request = request.header("X-Vault-Request", "true");
        let request = request.header("Content-Type", "application/json");
        let answer = request.send(body.to_string());
        let mut answer = answer.map_err(|error| failed(error.to_string()))?;
        let status = answer.status();
        let read = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX).read_to_vec();
        let bytes = read.map_err(|error| failed(error.to_string()))?;
        if !status.is_success() {
            return Err(failed(refusal(status.as_u16(), &bytes)));
        }
        // Never the text itself: a key is in it.
        let answer = serde_json::from_slice::<Answer>(&bytes);
        answer.map(|answer| answer.data).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            failed(format!("its answer cannot be read, at line {line}, column {column}"))
        })
    }

    fn agent(&self) -> Result<Agent, IdentityError> {
        let public = || TLS_SERVER_ROOT_CERTS.iter().map(|der| RootCertificate::from_der(der));
        let roots = match &self.ca_file {
            None => RootCerts::from(public()),
            Some(path) => {
                let found =
                    pem::certificates(&file::read_public(path)?, &path.display().to_string())?;
                RootCerts::from(
                    found.into_iter().map(|der| RootCertificate::from_der(&der).to_owned()),
                )
            }
        };
        let tls = TlsConfig::builder()
            .root_certs(roots)
            .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .timeout_global(Some(TIMEOUT))
            // A token goes to the address that was given, and nowhere else.
            .max_redirects(0)
            .http_status_as_error(false);
        Ok(config.build().into())
    }

    fn token(&self) -> Result<String, IdentityError> {
        match &self.token {
            VaultToken::Text(token) => Ok(token.clone()),
            VaultToken::File(path) => {
                let text = file::read_private(path)?;
                Ok(String::from_utf8_lossy(&text).trim().to_owned())
            }
        }
    }
}

fn refusal(status: u16, bytes: &[u8]) -> String {
    let words = serde_json::from_slice::<Refused>(bytes).map(|refused| refused.errors.join("; "));
    let words: String = words.unwrap_or_default().chars().take(WORDS_CHARS_MAX).collect();
    match words.is_empty() {
        true => format!("it answered {status}"),
        false => format!("it answered {status}: {words}"),
    }
}
