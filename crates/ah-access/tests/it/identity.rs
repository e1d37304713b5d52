//! Identities from files and programs, and when they are fetched again.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ah_access::identity::{
    ExecProvider, Identity, IdentityError, Mark, OUTPUT_BYTES_MAX, Provider, ProviderKind, Watched,
};
use ah_model::Timestamp;

use crate::given::{Ca, Files, Leaf, days, dns, now, uri};

fn refusal(provider: &dyn Provider) -> String {
    provider.load(now()).unwrap_err().to_string()
}

#[test]
fn files_make_an_identity() {
    let ca = Ca::new();
    let files = Files::new(&ca.issue(&Leaf::executor()), &ca.pem);
    let identity = files.provider().load(now()).unwrap();
    assert_eq!(identity.id.as_str(), "spiffe://example.org/ah/agent/node-1");
    assert_eq!((identity.not_before, identity.not_after), (days(-1), days(29)));
    assert_eq!(identity.serial, "1234");
    assert_eq!((identity.chain.len(), identity.roots), (1, vec![ca.der]));
}

#[test]
fn an_identity_without_spiffe_is_its_first_name() {
    let ca = Ca::new();
    let host = ca.identity(&Leaf::named(vec![dns("Build-7.example.org")]));
    assert_eq!(host.id.as_str(), "dns:build-7.example.org");
    let two = vec![uri("spiffe://example.org/ah/agent/a"), uri("https://example.org")];
    let files = Files::new(&ca.issue(&Leaf::named(two)), &ca.pem);
    let error = refusal(&files.provider());
    assert!(error.ends_with("2 URIs beside each other, one SPIFFE id is allowed"), "{error}");
}

#[test]
fn nothing_of_a_key_is_printed() {
    let identity = Ca::new().identity(&Leaf::executor());
    let shown = format!("{identity:?}");
    assert_eq!(
        shown,
        "Identity(spiffe://example.org/ah/agent/node-1, serial 1234, until 2030-01-30T00:00:00.000Z)"
    );
}

#[test]
fn a_key_that_others_may_read_is_refused_with_the_command_that_mends_it() {
    let ca = Ca::new();
    let files = Files::new(&ca.issue(&Leaf::executor()), &ca.pem);
    for mode in [0o640, 0o604, 0o660, 0o666, 0o644, 0o601] {
        files.set_mode("key.pem", mode);
        let path = files.path("key.pem").display().to_string();
        let expected = format!(
            "{path} can be used by others (mode {mode:03o}, 600 is right); `chmod 600 {path}` mends it"
        );
        assert_eq!(refusal(&files.provider()), expected);
    }
    files.set_mode("key.pem", 0o400);
    assert!(files.provider().load(now()).is_ok(), "stricter is as good");
}

#[test]
fn files_that_are_no_identity_are_named() {
    let ca = Ca::new();
    let pair = ca.issue(&Leaf::executor());
    let other = ca.issue(&Leaf::executor());
    let check = |name: &str, text: &str, reason: &str| {
        let files = Files::new(&pair, &ca.pem);
        files.write(name, text);
        files.set_mode(name, 0o600);
        let error = refusal(&files.provider());
        assert!(error.contains(reason), "{name}: {error}");
        assert!(!error.contains("PRIVATE"), "{error}");
    };
    check("chain.pem", "", "chain.pem: no certificate in PEM form is in it");
    check("chain.pem", &pair.key, "chain.pem: no certificate in PEM form is in it");
    check("chain.pem", &pair.certificate[..200], "chain.pem: it is not PEM");
    check("roots.pem", "nothing", "roots.pem: no certificate in PEM form is in it");
    check("key.pem", &pair.certificate, "key.pem: no private key in PEM form is in it");
    check("key.pem", &other.key, "the certificate and its key");
    let huge = "x".repeat(5 * 1024 * 1024);
    check("chain.pem", &huge, "chain.pem has more than");
    let files = Files::new(&pair, &ca.pem);
    std::fs::remove_file(files.path("key.pem")).unwrap();
    assert!(refusal(&files.provider()).contains("key.pem: No such file"));
}

#[test]
fn an_own_certificate_that_is_over_or_has_not_begun_is_named() {
    let ca = Ca::new();
    let files = Files::new(&ca.issue(&Leaf::executor()), &ca.pem);
    let provider = files.provider();
    let load = |at: Timestamp| provider.load(at);
    assert!(matches!(load(days(29)), Err(IdentityError::Expired { at, .. }) if at == days(29)));
    let early = load(days(-2));
    assert!(matches!(early, Err(IdentityError::NotYetValid { from, .. }) if from == days(-1)));
    assert!(load(days(-1)).is_ok());
}

#[test]
fn files_are_read_again_when_they_change_and_only_then() {
    let ca = Ca::new();
    let files = Files::new(&ca.issue(&Leaf::executor()), &ca.pem);
    let mut watched = Watched::load(Box::new(files.provider()), now(), 0).unwrap();
    assert_eq!((watched.kind(), watched.due()), (ProviderKind::Files, None));
    assert!(watched.poll(days(28)).unwrap().is_none());
    files.write_pair(&ca.issue(&Leaf { serial: 0x5678, ..Leaf::executor() }));
    let renewed = watched.poll(now()).unwrap().unwrap();
    assert_eq!(renewed.serial, "5678");
    assert_eq!(watched.current().serial, "5678");
    assert!(watched.poll(now()).unwrap().is_none());
}

#[test]
fn half_a_rotation_keeps_the_identity_until_the_other_half_is_there() {
    let ca = Ca::new();
    let files = Files::new(&ca.issue(&Leaf::executor()), &ca.pem);
    let mut watched = Watched::load(Box::new(files.provider()), now(), 0).unwrap();
    let next = ca.issue(&Leaf { serial: 0x5678, ..Leaf::executor() });
    files.write("chain.pem", &next.certificate);
    let error = watched.poll(now()).unwrap_err();
    assert!(matches!(error, IdentityError::Pair { .. }), "{error}");
    assert_eq!(watched.current().serial, "1234");
    assert!(watched.poll(now()).is_err(), "it is tried again");
    files.write_pair(&next);
    assert_eq!(watched.poll(now()).unwrap().unwrap().serial, "5678");
}

/// A source that gives what it was told to, and cannot be looked at.
struct Scripted(Mutex<VecDeque<Result<Identity, IdentityError>>>);

impl Provider for Scripted {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Exec
    }

    fn load(&self, _now: Timestamp) -> Result<Identity, IdentityError> {
        self.0.lock().unwrap().pop_front().unwrap()
    }

    fn mark(&self) -> Result<Option<Mark>, IdentityError> {
        Ok(None)
    }
}

fn scripted(script: impl IntoIterator<Item = Result<Identity, IdentityError>>) -> Box<Scripted> {
    Box::new(Scripted(Mutex::new(script.into_iter().collect())))
}

#[test]
fn others_are_asked_again_after_two_thirds_of_the_lifetime() {
    let ca = Ca::new();
    // Thirty days, of which one is over.
    let identity = || Ok(ca.identity(&Leaf::executor()));
    let next = Ok(ca.identity(&Leaf { from: days(19), until: days(49), ..Leaf::executor() }));
    let mut watched = Watched::load(scripted([identity(), next]), now(), 0).unwrap();
    assert_eq!(watched.due(), Some(days(19)));
    assert!(watched.poll(days(19).minus_ms(1)).unwrap().is_none());
    assert_eq!(watched.poll(days(19)).unwrap().unwrap().not_after, days(49));
    assert_eq!(watched.due(), Some(days(39)));
    let early = Watched::load(scripted([identity()]), now(), 1_000).unwrap();
    assert_eq!(early.due(), Some(days(16)), "a tenth earlier, so that not all come at once");
}

#[test]
fn a_renewal_that_did_not_work_is_tried_again_in_time() {
    let ca = Ca::new();
    let failed = || {
        let reason = "down".to_owned();
        Err(IdentityError::Source { origin: "vault".to_owned(), reason })
    };
    let leaf = Leaf::executor();
    let script = [Ok(ca.identity(&leaf)), failed(), failed(), Ok(ca.identity(&leaf))];
    let mut watched = Watched::load(scripted(script), now(), 0).unwrap();
    assert!(watched.poll(days(19)).is_err());
    assert_eq!(watched.due(), Some(days(19).plus_ms(10 * 60_000)), "ten minutes at most");
    assert!(watched.poll(days(19)).unwrap().is_none());
    let late = days(29).minus_ms(5_000);
    assert!(watched.poll(late).is_err());
    assert_eq!(watched.due(), Some(late.plus_ms(1_000)), "a second at least");
    assert!(watched.poll(late.plus_ms(1_000)).unwrap().is_some());
}

fn program(script: &str) -> ExecProvider {
    ExecProvider {
        program: "sh".to_owned(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        timeout: Duration::from_secs(60),
    }
}

#[test]
fn a_program_prints_an_identity() {
    let ca = Ca::new();
    let pair = ca.issue(&Leaf::executor());
    let files = Files::new(&pair, &ca.pem);
    let provider = ExecProvider {
        program: "cat".to_owned(),
        arguments: ["key.pem", "chain.pem", "roots.pem"]
            .map(|name| files.path(name).display().to_string())
            .to_vec(),
        ..program("")
    };
    let identity = provider.load(now()).unwrap();
    assert_eq!((identity.serial.as_str(), identity.roots), ("1234", vec![ca.der]));
    assert!(provider.mark().unwrap().is_none(), "it is asked again by expiry");
}

#[test]
fn programs_that_print_no_identity_are_named() {
    let ca = Ca::new();
    let files = Files::new(&ca.issue(&Leaf::executor()), &ca.pem);
    let dir = files.directory.path().display();
    let check = |script: &str, expected: &str| {
        let error = refusal(&program(script));
        assert!(error.contains(expected), "{script}: {error}");
    };
    check("exit 3", "sh: it ended with exit status: 3");
    check("", "sh: no private key in PEM form is in it");
    check(&format!("cat {dir}/key.pem {dir}/roots.pem"), "sh: no certificate in PEM form is in it");
    let rootless = format!("cat {dir}/key.pem {dir}/chain.pem");
    check(&rootless, "sh: no certificate of an authority in PEM form is in it");
    let two = format!("cat {dir}/key.pem {dir}/key.pem");
    check(&two, "sh: more than one private key is in it");
    let missing = ExecProvider { program: "no-such-program-here".to_owned(), ..program("") };
    assert!(refusal(&missing).starts_with("no-such-program-here: it cannot be run: "));
}

#[test]
fn a_program_that_prints_without_end_is_stopped() {
    let error = refusal(&program("yes"));
    assert_eq!(error, format!("sh: it printed more than {OUTPUT_BYTES_MAX} bytes"));
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_what_it_started() {
    let files = Files::new(&Ca::new().issue(&Leaf::executor()), "");
    let pid_file = files.path("pid");
    let script = format!("sleep 600 & echo $! > {}; wait", pid_file.display());
    let provider = ExecProvider { timeout: Duration::from_millis(500), ..program(&script) };
    let begun = Instant::now();
    assert_eq!(refusal(&provider), "sh: it took longer than 500 ms");
    assert!(begun.elapsed() < Duration::from_secs(60));
    let pid: i32 = std::fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    // Killed, and gone once whoever adopted it has seen that.
    while is_running(pid) {
        assert!(Instant::now() < until, "it still runs");
        std::thread::yield_now();
    }
}

fn is_running(pid: rustix::process::Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    // A process that ended and was not waited for is a zombie.
    stat.is_ok_and(|stat| !stat.contains(") Z"))
}
