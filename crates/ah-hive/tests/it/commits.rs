//! `apply_commit`: pinned when it is asked for, in force when it is approved, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use ah_conformance::TestClock;
use ah_hive::{Home, Host, HostError};
use ah_model::{
    APPLY_COMMIT, Agent, AgentKindRef, Approval, ApprovalId, ApprovalStatus, Decision, NewAgent,
    NewApproval, NewRepo, NewSession, Party, Vcs, Verdict,
};
use ah_store::{Store, StoreError, block_on};

use crate::given::{State, host, unsafe_reason};

pub(crate) struct Given {
    pub(crate) state: State,
    pub(crate) host: Host,
    pub(crate) agent: Agent,
    pub(crate) home: Home,
}

impl Given {
    /// An agent with a home.
    pub(crate) fn new() -> Self {
        let (state, clock) = (State::new(), TestClock::new());
        let host = host(&state, &clock);
        let agent = block_on(host.store().create_agent(new_agent("alice"))).unwrap();
        host.create_home(&agent).unwrap();
        let home = state.homes().home("alice").unwrap();
        Self { state, host, agent, home }
    }

    /// Commits `text` in the agent's repository, as the agent does.
    fn commit(&self, text: &str) -> String {
        fs::write(self.home.config().join("agent.toml"), text).unwrap();
        git(&self.home.config(), &["add", "-A"]);
        git(&self.home.config(), &["commit", "--quiet", "-m", text]);
        git(&self.home.config(), &["rev-parse", "HEAD"])
    }

    fn request(&self) -> Approval {
        self.host.request_approval(NewApproval::new("alice", APPLY_COMMIT)).unwrap()
    }

    fn decide(&self, approval: &Approval, verdict: Verdict) -> Approval {
        self.host.decide(approval.id.clone(), Decision::operator(verdict)).unwrap()
    }

    fn stored(&self, id: &ApprovalId) -> Approval {
        block_on(self.host.store().approval(id.clone())).unwrap()
    }

    /// What is in force: the commit, and what a runner reads.
    fn in_force(&self) -> (String, String) {
        let text = fs::read_to_string(self.home.applied.join("agent.toml")).unwrap_or_default();
        (value(&self.home.applied, "HEAD"), text)
    }

    fn tag(&self, word: &str, approval: &Approval) -> String {
        value(&self.home.applied, &format!("refs/tags/{word}/{}", approval.id))
    }

    /// The words of all tags of an approval.
    fn tags(&self, approval: &Approval) -> Vec<String> {
        let pattern = format!("refs/tags/*/{}", approval.id);
        let tags = git(&self.home.applied, &["for-each-ref", "--format=%(refname)", &pattern]);
        let words = tags.lines().filter_map(|tag| tag.split('/').nth(2));
        words.map(str::to_owned).collect()
    }
}

pub(crate) fn new_agent(name: &str) -> NewAgent {
    let repo = NewRepo {
        vcs: Vcs::Git,
        root_path: Some("/srv/harbor".to_owned()),
        remote_url: None,
        default_branch: None,
    };
    let kind: AgentKindRef = "scripted".parse().unwrap();
    NewAgent::new(name, NewSession::new(repo, kind))
}

/// Git as the agent has it.
fn git(tree: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(tree)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// What a name stands for; empty for nothing.
fn value(tree: &Path, name: &str) -> String {
    let args = ["rev-parse", "--quiet", "--verify", name];
    let output = Command::new("git").current_dir(tree).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn an_approved_commit_comes_into_force() {
    let given = Given::new();
    let commit = given.commit("one");
    let asked = given.request();
    assert_eq!((&asked.agent[..], asked.commit.as_ref()), ("alice", Some(&commit)));
    assert_eq!(given.tags(&asked), ["proposal"]);
    assert_eq!(given.in_force(), (String::new(), String::new()));
    let done = given.decide(&asked, Verdict::Approved);
    assert_eq!((done.status, done.problem.clone()), (ApprovalStatus::Approved, None));
    assert!(done.carried_out_at.is_some());
    assert_eq!(given.in_force(), (commit.clone(), "one".to_owned()));
    assert_eq!(given.tags(&asked), ["approved", "deployed", "proposal"]);
    for word in ["approved", "deployed", "proposal"] {
        assert_eq!(given.tag(word, &asked), commit);
    }
    let next = given.commit("two");
    let asked = given.request();
    given.decide(&asked, Verdict::Approved);
    assert_eq!(given.in_force(), (next, "two".to_owned()));
    assert_eq!(git(&given.home.applied, &["status", "--porcelain"]), "");
}

/// The difference that an approval makes: what it is compared with, and the lines that changed.
fn difference(given: &Given, approval: &Approval) -> (Option<String>, Vec<String>) {
    let diff = given.host.approval_diff(approval.id.clone()).unwrap();
    assert_eq!((&diff.approval_id, Some(&diff.commit)), (&approval.id, approval.commit.as_ref()));
    assert!(!diff.is_cut);
    let is_head = |line: &str| line.starts_with("+++") || line.starts_with("---");
    let lines = diff.text.lines().filter(|line| line.starts_with(['+', '-']) && !is_head(line));
    (diff.base, lines.map(str::to_owned).collect())
}

#[test]
fn a_commit_is_compared_with_what_is_in_force_and_later_with_the_one_before() {
    let given = Given::new();
    let one = given.commit("one\n");
    let first = given.request();
    assert_eq!(difference(&given, &first), (None, vec!["+one".to_owned()]));
    given.decide(&first, Verdict::Approved);
    assert_eq!(difference(&given, &first), (None, vec!["+one".to_owned()]));
    let two = given.commit("two\n");
    given.commit("three\n");
    let last = given.request();
    let lines = |old: &str, new: &str| vec![format!("-{old}"), format!("+{new}")];
    assert_eq!(difference(&given, &last), (Some(one), lines("one", "three")));
    // Whatever the agent does to its own repository later.
    fs::remove_dir_all(given.home.config().join(".git")).unwrap();
    given.decide(&last, Verdict::Approved);
    assert_eq!(difference(&given, &last), (Some(two), lines("two", "three")));
}

#[test]
fn a_long_difference_is_cut_and_programs_that_a_repository_names_do_not_run() {
    let given = Given::new();
    let config = given.home.config();
    fs::write(config.join(".gitattributes"), "* diff=evil\n").unwrap();
    git(&config, &["config", "diff.evil.command", "touch EVIL"]);
    git(&config, &["config", "diff.evil.textconv", "touch EVIL"]);
    fs::write(config.join("long.txt"), "a line\n".repeat(90_000)).unwrap();
    given.commit("one");
    let diff = given.host.approval_diff(given.request().id).unwrap();
    assert_eq!((diff.is_cut, diff.text.len()), (true, 512 * 1024));
    assert!(!config.join("EVIL").exists() && !given.home.applied.join("EVIL").exists());
}

#[test]
fn an_approval_of_another_kind_has_no_difference() {
    let given = Given::new();
    let asked = given.host.request_approval(NewApproval::new("alice", "deploy")).unwrap();
    let refused = given.host.approval_diff(asked.id).unwrap_err();
    assert!(
        matches!(&refused, HostError::Store(StoreError::Conflict { reason, .. })
            if reason == "it is about no commit"),
        "{refused:?}"
    );
}

#[test]
fn deciding_again_changes_nothing_and_otherwise_is_refused() {
    let given = Given::new();
    given.commit("one");
    let asked = given.request();
    let done = given.decide(&asked, Verdict::Approved);
    assert_eq!(given.decide(&asked, Verdict::Approved), done);
    let other = given.host.decide(asked.id, Decision::operator(Verdict::Denied));
    assert!(matches!(other, Err(HostError::Store(StoreError::Conflict { .. }))), "{other:?}");
}

#[test]
fn what_was_refused_or_taken_back_is_tagged_and_not_in_force() {
    for (decision, status, tag) in [
        (Decision::operator(Verdict::Denied), ApprovalStatus::Denied, "denied"),
        (Decision::operator(Verdict::Failed), ApprovalStatus::Failed, "failed"),
        (
            Decision {
                by: Party::Agent("alice".to_owned()),
                ..Decision::operator(Verdict::Withdrawn)
            },
            ApprovalStatus::Withdrawn,
            "withdrawn",
        ),
    ] {
        let given = Given::new();
        let commit = given.commit("one");
        let asked = given.request();
        let decision = Decision { note: Some("no".to_owned()), ..decision };
        let done = given.host.decide(asked.id.clone(), decision).unwrap();
        assert_eq!((done.status, done.note.as_deref()), (status, Some("no")));
        assert_eq!(given.tag(tag, &asked), commit);
        assert_eq!(given.in_force(), (String::new(), String::new()));
    }
}

#[test]
fn whatever_the_agent_does_after_asking_changes_nothing() {
    type Spoil = fn(&Given);
    let spoils: [(&str, Spoil); 5] = [
        ("moved", |given| drop(given.commit("other"))),
        ("rewritten", |given| {
            git(&given.home.config(), &["commit", "--amend", "--quiet", "-m", "rewritten"]);
        }),
        ("collected", |given| {
            git(&given.home.config(), &["checkout", "--quiet", "--orphan", "fresh"]);
            git(&given.home.config(), &["commit", "--quiet", "-m", "fresh"]);
            git(&given.home.config(), &["branch", "-D", "main"]);
            git(&given.home.config(), &["reflog", "expire", "--expire=now", "--all"]);
            git(&given.home.config(), &["gc", "--quiet", "--prune=now"]);
        }),
        ("deleted", |given| fs::remove_dir_all(given.home.config()).unwrap()),
        ("replaced", |given| {
            fs::remove_dir_all(given.home.config().join(".git")).unwrap();
            fs::write(given.home.config().join(".git"), "gitdir: /nonexistent").unwrap();
        }),
    ];
    for (what, spoil) in spoils {
        let given = Given::new();
        let commit = given.commit("one");
        let asked = given.request();
        spoil(&given);
        let done = given.decide(&asked, Verdict::Approved);
        assert!(done.carried_out_at.is_some(), "{what}: {done:?}");
        assert_eq!(given.in_force(), (commit, "one".to_owned()), "{what}");
    }
}

#[test]
fn a_commit_that_does_not_go_on_from_what_is_in_force_fails() {
    let given = Given::new();
    let first = given.commit("one");
    let one = given.request();
    let second = given.commit("two");
    let two = given.request();
    git(&given.home.config(), &["reset", "--quiet", "--hard", &first]);
    let apart = given.commit("apart");
    let three = given.request();
    assert_eq!(given.decide(&two, Verdict::Approved).status, ApprovalStatus::Approved);
    let failed = given.decide(&three, Verdict::Approved);
    assert_eq!(failed.status, ApprovalStatus::Failed);
    let note = failed.note.unwrap();
    assert!(note.contains("not a fast-forward") && note.contains(&apart), "{note}");
    assert_eq!(given.tag("failed", &three), apart);
    let older = given.decide(&one, Verdict::Approved);
    assert_eq!(older.status, ApprovalStatus::Failed);
    assert!(older.note.unwrap().contains("older"));
    assert_eq!(given.in_force(), (second, "two".to_owned()));
}

#[test]
fn a_branch_a_tag_or_a_hash_can_be_asked_for() {
    let given = Given::new();
    let commit = given.commit("one");
    git(&given.home.config(), &["branch", "topic"]);
    git(&given.home.config(), &["tag", "-m", "v1", "v1"]);
    given.commit("two");
    for name in ["topic", "v1", &commit, &commit[..12], "HEAD~1", "refs/heads/topic"] {
        let new = NewApproval {
            commit_ref: Some(name.to_owned()),
            ..NewApproval::new("ALICE", APPLY_COMMIT)
        };
        let asked = given.host.request_approval(new).unwrap();
        assert_eq!(asked.commit.as_ref(), Some(&commit), "{name}");
        assert_eq!((asked.commit_ref.as_deref(), &asked.agent[..]), (Some(name), "alice"));
    }
}

#[test]
fn names_that_are_options_or_nothing_are_refused() {
    let given = Given::new();
    given.commit("one");
    for name in
        ["-h", "--upload-pack=touch x", "", "nothing", "HEAD^{tree}", "a b", "a\nb", "HEAD..HEAD"]
    {
        let new = NewApproval {
            commit_ref: Some(name.to_owned()),
            ..NewApproval::new("alice", APPLY_COMMIT)
        };
        assert!(given.host.request_approval(new).is_err(), "{name:?}");
    }
    assert_eq!(git(&given.home.applied, &["tag"]), "");
}

#[test]
fn a_home_without_a_commit_has_nothing_to_ask_for() {
    let given = Given::new();
    let error = given.host.request_approval(NewApproval::new("alice", APPLY_COMMIT)).unwrap_err();
    let refused = |error: &HostError| matches!(error, HostError::Store(StoreError::Invalid(_)));
    assert!(refused(&error), "{error}");
    let words = "commitRef: \"HEAD\" is no commit of alice's configuration: commit there first";
    assert!(error.to_string().contains(words), "{error}");
    given.commit("one");
    let other = Some("other".to_owned());
    let new = NewApproval { commit_ref: other, ..NewApproval::new("alice", APPLY_COMMIT) };
    let error = given.host.request_approval(new).unwrap_err();
    assert!(refused(&error), "{error}");
}

#[test]
fn a_request_that_the_store_refuses_leaves_no_tag() {
    let given = Given::new();
    given.commit("one");
    let id: ApprovalId = "weird~id:1..x".parse().unwrap();
    let new = NewApproval { id: Some(id), ..NewApproval::new("alice", APPLY_COMMIT) };
    let asked = given.host.request_approval(new.clone()).unwrap();
    let tags = git(&given.home.applied, &["tag"]);
    assert_eq!(tags, "proposal/weird%7eid%3a1%2e%2ex");
    given.commit("two");
    assert!(given.host.request_approval(new).is_err());
    assert_eq!(git(&given.home.applied, &["tag"]), tags);
    assert_eq!(given.decide(&asked, Verdict::Approved).status, ApprovalStatus::Approved);
    let unknown = given.host.request_approval(NewApproval::new("nobody", APPLY_COMMIT));
    assert!(matches!(unknown, Err(HostError::Store(StoreError::NotFound { .. }))), "{unknown:?}");
    let wrong = NewApproval {
        commit: Some("0".repeat(40)),
        commit_ref: Some("HEAD".to_owned()),
        ..NewApproval::new("alice", APPLY_COMMIT)
    };
    assert!(given.host.request_approval(wrong).is_err());
    assert_eq!(git(&given.home.applied, &["tag", "-l", "proposal/*"]), tags);
}

#[test]
fn nothing_of_a_hostile_repository_is_run() {
    let given = Given::new();
    let config = given.home.config();
    let bait = given.state.path().join("bait");
    let touch = format!("touch {}", bait.display());
    let script = given.state.path().join("script");
    fs::write(&script, format!("#!/bin/sh\n{touch}\n")).unwrap();
    crate::given::set_mode(&script, 0o755);
    fs::write(config.join(".gitattributes"), "* filter=evil diff=evil\n").unwrap();
    let commit = given.commit("one");
    let hooks = config.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    for hook in ["post-checkout", "reference-transaction", "pre-auto-gc", "post-index-change"] {
        fs::copy(&script, hooks.join(hook)).unwrap();
    }
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.alternateRefsCommand",
        "uploadpack.packObjectsHook",
        "filter.evil.smudge",
        "filter.evil.clean",
        "diff.evil.textconv",
        "diff.external",
        "remote.origin.uploadpack",
        "credential.helper",
        "gpg.program",
    ] {
        git(&config, &["config", key, script.to_str().unwrap()]);
    }
    git(&config, &["config", "core.repositoryformatversion", "1"]);
    git(&config, &["config", "extensions.partialClone", "origin"]);
    git(&config, &["config", "remote.origin.promisor", "true"]);
    git(&config, &["config", "remote.origin.url", &format!("ext::{touch}")]);
    let asked = given.request();
    given.decide(&asked, Verdict::Approved);
    assert_eq!(given.in_force(), (commit, "one".to_owned()));
    // With an object missing, it would be fetched from there.
    let tree = git(&config, &["rev-parse", "HEAD^{tree}"]);
    let next = git(&config, &["commit-tree", "-p", "HEAD", "-m", "next", &tree]);
    fs::remove_file(config.join(".git/objects").join(&next[..2]).join(&next[2..])).unwrap();
    let new = NewApproval { commit_ref: Some(next), ..NewApproval::new("alice", APPLY_COMMIT) };
    assert!(given.host.request_approval(new).is_err());
    assert!(!bait.exists());
}

#[test]
fn objects_of_another_repository_are_not_taken() {
    let given = Given::new();
    given.commit("one");
    let config = given.home.config();
    let info = config.join(".git/objects/info");
    fs::create_dir_all(&info).unwrap();
    fs::write(info.join("alternates"), "/srv/secret/objects\n").unwrap();
    let reason =
        unsafe_reason(given.host.request_approval(NewApproval::new("alice", APPLY_COMMIT)));
    assert!(reason.contains("another repository"), "{reason}");
    fs::remove_file(info.join("alternates")).unwrap();
    let objects = config.join(".git/objects");
    let away = given.state.path().join("objects");
    fs::rename(&objects, &away).unwrap();
    symlink(&away, &objects).unwrap();
    let reason =
        unsafe_reason(given.host.request_approval(NewApproval::new("alice", APPLY_COMMIT)));
    assert!(reason.contains("no directory"), "{reason}");
}

#[test]
fn links_and_submodules_of_a_commit_lead_nowhere() {
    let given = Given::new();
    let config = given.home.config();
    symlink("/etc/passwd", config.join("link")).unwrap();
    given.commit("one");
    let asked = given.request();
    given.decide(&asked, Verdict::Approved);
    let link = given.home.applied.join("link");
    assert!(fs::symlink_metadata(&link).unwrap().is_file());
    assert_eq!(fs::read_to_string(link).unwrap(), "/etc/passwd");
    let head = git(&config, &["rev-parse", "HEAD"]);
    git(&config, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    git(&config, &["commit", "--quiet", "-m", "sub"]);
    let error = given.host.request_approval(NewApproval::new("alice", APPLY_COMMIT)).unwrap_err();
    assert!(error.to_string().contains("submodule"), "{error}");
}

#[test]
fn a_repository_that_is_not_whole_is_refused() {
    let given = Given::new();
    given.commit("one");
    let blob = git(&given.home.config(), &["rev-parse", "HEAD:agent.toml"]);
    let path = given.home.config().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::remove_file(path).unwrap();
    let error = given.host.request_approval(NewApproval::new("alice", APPLY_COMMIT)).unwrap_err();
    assert!(matches!(error, HostError::Git { .. }), "{error:?}");
    assert_eq!(git(&given.home.applied, &["tag"]), "");
}

#[test]
fn a_crash_after_the_decision_is_made_good_later() {
    let given = Given::new();
    let commit = given.commit("one");
    let asked = given.request();
    // The store has decided, and that was all.
    let store = given.host.store();
    block_on(store.decide_approval(asked.id.clone(), Decision::operator(Verdict::Approved)))
        .unwrap();
    // Every prefix of what is done then, and all of it once more.
    let steps: [&dyn Fn(); 4] = [
        &|| {},
        &|| {
            drop(git(
                &given.home.applied,
                &["update-ref", &format!("refs/tags/approved/{}", asked.id), &commit],
            ))
        },
        &|| drop(git(&given.home.applied, &["read-tree", "--reset", "-u", &commit])),
        &|| drop(git(&given.home.applied, &["update-ref", "refs/heads/main", &commit])),
    ];
    let copy = given.state.path().join("copy");
    for count in 1..=steps.len() {
        copy_tree(&given.home.applied, &copy);
        steps[..count].iter().for_each(|step| step());
        let clean = TestClock::new();
        let host = Host::new(again(&given, &clean), Some(given.state.homes()));
        let done = host.carry_out_due().unwrap();
        assert_eq!(done.len(), 1, "{count}");
        assert!(done[0].carried_out_at.is_some(), "{count}: {done:?}");
        assert_eq!(given.in_force(), (commit.clone(), "one".to_owned()), "{count}");
        assert_eq!(given.tags(&asked), ["approved", "deployed", "proposal"], "{count}");
        fs::remove_dir_all(&given.home.applied).unwrap();
        fs::rename(&copy, &given.home.applied).unwrap();
    }
    let done = given.host.carry_out_due().unwrap();
    assert_eq!(done.len(), 1);
    assert_eq!(given.host.carry_out_due().unwrap(), vec![]);
}

/// A store with the same approved approval, not carried out.
fn again(given: &Given, clock: &TestClock) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = crate::given::oracle(clock);
    block_on(store.create_agent(new_agent("alice"))).unwrap();
    let [asked] = &block_on(
        given
            .host
            .store()
            .list_approvals(ah_model::ApprovalFilter::default(), ah_model::PageRequest::default()),
    )
    .unwrap()
    .items[..] else {
        panic!("one approval");
    };
    let new = NewApproval {
        id: Some(asked.id.clone()),
        commit: asked.commit.clone(),
        ..NewApproval::new("alice", APPLY_COMMIT)
    };
    block_on(store.request_approval(new)).unwrap();
    let approve = Decision::operator(Verdict::Approved);
    block_on(store.decide_approval(asked.id.clone(), approve)).unwrap();
    store
}

fn copy_tree(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(done.success());
}

#[test]
fn what_does_not_work_is_noted_and_tried_again() {
    let given = Given::new();
    let commit = given.commit("one");
    let asked = given.request();
    let lock = given.home.applied.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let noted = given.decide(&asked, Verdict::Approved);
    assert_eq!((noted.status, noted.carried_out_at), (ApprovalStatus::Approved, None));
    assert!(noted.problem.unwrap().contains("index.lock"));
    assert_eq!(given.host.carry_out_due().unwrap()[0].carried_out_at, None);
    // What a call that was killed left is removed once nothing can be using it.
    let old = std::time::SystemTime::UNIX_EPOCH;
    fs::OpenOptions::new().write(true).open(&lock).unwrap().set_modified(old).unwrap();
    let done = given.host.carry_out_due().unwrap();
    assert_eq!((done[0].carried_out_at.is_some(), done[0].problem.clone()), (true, None));
    assert_eq!(given.in_force().0, commit);
}

#[test]
fn what_was_approved_before_comes_into_force_before() {
    let given = Given::new();
    let first = given.commit("one");
    let one = given.request();
    let root = git(&given.home.config(), &["commit-tree", "-m", "apart", "HEAD^{tree}"]);
    let new = NewApproval { commit_ref: Some(root), ..NewApproval::new("alice", APPLY_COMMIT) };
    let apart = given.host.request_approval(new).unwrap();
    let approve = Decision::operator(Verdict::Approved);
    block_on(given.host.store().decide_approval(one.id.clone(), approve)).unwrap();
    // The first was approved and a crash came; the second is judged as if none had come.
    assert_eq!(given.decide(&apart, Verdict::Approved).status, ApprovalStatus::Failed);
    assert_eq!(given.in_force().0, first);
    assert!(given.stored(&one.id).carried_out_at.is_some());
}

#[test]
fn a_copy_that_is_gone_fails_the_approval() {
    let given = Given::new();
    given.commit("one");
    let (one, two) = (given.request(), given.request());
    git(&given.home.applied, &["update-ref", "-d", &format!("refs/tags/proposal/{}", one.id)]);
    let failed = given.decide(&one, Verdict::Approved);
    assert_eq!(failed.status, ApprovalStatus::Failed);
    assert_eq!(failed.note.as_deref(), Some("the commit that was copied for it is gone"));
    fs::remove_dir_all(&given.home.applied).unwrap();
    assert_eq!(given.decide(&two, Verdict::Approved).status, ApprovalStatus::Failed);
}

#[test]
fn decisions_taken_elsewhere_are_tagged_later() {
    let given = Given::new();
    let commit = given.commit("one");
    let asked = given.request();
    block_on(given.host.store().destroy_agent(given.agent.id.clone())).unwrap();
    assert_eq!(given.tags(&asked), ["proposal"]);
    given.host.carry_out_due().unwrap();
    assert_eq!(given.tag("failed", &asked), commit);
    assert_eq!(given.stored(&asked.id).status, ApprovalStatus::Failed);
}

#[test]
fn an_unsafe_home_decides_nothing() {
    let given = Given::new();
    given.commit("one");
    let asked = given.request();
    crate::given::set_mode(&given.home.applied, 0o755);
    unsafe_reason(given.host.decide(asked.id.clone(), Decision::operator(Verdict::Approved)));
    assert_eq!(given.stored(&asked.id).status, ApprovalStatus::Pending);
}

#[test]
fn without_homes_everything_is_the_stores() {
    let given = Given::new();
    let host = Host::new(Arc::clone(given.host.store()), None);
    let commit = "a".repeat(40);
    let new = NewApproval { commit: Some(commit), ..NewApproval::new("alice", APPLY_COMMIT) };
    let asked = host.request_approval(new).unwrap();
    let done = host.decide(asked.id, Decision::operator(Verdict::Approved)).unwrap();
    assert_eq!((done.status, done.carried_out_at), (ApprovalStatus::Approved, None));
    assert_eq!(host.carry_out_due().unwrap(), vec![]);
    assert_eq!(git(&given.home.applied, &["tag"]), "");
}
