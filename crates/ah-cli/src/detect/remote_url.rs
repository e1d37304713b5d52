//! Remote URLs without the secrets people put in them.
//!
//! What passes through here is stored and shown, so when in doubt the whole URL is dropped.

/// Whether `text` is a URL or scp-like `user@host:path`, rather than a local path.
pub(crate) fn is_url(text: &str) -> bool {
    text.contains("://") || scp_host(text).is_some_and(|host| !host.is_empty())
}

/// `url` without password, token or, except for SSH, user; `None` when no safe part is left.
pub(crate) fn without_credentials(url: &str) -> Option<String> {
    match url.split_once("://") {
        Some((scheme, rest)) => cleaned(scheme, rest),
        None => Some(without_scp_password(url)),
    }
}

/// Host and path of a remote, the same for every way to reach it: `host/owner/name`. A place on this
/// machine has none.
pub(crate) fn key(url: &str) -> Option<String> {
    let (authority, path) = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        None => {
            let (authority, path) = url.split_once(':')?;
            // One letter is a drive; a slash before the colon is a path.
            (authority.len() > 1 && !authority.contains(['/', '\\']))
                .then_some((authority, path))?
        }
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    let path = before(before(path, '#'), '?').trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let is_whole = !host.is_empty() && !path.is_empty();
    is_whole.then(|| format!("{}/{path}", host.to_ascii_lowercase()))
}

fn cleaned(scheme: &str, rest: &str) -> Option<String> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let (user_info, host) = match authority.rsplit_once('@') {
        Some((user_info, host)) => (Some(user_info), host),
        None => (None, authority),
    };
    let password_goes_on = user_info.is_none() && host.contains(':') && path.contains('@');
    // A path on this machine, as in `file:///srv/x.git`, needs no host.
    let leads_somewhere = !host.is_empty() || path.len() > 1;
    if password_goes_on || !is_host(host) || !leads_somewhere {
        return None;
    }
    // Only over SSH is the user a part of the address; elsewhere it may be a token.
    let user = user_info.filter(|_| scheme.contains("ssh")).map(|info| before(info, ':'));
    let user = user.map_or(String::new(), |user| format!("{user}@"));
    // A query is where web remotes carry tokens; no forge needs one to name a repository.
    let path = if scheme.contains("http") { before(before(path, '#'), '?') } else { path };
    Some(format!("{scheme}://{user}{host}{path}"))
}

/// A "port" that is no number is the start of a password with a `/` in it.
fn is_host(host: &str) -> bool {
    let after_bracket = host.rsplit_once(']').map_or(host, |(_, rest)| rest);
    let port = after_bracket.split_once(':').map_or("", |(_, port)| port);
    port.bytes().all(|byte| byte.is_ascii_digit())
}

/// `user:password@host:path` is not valid, but somebody may have tried.
fn without_scp_password(text: &str) -> String {
    match text.split_once('@') {
        Some((user, rest)) if !user.contains('/') => format!("{}@{rest}", before(user, ':')),
        Some(_) | None => text.to_owned(),
    }
}

fn scp_host(text: &str) -> Option<&str> {
    let (user, rest) = text.split_once('@')?;
    let (host, _) = rest.split_once(':')?;
    let plain = |part: &str| !part.contains(['/', '\\']);
    (!user.is_empty() && plain(user) && plain(host)).then_some(host)
}

fn before(text: &str, end: char) -> &str {
    text.split(end).next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_dropped_and_addresses_kept() {
        for (given, expected) in [
            ("https://host/a.git", "https://host/a.git"),
            ("https://user:pw@host/a.git", "https://host/a.git"),
            ("https://token@host:8443/a", "https://host:8443/a"),
            ("https://user:p@ss@host/a@b", "https://host/a@b"),
            ("https://host/a?private_token=x#y", "https://host/a"),
            ("http://u:p@[::1]:80/a", "http://[::1]:80/a"),
            ("https://u:p@host", "https://host"),
            ("ssh://git@host:22/a.git", "ssh://git@host:22/a.git"),
            ("ssh://git:pw@host/a", "ssh://git@host/a"),
            ("git+ssh://git@host/a", "git+ssh://git@host/a"),
            ("hg::https://u:p@host/a", "hg::https://host/a"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("git:pw@host:a/b.git", "git@host:a/b.git"),
            ("file:///srv/a?b", "file:///srv/a?b"),
            ("/srv/a:b@c", "/srv/a:b@c"),
            ("../sibling", "../sibling"),
            (r"C:\repos\a", r"C:\repos\a"),
        ] {
            assert_eq!(without_credentials(given).as_deref(), Some(expected), "{given}");
        }
    }

    #[test]
    fn a_url_that_names_no_place_is_none() {
        for url in ["https://", "https:///", "file:///", "https://user@"] {
            assert_eq!(without_credentials(url), None, "{url}");
        }
    }

    #[test]
    fn a_url_with_an_unescaped_slash_in_its_password_is_dropped_whole() {
        for url in ["https://user:p/w@host/a", "https://user:1/2@host/a", "https://u:p?w@host/a"] {
            assert_eq!(without_credentials(url), None, "{url}");
        }
    }

    #[test]
    fn every_way_to_a_remote_has_one_key() {
        for url in [
            "https://Host.org/me/A.git",
            "https://token:x@host.org:8443/me/A",
            "ssh://git@host.org:22/me/A.git/",
            "git@host.org:me/A.git",
            "host.org:/me/A",
            "git+ssh://git@HOST.org/me/A?x=y",
        ] {
            assert_eq!(key(url).as_deref(), Some("host.org/me/A"), "{url}");
        }
        for place in ["/srv/a.git", "../a", "file:///srv/a", r"C:\a", "./a:b", "https://host", ""] {
            assert_eq!(key(place), None, "{place}");
        }
        assert_ne!(key("git@host:a"), key("git@host:A"), "a path has its case");
        assert_eq!(key("http://[::1]:80/a").as_deref(), Some("[::1]/a"));
    }

    #[test]
    fn urls_are_told_from_paths() {
        for url in ["https://h/a", "file:///a", "git@h:a", "u@h:"] {
            assert!(is_url(url), "{url}");
        }
        for path in ["a", "./a@b:c", "/a@b:c", r"C:\a", "a@b", "@h:a", "h:a", ""] {
            assert!(!is_url(path), "{path}");
        }
    }
}
