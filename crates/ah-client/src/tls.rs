//! Whom the client believes who a server is, when it is called by `https`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ah_model::Invalid;
use rustls::crypto::aws_lc_rs;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// Trusts the public authorities, and those in `ca_file`.
///
/// The machine's own list is not asked: where it is, is said by the environment, which only ah-cli
/// reads.
pub fn config(ca_file: Option<&Path>) -> Result<TlsConfig, Invalid> {
    let public = TLS_SERVER_ROOT_CERTS.iter().map(|der| Certificate::from_der(der));
    let further = ca_file.map(authorities).transpose()?.unwrap_or_default();
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::from(public.chain(further)))
        .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
        .build())
}

fn authorities(file: &Path) -> Result<Vec<Certificate<'static>>, Invalid> {
    let wrong = |reason: String| Invalid::new("CA file", format!("{}: {reason}", file.display()));
    let pem = fs::read(file).map_err(|error| wrong(error.to_string()))?;
    let mut found = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| wrong(error.to_string()))? {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(wrong("no certificate is in it".to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
