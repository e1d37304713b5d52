//! The keychain of the operating system.

use keyring_core::{Entry, Error};

const SERVICE: &str = "agent-harbor";

/// Why the keychain cannot be used, in words.
pub(super) type Unusable = String;

fn entry(server: &str) -> Result<Entry, Unusable> {
    if keyring_core::get_default_store().is_none() {
        open().map_err(|error| error.to_string())?;
    }
    Entry::new(SERVICE, server).map_err(|error| error.to_string())
}

#[cfg(target_os = "linux")]
fn open() -> Result<(), Error> {
    keyring_core::set_default_store(zbus_secret_service_keyring_store::Store::new()?);
    Ok(())
}

#[cfg(target_os = "macos")]
fn open() -> Result<(), Error> {
    keyring_core::set_default_store(apple_native_keyring_store::keychain::Store::new()?);
    Ok(())
}

#[cfg(windows)]
fn open() -> Result<(), Error> {
    keyring_core::set_default_store(windows_native_keyring_store::Store::new()?);
    Ok(())
}

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
fn open() -> Result<(), Error> {
    Err(Error::NotSupportedByStore("this system has no keychain that is known here".to_owned()))
}

/// Keeps a token; one that is there is replaced.
pub(super) fn set(server: &str, token: &str) -> Result<(), Unusable> {
    entry(server)?.set_password(token).map_err(|error| error.to_string())
}

/// The token that is kept; nothing when there is none.
pub(super) fn get(server: &str) -> Result<Option<String>, Unusable> {
    match entry(server)?.get_password() {
        Ok(token) => Ok(Some(token)),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Forgets a token, if there is one.
pub(super) fn remove(server: &str) -> Result<(), Unusable> {
    match entry(server)?.delete_credential() {
        Ok(()) | Err(Error::NoEntry) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
