//! Refuses a database that others could have put there or may change. It is not repaired: who made
//! it so must say what was meant.

use std::path::Path;

use ah_store::StoreError;

/// Looks at the database file and its directory.
#[cfg(unix)]
pub(super) fn check(database: &Path) -> Result<(), StoreError> {
    let directory = database.parent().filter(|parent| !parent.as_os_str().is_empty());
    let me = rustix::process::geteuid().as_raw();
    for place in [Some(database), directory].into_iter().flatten() {
        let Ok(metadata) = std::fs::metadata(place) else { continue };
        let (mode, owner) = (
            std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()),
            std::os::unix::fs::MetadataExt::uid(&metadata),
        );
        if let Some(reason) = danger(mode, owner, me) {
            let operation = format!("use database {}", database.display());
            return Err(StoreError::backend(operation, format!("{}: {reason}", place.display())));
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn check(_database: &Path) -> Result<(), StoreError> {
    Ok(())
}

/// What makes a file or directory unsafe for `me`.
#[cfg(unix)]
fn danger(mode: u32, owner: u32, me: u32) -> Option<String> {
    const OTHERS_WRITE: u32 = 0o002;
    /// Others may add to such a directory, but not replace what is not theirs.
    const STICKY: u32 = 0o1000;
    const ROOT: u32 = 0;
    if mode & OTHERS_WRITE != 0 && mode & STICKY == 0 {
        return Some("anybody may write to it; `chmod o-w` it if that was not meant".to_owned());
    }
    if owner != me && owner != ROOT && me != ROOT {
        return Some(format!("it belongs to another user ({owner})"));
    }
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::danger;

    #[test]
    fn what_others_can_change_or_have_made_is_dangerous() {
        for (mode, owner, me, safe) in [
            (0o100_600, 1, 1, true),
            (0o040_755, 1, 1, true),
            (0o041_777, 0, 1, true),
            (0o100_644, 0, 1, true),
            (0o100_600, 2, 0, true),
            (0o100_666, 1, 1, false),
            (0o040_777, 1, 1, false),
            (0o100_600, 2, 1, false),
        ] {
            assert_eq!(danger(mode, owner, me).is_none(), safe, "{mode:o} {owner} {me}");
        }
    }
}
