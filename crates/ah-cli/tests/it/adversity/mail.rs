//! Mail whose senders, receivers and servers are killed: no message is lost, none is acknowledged
//! without a turn that ended, and who gets one again is told so.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ah_model::{
    Hold, MessageFilter, MessageStatus, NewMessage, PageLimit, PageRequest, Party, Receive,
};
use ah_store::{Store, StoreError, block_on};
use serde_json::Value;

use super::random::Random;
use super::server::{Client, Victim};
use crate::support::{Home, piped};

const MESSAGES: usize = 40;
const RECEIVERS: usize = 3;
const SERVER_KILLS: usize = 25;
/// Longer than the whole test: no lease ends, so that every message must be handled by its first
/// holder.
const LEASE_MS: u64 = 10 * 60 * 1_000;
const DONE_WITHIN: Duration = Duration::from_secs(120);

/// Which hand-out of which message.
type HandOut = (String, u64);

#[derive(Default)]
struct Ledger {
    begun: Mutex<BTreeSet<HandOut>>,
    ended: Mutex<BTreeSet<HandOut>>,
    kills: AtomicUsize,
    over: AtomicBool,
}

/// Runs the program and perhaps kills it, at any moment of its usual life.
fn perhaps_killed(home: &Home, ledger: &Ledger, random: &mut Random, arguments: &[&str]) -> Output {
    let mut child = piped(&mut home.ah(arguments)).spawn().unwrap();
    if random.below(2) == 0 {
        thread::sleep(Duration::from_micros(random.next() % 40_000));
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    if output.status.code().is_none() {
        ledger.kills.fetch_add(1, Ordering::Relaxed);
    }
    output
}

/// Sends a message of this id until somebody says that it is there.
fn send(home: &Home, ledger: &Ledger, random: &mut Random, id: &str) {
    let arguments = ["message", "send", "bob", id, "--from", "alice", "--id", id];
    loop {
        let output = perhaps_killed(home, ledger, random, &arguments);
        match output.status.code() {
            // Refused: it is there, though nobody lived to say so.
            Some(0 | 4) => return,
            None => {}
            Some(_) => panic!("{output:?}"),
        }
    }
}

/// Takes messages as long as there are any; every third turn dies before its end.
fn receive(home: &Home, ledger: &Ledger, random: &mut Random, name: &str) {
    while !ledger.over.load(Ordering::Relaxed) {
        let take = ["message", "recv", "bob", "--lease", "1s", "--holder", name, "--json"];
        let output = perhaps_killed(home, ledger, random, &take);
        let Some(hand_out) = taken(&output) else { continue };
        let first = ledger.begun.lock().unwrap().insert(hand_out.clone());
        assert!(first, "two hold {hand_out:?}");
        if random.below(3) == 0 {
            continue;
        }
        let (id, delivery) = (hand_out.0.clone(), hand_out.1.to_string());
        ledger.ended.lock().unwrap().insert(hand_out);
        let ack = ["message", "ack", &id, "--delivery", &delivery];
        let output = perhaps_killed(home, ledger, random, &ack);
        // Refused: its lease ended before, and somebody else has it.
        assert!(matches!(output.status.code(), Some(0 | 4) | None), "{output:?}");
    }
}

/// What a receiver was given, if it lived to print it.
fn taken(output: &Output) -> Option<HandOut> {
    match output.status.code() {
        Some(3) | None => None,
        Some(0) => {
            let message: Value = serde_json::from_slice(&output.stdout).unwrap();
            let id = message["id"].as_str().unwrap().to_owned();
            Some((id, message["deliveries"].as_u64().unwrap()))
        }
        Some(_) => panic!("{output:?}"),
    }
}

/// All messages to bob by id: status and number of hand-outs.
fn mail(home: &Home) -> BTreeMap<String, (String, u64)> {
    let listed = home.json(&["message", "list", "--to", "bob", "--all"]);
    let row = |message: &Value| {
        let status = message["status"].as_str().unwrap().to_owned();
        let id = message["id"].as_str().unwrap().to_owned();
        (id, (status, message["deliveries"].as_u64().unwrap()))
    };
    listed["items"].as_array().unwrap().iter().map(row).collect()
}

/// Waits until all is acknowledged; what was given up is queued again, as an operator would.
fn settle(home: &Home) {
    let began = Instant::now();
    loop {
        let mail = mail(home);
        let settled = mail.len() == MESSAGES && mail.values().all(|(status, _)| status == "acked");
        if settled {
            return;
        }
        assert!(began.elapsed() < DONE_WITHIN, "left over: {mail:?}");
        for (id, _) in mail.iter().filter(|(_, (status, _))| status == "dead") {
            home.json(&["message", "requeue", id]);
        }
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn killed_senders_and_receivers_lose_no_mail() {
    let home = Home::new();
    ["alice", "bob"].iter().for_each(|name| drop(home.create_agent(name)));
    let ledger = Ledger::default();
    thread::scope(|scope| {
        for number in 0..RECEIVERS {
            let (home, ledger) = (&home, &ledger);
            let mut random = Random::new(40 + number as u64);
            scope.spawn(move || receive(home, ledger, &mut random, &format!("r{number}")));
        }
        let mut random = Random::new(39);
        (0..MESSAGES).for_each(|n| send(&home, &ledger, &mut random, &format!("m{n}")));
        settle(&home);
        ledger.over.store(true, Ordering::Relaxed);
    });
    let ended = ledger.ended.lock().unwrap();
    for (id, (_, deliveries)) in mail(&home) {
        let hand_out = (id, deliveries);
        assert!(ended.contains(&hand_out), "{hand_out:?} was acknowledged without a turn's end");
    }
    let kills = ledger.kills.load(Ordering::Relaxed);
    assert!(kills > MESSAGES, "only {kills} processes were killed");
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

/// Sends through servers that die, as long as there is time, and counts.
fn post(client: &Client, over: &AtomicBool, sent: &AtomicUsize) {
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let (alice, bob) = ("alice".parse().unwrap(), "bob".parse().unwrap());
        let message = NewMessage::new(alice, bob, format!("{}-{number}", client.name));
        client.ask(|store| block_on(store.send_message(message.clone()))).unwrap();
        sent.fetch_add(1, Ordering::Relaxed);
    }
}

/// Handles what comes until there is nothing more; the texts of what was handled.
fn handle(client: &Client, over: &AtomicBool) -> Vec<String> {
    let bob: Party = "bob".parse().unwrap();
    let mut handled = Vec::new();
    loop {
        let was_over = over.load(Ordering::Relaxed);
        let receive = Receive::next(bob.clone(), client.name.clone(), LEASE_MS);
        let got =
            client.ask(|store| block_on(store.receive_messages(receive.clone()))).unwrap().messages;
        let Some(message) = got.into_iter().next() else {
            if was_over {
                return handled;
            }
            continue;
        };
        assert_eq!(message.deliveries, 1, "its answer was kept, so nobody else got {message:?}");
        let hold = Hold { id: message.id, delivery: Some(1) };
        client.ask(|store| block_on(store.ack_messages(vec![hold.clone()]))).unwrap();
        handled.push(message.body);
    }
}

fn unfinished(store: &dyn Store) -> Result<usize, StoreError> {
    let statuses = vec![MessageStatus::Queued, MessageStatus::Leased, MessageStatus::Dead];
    let filter = MessageFilter { statuses, ..MessageFilter::default() };
    let page = PageRequest { limit: PageLimit::MAX, cursor: None };
    Ok(block_on(store.list_messages(filter, page))?.items.len())
}

#[test]
fn a_server_that_is_killed_again_and_again_hands_out_all_mail_once() {
    let mut victim = Victim::new(None);
    ["alice", "bob"].iter().for_each(|name| drop(victim.home.create_agent(name)));
    let urls = [victim.url()];
    let (closing, over, sent) =
        (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
    let client = |name: String| Client::new(&urls, &name);
    let mut handled = thread::scope(|scope| {
        let (closing, over, sent, client) = (&closing, &over, &sent, &client);
        let post = |n: usize| scope.spawn(move || post(&client(format!("s{n}")), closing, sent));
        let senders: Vec<_> = (0..2).map(post).collect();
        let receivers: Vec<_> = (0..RECEIVERS)
            .map(|n| scope.spawn(move || handle(&client(format!("h{n}")), over)))
            .collect();
        let mut random = Random::new(43);
        for _ in 0..SERVER_KILLS {
            thread::sleep(Duration::from_millis(40 + random.next() % 200));
            victim.kill();
            victim.start();
        }
        let began = Instant::now();
        // A slow machine does less meanwhile: enough must have come through to say anything.
        while sent.load(Ordering::Relaxed) <= SERVER_KILLS {
            assert!(began.elapsed() < DONE_WITHIN, "too little came through");
            thread::sleep(Duration::from_millis(10));
        }
        closing.store(true, Ordering::Relaxed);
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        over.store(true, Ordering::Relaxed);
        let handled: Vec<String> =
            receivers.into_iter().flat_map(|receiver| receiver.join().unwrap()).collect();
        handled
    });
    let sent = sent.load(Ordering::Relaxed);
    handled.sort();
    let all = handled.len();
    handled.dedup();
    assert_eq!((handled.len(), all), (sent, sent), "each was handled once");
    assert_eq!(client("end".to_owned()).ask(|store| unfinished(store)).unwrap(), 0);
}
