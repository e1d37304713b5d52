//! The turn loop: what becomes of a message, whatever becomes of its turn.

use std::time::Instant;

use ah_hive::resident::{Ending, Pace, Ran, ResidentError, ResidentOptions, Stop, Supervisor};
use ah_hive::resident::{Resident, marked};
use ah_model::limits::MESSAGE_ATTEMPTS_MAX;
use ah_model::{
    AgentUpdate, ApprovalFilter, Lifecycle, MessageStatus, NewEvent, PageRequest, QuestionFilter,
    RawJson,
};
use ah_store::block_on;

use crate::resident_given::{Hive, PATIENCE, options, shell, telling, turns};

fn ran(succeeded: u64, failed: u64, ending: Ending) -> Ran {
    Ran { succeeded, failed, ending }
}

#[test]
fn a_turn_handles_a_message_acknowledges_it_and_leaves_its_records() {
    let hive = Hive::new();
    let rules = r#"{"rules":[
        {"when":{"contains":"hello"},"do":[{"say":"heard {body}"},{"reply":"hello {from}"}]}]}"#;
    let alice = hive.scripted("alice", rules);
    let sent = [hive.send("alice", "hello there"), hive.send("alice", "nothing to do")];
    assert_eq!(hive.run(&alice, options()), ran(2, 0, Ending::NoMail));
    for message in sent {
        let message = hive.message(&message.id);
        assert_eq!((message.status, message.deliveries), (MessageStatus::Acked, 1));
    }
    assert_eq!(hive.mail("operator"), ["hello operator"]);
    assert_eq!(
        hive.log("alice"),
        [
            "user_message hello there",
            "assistant_message heard hello there",
            "turn_end succeeded null",
            "user_message nothing to do",
            "turn_end succeeded null",
        ]
    );
}

#[test]
fn a_script_asks_answers_and_requests() {
    let hive = Hive::new();
    let rules = r#"{"rules":[{"do":[
        {"ask":{"to":"bob","text":"ready?","options":["yes","no"],"ttlMs":60000}},
        {"request":{"kind":"deploy","reason":"{from} wants it"}}]}]}"#;
    let alice = hive.scripted("alice", rules);
    let rules =
        r#"{"rules":[{"when":{"kind":"question","from":"alice"},"do":[{"answer":"yes"}]}]}"#;
    let bob = hive.scripted("bob", rules);
    hive.send("alice", "begin");
    assert_eq!(hive.run(&alice, options()).succeeded, 1);
    assert_eq!(hive.run(&bob, options()).succeeded, 1);
    let store = hive.store();
    let asked = block_on(store.list_questions(QuestionFilter::default(), PageRequest::default()));
    let asked = asked.unwrap().items.remove(0);
    assert_eq!(asked.answer.unwrap().values, ["yes"]);
    let wanted = block_on(store.list_approvals(ApprovalFilter::default(), PageRequest::default()));
    let wanted = wanted.unwrap().items.remove(0);
    assert_eq!((wanted.agent.as_str(), wanted.kind.as_str()), ("alice", "deploy"));
    assert_eq!(wanted.reason.as_deref(), Some("operator wants it"));
    assert_eq!(hive.mail("alice"), ["begin", "yes"]);
}

#[test]
fn a_program_gets_the_message_the_conversation_and_who_it_is() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    hive.send("alice", "first");
    let echo = "cat > last; echo \"$AH_AGENT $AH_MESSAGE_FROM $AH_MESSAGE_DELIVERY $EXTRA\"; pwd";
    hive.run(&alice, shell(echo, options()));
    let state = hive.state.home("alice").state();
    let prompt = std::fs::read_to_string(state.join("last")).unwrap();
    assert!(prompt.ends_with(" from operator:\n\nfirst\n"), "{prompt}");
    hive.send("alice", "second");
    hive.run(&alice, shell("cat", options()));
    let log = hive.log("alice");
    assert_eq!(log[1], format!("assistant_message {}", state.display()));
    // The prompt of the second turn, which its program says again.
    let said = hive.store();
    let session = block_on(said.agent(alice.id)).unwrap().active_session_id.unwrap();
    let events = block_on(said.events(session, ah_model::EventQuery::default())).unwrap();
    let answer: serde_json::Value = events[4].data.read().unwrap();
    let answer = answer["text"].as_str().unwrap();
    assert!(answer.contains("[you] alice operator 1 given\n"), "{answer}");
    assert!(answer.ends_with("second"), "{answer}");
}

#[test]
fn a_failed_turn_gives_the_message_back_and_after_too_many_it_is_dead() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    let sent = hive.send("alice", "impossible");
    let broken = || shell("echo no >&2; exit 3", options());
    assert_eq!(hive.run(&alice, broken()), ran(0, 1, Ending::NoMail));
    let back = hive.message(&sent.id);
    assert_eq!((back.status, back.attempts), (MessageStatus::Queued, 1));
    assert_eq!(back.note.as_deref(), Some("exit code 3: no"));
    // It rests, longer every time.
    assert_eq!(hive.run(&alice, broken()), ran(0, 0, Ending::NoMail));
    for attempt in 2..=MESSAGE_ATTEMPTS_MAX {
        hive.clock().advance_ms(1_000 << (attempt - 2));
        assert_eq!(hive.run(&alice, broken()), ran(0, 1, Ending::NoMail), "{attempt}");
    }
    assert_eq!(hive.message(&sent.id).status, MessageStatus::Dead);
    assert_eq!(hive.mail("operator").len(), 1, "the bounce");
    let log = hive.log("alice");
    assert_eq!(log[..2], ["user_message impossible", "turn_end failed 3 exit code 3: no"]);
    assert_eq!(log.len() as u64, 1 + MESSAGE_ATTEMPTS_MAX);
}

#[test]
fn a_loop_waits_for_mail_and_ends_after_its_turns() {
    let hive = Hive::new();
    let alice = hive.scripted("alice", r#"{"rules":[{"do":[{"say":"ok"}]}]}"#);
    let started = hive.start(&alice, turns(2));
    for body in ["one", "two"] {
        hive.send("alice", body);
        assert_eq!(started.hear("turn_end")["ok"], true);
    }
    assert_eq!(started.end(), ran(2, 0, Ending::TurnsMade));
}

#[test]
fn stop_ends_a_loop_that_waits() {
    let hive = Hive::new();
    let alice = hive.scripted("alice", "{}");
    let started = hive.start(&alice, turns(1));
    started.stop.say();
    assert_eq!(started.end(), ran(0, 0, Ending::Stopped));
}

#[test]
fn stop_in_mid_turn_gives_the_message_back() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    let sent = hive.send("alice", "long");
    let started = hive.start(&alice, shell("echo begun; sleep 600", turns(1)));
    assert_eq!(started.hear("stream")["text"], "begun");
    started.stop.say();
    assert_eq!(started.end(), ran(0, 1, Ending::Stopped));
    let back = hive.message(&sent.id);
    assert_eq!((back.status, back.attempts, back.not_before), (MessageStatus::Queued, 0, None));
    assert_eq!(back.note.as_deref(), Some("the loop was stopped"), "that was no try");
    assert_eq!(hive.log("alice")[1], "turn_end stopped null the loop was stopped");
}

#[test]
fn a_program_that_finishes_when_it_is_asked_to_end_has_handled_the_message() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    let sent = hive.send("alice", "long");
    let script = "trap 'echo finished; exit 0' TERM; echo begun; while :; do sleep 0.01; done";
    let started = hive.start(&alice, shell(script, turns(5)));
    assert_eq!(started.hear("stream")["text"], "begun");
    started.stop.say();
    assert_eq!(started.end(), ran(1, 0, Ending::Stopped));
    assert_eq!(hive.message(&sent.id).status, MessageStatus::Acked);
}

#[test]
fn a_turn_that_takes_too_long_is_ended_with_all_that_it_started() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    hive.send("alice", "long");
    let pace = Pace { turn_ms: 200, grace_ms: 50, ..options().pace };
    let script = "trap '' TERM; sleep 600 & echo $! > child; wait";
    let stubborn = shell(script, ResidentOptions { pace, ..options() });
    assert_eq!(hive.run(&alice, stubborn), ran(0, 1, Ending::NoMail));
    assert_eq!(hive.log("alice")[1], "turn_end failed null its time was over");
    await_end_of_child(&hive);
}

/// Waits until the process has ended whose number alice's program wrote down.
fn await_end_of_child(hive: &Hive) {
    let child = std::fs::read_to_string(hive.state.home("alice").state().join("child")).unwrap();
    let path = format!("/proc/{}/stat", child.trim());
    let lives = || std::fs::read_to_string(&path).is_ok_and(|stat| !stat.contains(") Z "));
    let patience = Instant::now() + PATIENCE;
    while lives() {
        assert!(Instant::now() < patience, "process {child} lives");
        std::thread::yield_now();
    }
}

#[test]
fn what_a_program_leaves_behind_ends_with_its_turn() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    hive.send("alice", "short");
    let script = "sleep 600 </dev/null >/dev/null 2>&1 & echo $! > child; echo done";
    assert_eq!(hive.run(&alice, shell(script, options())), ran(1, 0, Ending::NoMail));
    await_end_of_child(&hive);
}

#[test]
fn a_program_that_writes_all_the_time_is_ended_when_its_time_is_over() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    hive.send("alice", "long");
    let pace = Pace { turn_ms: 200, grace_ms: 50, ..options().pace };
    // It ends by itself at last, so that a loop that never looks at the clock is seen to have waited.
    let script = "trap '' TERM; echo $$ > child; yes | head -c 30000000; exit 0";
    let noisy = shell(script, ResidentOptions { pace, ..options() });
    assert_eq!(hive.run(&alice, noisy), ran(0, 1, Ending::NoMail));
    assert_eq!(hive.log("alice")[1], "turn_end failed null its time was over");
    await_end_of_child(&hive);
}

#[test]
fn a_program_that_writes_all_the_time_is_stopped() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    let sent = hive.send("alice", "long");
    let pace = Pace { grace_ms: 50, ..options().pace };
    let script = "trap '' TERM; yes | head -c 30000000; exit 0";
    let started = hive.start(&alice, shell(script, ResidentOptions { pace, ..turns(1) }));
    assert_eq!(started.hear("stream")["text"], "y");
    started.stop.say();
    assert_eq!(started.end(), ran(0, 1, Ending::Stopped));
    assert_eq!(hive.message(&sent.id).status, MessageStatus::Queued);
}

#[test]
fn a_turn_whose_acknowledgement_was_lost_is_not_run_again() {
    let hive = Hive::new();
    let alice = hive.scripted("alice", r#"{"rules":[{"do":[{"fail":"ran again"}]}]}"#);
    let sent = hive.send("alice", "once");
    // A process that crashed between its records and its acknowledgement.
    assert_eq!(hive.take("alice")[0].id, sent.id);
    let done = NewEvent {
        kind: "turn_end".to_owned(),
        data: RawJson::parse("", r#"{"outcome":"succeeded","exitCode":0}"#, 100).unwrap(),
        dedup_key: Some(format!("turn/{}/done", sent.id)),
        ts: None,
    };
    block_on(hive.store().append_to_agent(alice.id.clone(), None, vec![done])).unwrap();
    hive.clock().advance_ms(60_000);
    assert_eq!(hive.run(&alice, options()), ran(1, 0, Ending::NoMail));
    let message = hive.message(&sent.id);
    assert_eq!((message.status, message.deliveries), (MessageStatus::Acked, 2));
    assert_eq!(hive.log("alice"), ["turn_end succeeded 0"]);
}

#[test]
fn a_turn_that_crashed_is_run_again_and_does_not_do_its_steps_twice() {
    let hive = Hive::new();
    hive.agent("bob", "scripted");
    let rules = r#"{"rules":[
        {"when":{"redelivered":false},"do":[{"send":{"to":"bob","text":"x"}},{"fail":"broke"}]},
        {"do":[{"send":{"to":"bob","text":"x"}},{"say":"went on"}]}]}"#;
    let alice = hive.scripted("alice", rules);
    let sent = hive.send("alice", "work");
    assert_eq!(hive.run(&alice, options()).failed, 1);
    hive.clock().advance_ms(1_000);
    assert_eq!(hive.run(&alice, options()).succeeded, 1);
    assert_eq!(hive.mail("bob"), ["x"]);
    assert_eq!(hive.message(&sent.id).deliveries, 2);
    assert_eq!(
        hive.log("alice"),
        [
            "user_message work",
            "turn_end failed null broke",
            "assistant_message went on",
            "turn_end succeeded null",
        ]
    );
}

#[test]
fn a_turn_that_lost_its_lease_ends_and_says_nothing_of_the_message() {
    let hive = Hive::new();
    let alice = hive.agent("alice", "shell");
    let sent = hive.send("alice", "slow");
    let pace = Pace { lease_ms: 1_000, ..options().pace };
    let slow = shell("echo begun; sleep 600", ResidentOptions { pace, ..turns(1) });
    let started = hive.start(&alice, slow);
    assert_eq!(started.hear("stream")["text"], "begun");
    // Somebody else gets it as soon as the lease is over by the store's clock.
    let taken = loop {
        hive.clock().advance_ms(1_000);
        let taken = hive.take("alice");
        if !taken.is_empty() {
            break taken;
        }
    };
    assert_eq!(started.end(), ran(0, 1, Ending::TurnsMade));
    let message = hive.message(&sent.id);
    assert_eq!((message.status, &message.lease), (MessageStatus::Leased, &taken[0].lease));
}

#[test]
fn an_agent_has_one_loop_on_a_machine() {
    let hive = Hive::new();
    let alice = hive.scripted("alice", r#"{"rules":[{"do":[{"sleep":600000}]}]}"#);
    hive.send("alice", "begin");
    let started = hive.start(&alice, turns(1));
    started.hear("turn_start");
    let second = hive.resident(&alice, options(), &Stop::default()).run().unwrap_err();
    assert_eq!(second.to_string(), "agent alice is run by test already");
    started.stop.say();
    started.end();
    hive.run(&alice, ResidentOptions { until: turns(0).until, ..options() });
}

#[test]
fn what_cannot_run_is_refused_before_it_takes_mail() {
    let hive = Hive::new();
    let sent = hive.agent("alice", "nobodys");
    let refused = |agent, options| {
        hive.resident(agent, options, &Stop::default()).run().unwrap_err().to_string()
    };
    hive.send("alice", "hello");
    assert_eq!(refused(&sent, options()), "no program is known for the agent kind nobodys");
    let bob = hive.agent("bob", "claude-code");
    assert_eq!(
        refused(&bob, ResidentOptions { search: Vec::new(), ..options() }),
        "the program \"claude\" of the agent kind claude-code is not there"
    );
    let carol = hive.scripted("carol", r#"{"rules":[{"do":[{"dance":1}]}]}"#);
    assert!(refused(&carol, options()).contains("unknown variant `dance`"));
    block_on(hive.store().set_agent_lifecycle(carol.id.clone(), Lifecycle::Sleeping)).unwrap();
    assert_eq!(refused(&carol, options()), "agent carol is sleeping");
    assert_eq!(hive.take("alice")[0].deliveries, 1);
}

#[test]
fn a_loop_ends_when_its_agent_goes_to_sleep() {
    let hive = Hive::new();
    let alice = hive.scripted("alice", "{}");
    let started = hive.start(&alice, turns(9));
    hive.send("alice", "one");
    started.hear("turn_end");
    block_on(hive.store().set_agent_lifecycle(alice.id.clone(), Lifecycle::Sleeping)).unwrap();
    let waits = hive.send("alice", "two");
    assert_eq!(started.end().ending, Ending::NotActive(Lifecycle::Sleeping));
    assert_eq!(hive.message(&waits.id).deliveries, 0);
}

#[test]
fn a_supervisor_runs_the_loops_of_resident_agents_and_of_no_others() {
    let hive = Hive::new();
    let rules = r#"{"rules":[{"do":[{"reply":"{agent} heard {body}"}]}]}"#;
    let (alice, _bob) = (hive.scripted("alice", rules), hive.scripted("bob", rules));
    let metadata = Some(marked(&alice.metadata, true).unwrap());
    let update = AgentUpdate { metadata, ..AgentUpdate::default() };
    block_on(hive.store().update_agent(alice.id, update)).unwrap();
    let (options, told) = telling(ResidentOptions { until: Default::default(), ..options() });
    let (host, tell) = (hive.host(), options.tell.clone());
    let make = move |agent: &_, stop| -> Result<Resident, ResidentError> {
        Resident::new(host.clone(), agent, options.clone(), stop)
    };
    let supervisor = Supervisor::new(hive.store(), Box::new(make), tell, Stop::default());
    let supervised = supervisor.start().unwrap();
    let (one, two) = (hive.send("bob", "one"), hive.send("alice", "two"));
    let operator = ah_model::Awaited::Mail(ah_model::Party::Operator);
    block_on(hive.store().wait_for(operator)).unwrap();
    supervised.end();
    assert_eq!(hive.mail("operator"), ["alice heard two"]);
    assert_eq!(hive.message(&two.id).status, MessageStatus::Acked);
    assert_eq!(hive.message(&one.id).deliveries, 0);
    assert_eq!(told.lock().unwrap()[0], "alice: waits for mail");
}
