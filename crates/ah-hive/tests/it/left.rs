//! Programs that a loop left running: which of them the next loop ends.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use ah_model::Agent;
use serde_json::{Value, json};

use crate::resident_given::{Hive, options, shell};

/// A process that no loop waits for. It ends with the test.
struct Stray(Child);

impl Stray {
    /// The head of a group of its own, whose environment names a hand-out.
    fn named(message: &str, delivery: &str) -> Self {
        let mut command = Command::new("sleep");
        command.arg("600").env("AH_MESSAGE_ID", message).env("AH_MESSAGE_DELIVERY", delivery);
        Self(command.process_group(0).spawn().unwrap())
    }

    /// What a loop puts on record of it.
    fn born(&self) -> Value {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let start: u64 = stat.split(' ').nth(21).unwrap().parse().unwrap();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        json!({ "id": self.0.id(), "start": start, "boot": boot.trim() })
    }

    fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Stray {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A hive where a loop of alice was killed that had this on record.
fn after_a_crash(record: &[Value]) -> (Hive, Agent) {
    let hive = Hive::new();
    let alice = hive.scripted("alice", "{}");
    let folder = hive.state.path().join("running");
    hive.run(&alice, options());
    let lines: String = record.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(folder.join("alice"), lines).unwrap();
    (hive, alice)
}

/// A message of one test alone: others run at the same time.
fn message(test: &str) -> String {
    format!("{test}-{}", std::process::id())
}

fn handout(message: &str) -> Value {
    json!({ "message": message, "delivery": 2 })
}

/// Whether the next loop leaves `stray` alone when this is on record.
fn is_left_alone(stray: &mut Stray, record: &[Value]) -> bool {
    let (hive, alice) = after_a_crash(record);
    hive.run(&alice, options());
    assert!(!hive.state.path().join("running/alice").exists(), "{record:?}");
    stray.runs()
}

#[test]
fn what_is_on_record_is_ended() {
    // Known by its number and start, whatever its environment says.
    let mut stray = Stray::named("of-nobody", "1");
    let record = [handout(&message("recorded")), stray.born()];
    assert!(!is_left_alone(&mut stray, &record));
}

#[test]
fn a_program_whose_number_was_not_yet_on_record_is_ended() {
    let message = message("early");
    let mut stray = Stray::named(&message, "2");
    assert!(!is_left_alone(&mut stray, &[handout(&message)]));
}

#[test]
fn a_process_that_got_the_number_of_another_is_left_alone() {
    let message = message("number");
    let mut stray = Stray::named(&message, "1");
    let born = stray.born();
    let with = |name: &str, value: Value| {
        let mut born = born.clone();
        born[name] = value;
        born
    };
    let later = with("start", (born["start"].as_u64().unwrap() + 1).into());
    for other in [later, with("boot", "another".into()), with("id", u32::MAX.into())] {
        assert!(is_left_alone(&mut stray, &[handout(&message), other.clone()]), "{other}");
    }
}

#[test]
fn a_program_of_another_hand_out_is_left_alone() {
    let message = message("other");
    for (name, delivery) in [(&*message, "1"), ("other-0", "2"), (&message, "22")] {
        let mut stray = Stray::named(name, delivery);
        assert!(is_left_alone(&mut stray, &[handout(&message)]), "{name} {delivery}");
    }
}

#[test]
fn a_record_that_cannot_be_read_ends_nobody() {
    let message = message("unreadable");
    let mut stray = Stray::named(&message, "2");
    for record in [vec![], vec![json!("nonsense")], vec![stray.born(), handout(&message)]] {
        let (hive, alice) = after_a_crash(&record);
        hive.run(&alice, options());
        assert!(stray.runs(), "{record:?}");
    }
}

#[test]
fn a_program_is_on_record_as_long_as_its_turn() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    let sent = hive.send("alice", "begin");
    let script =
        "read -r first; cat \"$AH_AGENT_HOME/../../running/alice\" > record; echo $$ > own";
    hive.run(&alice, shell(script, options()));
    let state = hive.state.home("alice").state();
    let record = std::fs::read_to_string(state.join("record")).unwrap();
    let own = std::fs::read_to_string(state.join("own")).unwrap();
    let lines: Vec<Value> =
        record.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({ "message": sent.id, "delivery": 1 }));
    assert_eq!(lines[1]["id"], own.trim().parse::<u32>().unwrap());
    assert!(!hive.state.path().join("running/alice").exists());
}
