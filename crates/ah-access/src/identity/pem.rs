//! Parts of an identity out of PEM text.

use rustls::pki_types::pem::{Error as PemError, PemObject, SectionKind};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::certificate::Certificate;
use super::{IdentityError, Parts};

/// The certificates in a text, in its order.
pub(crate) fn certificates(
    text: &[u8],
    origin: &str,
) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    found.map_err(|error| not_pem(origin, &error))
}

/// The private key in a text.
pub(crate) fn key(text: &[u8], origin: &str) -> Result<PrivateKeyDer<'static>, IdentityError> {
    PrivateKeyDer::from_pem_slice(text).map_err(|error| match error {
        PemError::NoItemsFound => IdentityError::Pem {
            origin: origin.to_owned(),
            reason: "no private key in PEM form is in it".to_owned(),
        },
        error => not_pem(origin, &error),
    })
}

/// A key, a chain and authorities in one text: what names itself as its authority is one.
pub(crate) fn mixed(text: &[u8], origin: &str) -> Result<Parts, IdentityError> {
    let mut parts = Parts::default();
    for section in <(SectionKind, Vec<u8>)>::pem_slice_iter(text) {
        let (kind, der) = section.map_err(|error| not_pem(origin, &error))?;
        if kind == SectionKind::Certificate {
            parts.push(CertificateDer::from(der), origin)?;
        } else if let Some(key) = PrivateKeyDer::from_pem(kind, der)
            && parts.key.replace(key).is_some()
        {
            let reason = "more than one private key is in it".to_owned();
            return Err(IdentityError::Pem { origin: origin.to_owned(), reason });
        }
    }
    Ok(parts)
}

impl Parts {
    fn push(&mut self, der: CertificateDer<'static>, origin: &str) -> Result<(), IdentityError> {
        let parsed = Certificate::parse(&der)
            .map_err(|source| IdentityError::Certificate { origin: origin.to_owned(), source })?;
        match parsed.is_self_issued {
            true => self.roots.push(der),
            false => self.chain.push(der),
        }
        Ok(())
    }
}

fn not_pem(origin: &str, error: &PemError) -> IdentityError {
    let reason = match error {
        PemError::Io(error) => error.to_string(),
        // Never the text itself: it may be part of a key.
        _ => "it is not PEM".to_owned(),
    };
    IdentityError::Pem { origin: origin.to_owned(), reason }
}
