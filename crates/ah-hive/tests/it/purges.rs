//! Purging: nothing of the agent is left, nothing else is touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use ah_hive::{Homes, Host, HostError, HostRules};
use ah_model::{AgentUpdate, Amount, Receipt, ReceiptKind};
use ah_store::{StoreError, block_on};

use crate::commits::{Given, new_agent};
use crate::given::set_mode;

fn purge(given: &Given) -> Receipt {
    given.host.purge(given.agent.id.clone(), &mut |_| {}).unwrap()
}

fn files(receipt: &Receipt) -> Amount {
    receipt.removed.0.get("files").copied().unwrap_or_default()
}

/// Plain files and links below, and the bytes of the files.
fn weigh(place: &Path) -> Amount {
    let mut amount = Amount::default();
    for entry in fs::read_dir(place).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        if metadata.is_dir() {
            amount += weigh(&entry.path());
        } else {
            let bytes = if metadata.is_file() { metadata.len() } else { 0 };
            amount += Amount { rows: 1, bytes };
        }
    }
    amount
}

#[test]
fn a_purge_removes_the_home_and_the_rows_and_leaves_a_receipt() {
    let given = Given::new();
    let bob = given.state.home("bob");
    fs::write(bob.state().join("notes"), "mine").unwrap();
    fs::write(given.home.state().join("notes"), "remember").unwrap();
    fs::create_dir(given.home.state().join("deep")).unwrap();
    fs::write(given.home.state().join("deep/more"), "12345").unwrap();
    let mut weight = weigh(&given.home.dir);
    weight += weigh(&given.home.applied);
    let receipt = purge(&given);
    assert_eq!((receipt.kind, receipt.subject.as_deref()), (ReceiptKind::Purge, Some("alice")));
    assert_eq!(files(&receipt), weight);
    assert!(receipt.finished_at.is_some());
    for gone in ["agents/alice", "applied/alice"] {
        assert!(!given.state.path().join(gone).exists(), "{gone}");
    }
    assert_eq!(fs::read_dir(given.state.path().join("trash")).unwrap().count(), 0);
    assert_eq!(fs::read_to_string(bob.state().join("notes")).unwrap(), "mine");
    let gone = given.host.purge_step(given.agent.id.clone());
    assert!(matches!(gone, Err(HostError::Store(StoreError::NotFound { .. }))), "{gone:?}");
    // The name is free, and begins with nothing.
    let alice = block_on(given.host.store().create_agent(new_agent("alice"))).unwrap();
    given.host.create_home(&alice).unwrap();
    assert!(!given.home.state().join("notes").exists());
}

#[test]
fn a_protected_agent_keeps_everything() {
    let given = Given::new();
    let update = AgentUpdate { protected: Some(true), ..AgentUpdate::default() };
    block_on(given.host.store().update_agent(given.agent.id.clone(), update)).unwrap();
    let refused = given.host.purge_step(given.agent.id.clone());
    assert!(matches!(refused, Err(HostError::Store(StoreError::Conflict { .. }))), "{refused:?}");
    assert!(given.home.state().is_dir());
}

#[test]
fn links_in_a_home_are_removed_and_not_followed() {
    let given = Given::new();
    let elsewhere = given.state.elsewhere();
    symlink(&elsewhere, given.home.state().join("link")).unwrap();
    symlink(elsewhere.join("treasure"), given.home.claude().join("file")).unwrap();
    fs::hard_link(elsewhere.join("treasure"), given.home.state().join("same")).unwrap();
    fs::remove_dir_all(given.home.config()).unwrap();
    symlink(&elsewhere, given.home.config()).unwrap();
    purge(&given);
    assert_eq!(fs::read_to_string(elsewhere.join("treasure")).unwrap(), "gold");
    assert!(!given.home.dir.exists());
}

#[test]
fn a_link_in_place_of_a_home_is_removed_and_not_followed() {
    let given = Given::new();
    let elsewhere = given.state.elsewhere();
    fs::remove_dir_all(&given.home.dir).unwrap();
    symlink(&elsewhere, &given.home.dir).unwrap();
    purge(&given);
    assert_eq!(fs::read_to_string(elsewhere.join("treasure")).unwrap(), "gold");
    assert!(fs::symlink_metadata(&given.home.dir).is_err());
}

/// Pipes, depth, width and odd names.
fn make_hard_to_remove(place: &Path) {
    let mut deep = place.to_owned();
    for _ in 0..1_200 {
        // Below the longest path that a system call takes: relative steps go further.
        deep = deep.join("d");
        if deep.as_os_str().len() > 3_000 {
            break;
        }
        fs::create_dir(&deep).unwrap();
    }
    for number in 0..300 {
        fs::write(place.join(format!("file {number}\n")), "x").unwrap();
    }
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, place.join("pipe"), mode).unwrap();
    fs::create_dir(place.join("moved-1")).unwrap();
    fs::write(place.join("moved-1/read-only"), "x").unwrap();
    set_mode(&place.join("moved-1/read-only"), 0o400);
    set_mode(&place.join("moved-1"), 0o500);
    fs::create_dir_all(place.join("closed/inner")).unwrap();
    fs::write(place.join("closed/inner/file"), "x").unwrap();
    set_mode(&place.join("closed/inner"), 0);
    set_mode(&place.join("closed"), 0);
}

#[test]
fn whatever_an_agent_made_of_its_home_can_be_removed() {
    let given = Given::new();
    make_hard_to_remove(&given.home.state());
    set_mode(&given.home.state(), 0o500);
    set_mode(&given.home.dir, 0o500);
    let receipt = purge(&given);
    assert!(files(&receipt).rows >= 303, "{receipt:?}");
    assert_eq!(fs::read_dir(given.state.path().join("trash")).unwrap().count(), 0);
}

/// Run by the test below as a user whom modes stop.
#[test]
fn removes_the_home_that_the_environment_names() {
    let Some((_, root)) = std::env::vars_os().find(|(key, _)| key == "AH_TEST_PURGE_IN") else {
        return;
    };
    let clock = ah_conformance::TestClock::new();
    let host = Host::new(crate::given::oracle(&clock), Some(Homes::new(root)));
    let agent = block_on(host.store().create_agent(new_agent("alice"))).unwrap();
    host.create_home(&agent).unwrap();
    let home = host.homes().unwrap().home("alice").unwrap();
    make_hard_to_remove(&home.state());
    set_mode(&home.state(), 0o500);
    set_mode(&home.dir, 0);
    host.purge(agent.id, &mut |_| {}).unwrap();
    assert!(!home.dir.exists());
}

#[test]
fn what_is_read_only_does_not_stop_a_purge_by_who_is_not_root() {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("state");
    fs::create_dir(&root).unwrap();
    let program = folder.path().join("it");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(folder.path(), 0o755);
    set_mode(&program, 0o755);
    let mut command = Command::new(&program);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&root, Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command
        .args(["--exact", "purges::removes_the_home_that_the_environment_names"])
        .env("AH_TEST_PURGE_IN", &root)
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
    assert_eq!(fs::read_dir(root.join("trash")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(root.join("agents")).unwrap().count(), 0);
}

#[test]
fn a_large_home_goes_in_bounded_steps() {
    let given = Given::new();
    for number in 0..9_000 {
        fs::write(given.home.state().join(number.to_string()), "x").unwrap();
    }
    let mut told = Vec::new();
    let receipt = given
        .host
        .purge(given.agent.id.clone(), &mut |receipt| told.push(files(receipt).rows))
        .unwrap();
    assert!(told.len() >= 3, "{told:?}");
    assert!(told.windows(2).all(|pair| pair[1] - pair[0] <= 4_000), "{told:?}");
    assert!(files(&receipt).rows >= 9_000);
}

#[test]
fn a_purge_that_broke_off_goes_on() {
    // After each step that can be told apart: destroyed, moved away, rows gone.
    for broken_after in ["destroyed", "moved", "rows", "rows and receipt"] {
        let given = Given::new();
        fs::write(given.home.state().join("notes"), "remember").unwrap();
        let (store, id) = (given.host.store(), given.agent.id.clone());
        block_on(store.destroy_agent(id.clone())).unwrap();
        if broken_after != "destroyed" {
            let own = given.state.path().join("trash").join(id.as_str());
            fs::create_dir_all(own.join("contents")).unwrap();
            for place in [own.parent().unwrap(), &own, &own.join("contents")] {
                set_mode(place, 0o700);
            }
            fs::write(own.join("name"), "alice").unwrap();
            fs::rename(&given.home.dir, own.join("contents/part-0")).unwrap();
            if broken_after.starts_with("rows") {
                fs::rename(&given.home.applied, own.join("contents/part-1")).unwrap();
                let step = block_on(store.purge_step(id.clone())).unwrap();
                assert!(!step.more);
                if broken_after.ends_with("receipt") {
                    fs::write(own.join("receipt"), step.receipt.id.as_str()).unwrap();
                }
            }
        }
        let receipt = purge(&given);
        assert!(files(&receipt).rows > 3, "{broken_after}: {receipt:?}");
        assert_eq!(receipt.subject.as_deref(), Some("alice"), "{broken_after}");
        for gone in [&given.home.dir, &given.home.applied] {
            assert!(!gone.exists(), "{broken_after}");
        }
        let trash = given.state.path().join("trash");
        assert_eq!(fs::read_dir(trash).unwrap().count(), 0, "{broken_after}");
    }
}

#[test]
fn retention_finishes_what_a_purge_left() {
    let given = Given::new();
    for number in 0..5_000 {
        fs::write(given.home.state().join(number.to_string()), "x").unwrap();
    }
    let step = given.host.purge_step(given.agent.id.clone()).unwrap();
    assert!(step.more);
    let done = given.host.run_retention(&HostRules::default(), &mut |_| {}).unwrap();
    assert_eq!(done.warnings, Vec::<String>::new());
    assert_eq!(fs::read_dir(given.state.path().join("trash")).unwrap().count(), 0);
    let receipts = block_on(given.host.store().list_receipts(ah_model::PageRequest::default()));
    let purged = receipts.unwrap().items.into_iter().find(|one| one.id == step.receipt.id).unwrap();
    assert!(files(&purged).rows >= 5_000, "{purged:?}");
}

#[test]
fn a_purge_without_a_home_is_the_stores() {
    let given = Given::new();
    let bob = block_on(given.host.store().create_agent(new_agent("bob"))).unwrap();
    let receipt = given.host.purge(bob.id, &mut |_| {}).unwrap();
    assert_eq!(files(&receipt), Amount::default());
    assert!(given.home.dir.exists());
}
