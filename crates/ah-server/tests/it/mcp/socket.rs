//! Sockets: for whom, how long, and where they are refused.

use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;

use ah_model::{AgentUpdate, NewAgent};
use ah_server::RunningServer;
use ah_store::{Agents, Retention, block_on};
use rustix::process::{Uid, geteuid};
use serde_json::json;

use super::given::{Harbor, PATIENCE, assert_eventually, mode, new_agent};
use super::wire::{Era, Lines, Wire};

const ALICE: &str = "agents/alice/mcp.sock";
/// A user who is not root, whether or not there is one.
const NOBODY: u32 = 65_534;

#[test]
fn sockets_are_for_their_owner_alone() {
    let harbor = Harbor::new();
    for (below, bits) in [
        ("", 0o700),
        ("agents", 0o700),
        ("agents/alice", 0o700),
        ("manager", 0o700),
        ("host.sock", 0o600),
        (ALICE, 0o600),
        ("manager/mcp.sock", 0o600),
    ] {
        assert_eq!(mode(&harbor.socket(below)), bits, "{below}");
    }
    // The manager has one socket, which is not that of a plain agent.
    assert!(!harbor.socket("agents/manager").exists());
}

#[test]
fn a_restart_makes_every_socket_again() {
    let mut harbor = Harbor::new();
    let mut alice = harbor.lines("alice");
    harbor.stop();
    alice.ended();
    for below in ["host.sock", ALICE, "manager/mcp.sock"] {
        assert!(!harbor.socket(below).exists(), "{below}");
    }
    // A server that was killed leaves its sockets; of agents that are gone as well.
    drop(UnixListener::bind(harbor.socket(ALICE)).unwrap());
    std::fs::create_dir(harbor.socket("agents/gone")).unwrap();
    std::fs::set_permissions(harbor.socket("agents/gone"), PermissionsExt::from_mode(0o700))
        .unwrap();
    drop(UnixListener::bind(harbor.socket("agents/gone/mcp.sock")).unwrap());
    harbor.start();
    assert_eq!(harbor.lines("alice").tool("whoami", json!({}))["name"], "alice");
    assert_eq!(harbor.lines("bob").tool("whoami", json!({}))["name"], "bob");
    assert_eq!(harbor.operator().tool("whoami", json!({}))["powers"], "admin");
    let mut manager = Lines::open(&harbor.socket("manager/mcp.sock"), Era::V2025_11_25);
    assert_eq!(manager.tool("whoami", json!({}))["powers"], "manager");
    assert!(!harbor.socket("agents/gone").exists());
}

#[test]
fn agents_get_their_sockets_and_lose_them_while_the_server_runs() {
    let harbor = Harbor::new();
    let carol = harbor.create("carol");
    let socket = harbor.socket("agents/carol/mcp.sock");
    assert_eventually("carol has a socket", || socket.exists());
    let mut lines = harbor.lines("carol");
    assert_eq!(lines.tool("whoami", json!({}))["name"], "carol");
    block_on(harbor.store.destroy_agent(carol.id.clone())).unwrap();
    lines.ended();
    assert_eventually("carol's socket is gone", || !socket.exists());
    // The name in another agent's hands is another socket.
    while block_on(harbor.store.purge_step(carol.id.clone())).unwrap().more {}
    let again = harbor.create("carol");
    assert_ne!(again.id, carol.id);
    assert_eventually("the new carol has a socket", || socket.exists());
    assert_eq!(harbor.lines("carol").tool("whoami", json!({}))["name"], "carol");
}

#[test]
fn an_agent_that_is_registered_again_has_a_new_socket_and_the_old_connections_end() {
    let harbor = Harbor::new();
    // An unprotected agent of that name is a plain one.
    let manager = harbor.agent("manager");
    let mut old = Lines::open(&harbor.socket("manager/mcp.sock"), Era::V2025_11_25);
    assert_eq!(old.tool("whoami", json!({}))["powers"], "manager");
    let update = AgentUpdate { protected: Some(false), ..AgentUpdate::default() };
    block_on(harbor.store.update_agent(manager.id, update)).unwrap();
    old.ended();
    let socket = harbor.socket("agents/manager/mcp.sock");
    assert_eventually("it is a plain agent's socket", || socket.exists());
    assert!(!harbor.socket("manager/mcp.sock").exists());
    let mut plain = Lines::open(&socket, Era::V2025_11_25);
    assert_eq!(plain.tool("whoami", json!({}))["powers"], "agent");
    // A socket that somebody removed is made again.
    std::fs::remove_file(&socket).unwrap();
    plain.ended();
    assert_eventually("the socket is back", || socket.exists());
}

#[test]
fn what_cannot_be_made_for_one_agent_keeps_nobody_else_from_theirs() {
    let harbor = Harbor::new();
    std::fs::create_dir_all(harbor.socket("elsewhere")).unwrap();
    symlink(harbor.socket("elsewhere"), harbor.socket("agents/linked")).unwrap();
    std::fs::create_dir(harbor.socket("agents/open")).unwrap();
    std::fs::set_permissions(harbor.socket("agents/open"), PermissionsExt::from_mode(0o755))
        .unwrap();
    std::fs::create_dir(harbor.socket("agents/file")).unwrap();
    std::fs::set_permissions(harbor.socket("agents/file"), PermissionsExt::from_mode(0o700))
        .unwrap();
    std::fs::write(harbor.socket("agents/file/mcp.sock"), "mine").unwrap();
    let long = "x".repeat(64);
    for name in ["linked", "open", "file", &long, "zoe"] {
        harbor.create(name);
    }
    assert_eventually("zoe has a socket", || harbor.socket("agents/zoe/mcp.sock").exists());
    let without = harbor.operator().tool("status", json!({}))["withoutSocket"].clone();
    for (name, part) in [
        ("linked", "is a symbolic link"),
        ("open", "others may enter it (mode 755)"),
        ("file", "is no socket"),
    ] {
        let why = without[name].as_str().unwrap_or_default();
        assert!(why.contains(part), "{name}: {why}");
        assert!(harbor.warnings().iter().any(|text| text.contains(name)), "{name}");
    }
    // How long a path may be is the system's to say; the directory of the test is short enough or not.
    let path = harbor.socket(&format!("agents/{long}/mcp.sock"));
    let fits = path.as_os_str().len() < 108;
    assert_eq!(path.exists(), fits, "{}", path.display());
    assert_eq!(without[long.as_str()].is_null(), fits);
    assert_eq!(std::fs::read(harbor.socket("agents/file/mcp.sock")).unwrap(), b"mine");
    assert!(std::fs::read_dir(harbor.socket("elsewhere")).unwrap().next().is_none());
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_named_in_a_warning() {
    let harbor = Harbor::new();
    // Deep enough that no agent of this name fits.
    let deep = harbor.sockets().join("d".repeat(40)).join("e".repeat(20));
    let state = harbor.state_at(deep.clone());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    harbor.create(&"y".repeat(64));
    let server = RunningServer::start(listener, state).unwrap();
    assert_eventually("a warning", || {
        let long = |text: &String| text.contains("a socket's path may have");
        harbor.warnings().iter().any(long)
    });
    server.stop().unwrap();
}

#[test]
fn a_second_server_is_refused_the_directory_of_the_first() {
    let harbor = Harbor::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let second = RunningServer::start(listener, harbor.state()).unwrap();
    let error = second.wait().unwrap_err();
    assert!(error.to_string().ends_with("another server has its sockets here"), "{error}");
    assert_eq!(harbor.lines("alice").tool("whoami", json!({}))["name"], "alice");
}

#[test]
fn an_unsafe_directory_is_refused_and_not_repaired() {
    let harbor = Harbor::new();
    let wide = harbor.socket("wide");
    std::fs::create_dir(&wide).unwrap();
    std::fs::set_permissions(&wide, PermissionsExt::from_mode(0o750)).unwrap();
    let linked = harbor.socket("linked");
    symlink(&wide, &linked).unwrap();
    let file = harbor.socket("file");
    std::fs::write(&file, "x").unwrap();
    for (dir, part) in [
        (&wide, "others may enter it (mode 750)"),
        (&linked, "is a symbolic link"),
        (&file, "is no directory"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = RunningServer::start(listener, harbor.state_at(dir.clone())).unwrap();
        let error = server.wait().unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(mode(&wide), 0o750);
}

#[test]
fn a_protected_agent_of_another_name_manages_nobody() {
    let harbor = Harbor::new();
    let boss = NewAgent { protected: true, ..new_agent("boss") };
    block_on(harbor.store.create_agent(boss)).unwrap();
    let socket = harbor.socket("agents/boss/mcp.sock");
    assert_eventually("boss has a socket", || socket.exists());
    assert_eq!(harbor.lines("boss").tool("whoami", json!({}))["powers"], "agent");
}

#[test]
fn what_stands_in_the_place_of_a_socket_is_left_alone_and_named() {
    let mut harbor = Harbor::new();
    harbor.stop();
    let (alice, bob) = (harbor.socket(ALICE), harbor.socket("agents/bob/mcp.sock"));
    // A link to a socket is no socket.
    let elsewhere = harbor.socket("elsewhere.sock");
    drop(UnixListener::bind(&elsewhere).unwrap());
    symlink(&elsewhere, &alice).unwrap();
    drop(UnixListener::bind(&bob).unwrap());
    // Only root can give a file away; how owners are compared has a test of its own beside the check.
    let given_away = geteuid().is_root();
    if given_away {
        lchown(&bob, Some(NOBODY), None).unwrap();
    }
    harbor.start();
    let without = harbor.operator().tool("status", json!({}))["withoutSocket"].clone();
    let why = without["alice"].as_str().unwrap_or_default();
    assert_eq!(why, format!("{} is there and is no socket", alice.display()));
    assert!(std::fs::symlink_metadata(&alice).unwrap().is_symlink());
    assert!(elsewhere.exists());
    if given_away {
        let reason = format!("{} belongs to user {NOBODY}, not to this one", bob.display());
        assert_eq!(without["bob"], reason);
        assert_eq!(std::fs::symlink_metadata(&bob).unwrap().uid(), NOBODY);
    } else {
        assert_eq!(harbor.lines("bob").tool("whoami", json!({}))["name"], "bob");
    }
}

/// Needs root to become somebody else; without it the test beside the check stands alone.
#[cfg(target_os = "linux")]
#[test]
fn another_user_who_gets_as_far_as_the_socket_is_not_served() {
    if !geteuid().is_root() {
        return;
    }
    let harbor = Harbor::new();
    let socket = harbor.socket(ALICE);
    let above = socket.ancestors().skip(1).take_while(|dir| *dir != std::env::temp_dir());
    for dir in above {
        std::fs::set_permissions(dir, PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::set_permissions(&socket, PermissionsExt::from_mode(0o666)).unwrap();
    let path = socket.clone();
    let said = thread::spawn(move || {
        // Of this thread alone.
        rustix::thread::set_thread_uid(Uid::from_raw(NOBODY)).unwrap();
        let mut stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut said = Vec::new();
        stream.read_to_end(&mut said).map(|_| said)
    });
    assert_eq!(said.join().unwrap().unwrap(), b"", "hung up on without a word");
    assert_eq!(harbor.lines("alice").tool("whoami", json!({}))["name"], "alice");
}
