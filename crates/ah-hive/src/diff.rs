//! What the commit of an approval changes, told from the host's own copy.
//!
//! Only looks, so it takes no lock: a configuration that comes into force meanwhile changes what a
//! pending commit is compared with, not what it is.

use ah_model::{APPLY_COMMIT, Approval, ApprovalDiff, ApprovalId, ApprovalStatus};
use ah_store::{Kind, StoreError, block_on};

use crate::applied::BRANCH;
use crate::git::{Git, Repository};
use crate::{Host, HostError};

/// Most of a difference that is told.
const DIFF_BYTES_MAX: usize = 512 * 1024;
/// The tree without files, which every repository knows.
const NOTHING: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// Files as they are, by our program alone, and no search for files that moved.
const DIFF: [&str; 6] = ["diff-tree", "-p", "-r", "--no-ext-diff", "--no-textconv", "--no-renames"];

impl Host {
    /// The difference that an approval's pinned commit makes.
    pub fn approval_diff(&self, id: ApprovalId) -> Result<ApprovalDiff, HostError> {
        let approval = block_on(self.store.approval(id))?;
        let refused = |reason: &str| StoreError::conflict(Kind::Approval, &approval.id, reason);
        let (APPLY_COMMIT, Some(commit)) = (&*approval.kind, &approval.commit) else {
            return Err(refused("it is about no commit").into());
        };
        let home = self.homes.as_ref().map_or(Ok(None), |homes| homes.find(&approval.agent))?;
        let applied = home.map_or(Ok(None), |home| home.open_applied())?;
        let (Some(homes), Some(applied)) = (&self.homes, applied) else {
            return Err(refused("its commit is not on this machine").into());
        };
        let (git, here) = (homes.git(), Repository { tree: applied.path() });
        let base = base(git, here, &approval, commit)?;
        let args = [&DIFF[..], &[base.as_deref().unwrap_or(NOTHING), commit]].concat();
        let (text, is_cut) = git.run_up_to(here, &args, DIFF_BYTES_MAX)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(ApprovalDiff { approval_id: approval.id, commit: commit.clone(), base, text, is_cut })
    }
}

/// What the commit of an approval is compared with.
fn base(
    git: &Git,
    here: Repository<'_>,
    approval: &Approval,
    commit: &str,
) -> Result<Option<String>, HostError> {
    let wanted = match approval.status {
        ApprovalStatus::Pending => format!("{BRANCH}^{{commit}}"),
        ApprovalStatus::Approved
        | ApprovalStatus::Denied
        | ApprovalStatus::Failed
        | ApprovalStatus::Withdrawn => format!("{commit}^1"),
    };
    let output = git.try_run(here, &["rev-parse", "--quiet", "--verify", &wanted])?;
    Ok(output.status.success().then(|| output.line()))
}
