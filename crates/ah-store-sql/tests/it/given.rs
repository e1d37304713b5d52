//! What several tests start from.

use ah_model::{NewRepo, NewSession, Vcs};

/// A session in a plain directory.
pub(crate) fn new_session() -> NewSession {
    let repo = NewRepo {
        vcs: Vcs::None,
        root_path: Some("/r".to_owned()),
        remote_url: None,
        default_branch: None,
    };
    NewSession::new(repo, "codex".parse().unwrap())
}
