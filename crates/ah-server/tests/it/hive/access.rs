//! An agent is itself and nobody else; the operator is anybody, and leaves a name.

use ah_model::TokenRole;
use serde_json::{Value, json};

use super::{Hive, id, ids};

#[test]
fn an_agent_speaks_as_itself_and_as_nobody_else() {
    let hive = Hive::new();
    let (own, between) = (hive.ask("nils", "Mira"), hive.ask("nils", "operator"));
    let approval = hive.request("nils");
    let message = hive.send("operator", "nils", "for nils");
    let hold = json!({ "leaseMs": 1_000 });
    let receive = json!({ "to": "nils", "holder": "h", "leaseMs": 1_000 });
    let turn = |from: &str| {
        let send = json!([{ "from": from, "to": ["mira"], "body": "b" }]);
        json!({ "to": "mira", "holder": "h", "leaseMs": 1_000, "send": send })
    };
    let by = |party: &str| json!({ "by": party, "values": ["x"] });
    let (renew, release) =
        (format!("/messages/{message}/renew"), format!("/messages/{message}/release"));
    let (answer, other) =
        (format!("/questions/{own}/answer"), format!("/questions/{between}/answer"));
    let withdrawal = format!("/questions/{own}/withdrawal");
    let decision = format!("/approvals/{approval}/decision");
    let agent = "the token is for the agent mira, it may not";
    for (path, body, why) in [
        ("/messages", json!({ "from": "nils", "to": ["Mira"], "body": "b" }), "write as nils"),
        ("/messages", json!({ "from": "operator", "to": ["x"], "body": "b" }), "write as operator"),
        ("/mail/receive", receive, "take the mail of nils"),
        ("/mail/receive", turn("nils"), "write as nils"),
        ("/mail/receive", turn("operator"), "write as operator"),
        ("/mail/dismiss", json!({ "to": "nils", "about": "x" }), "take the mail of nils"),
        ("/mail/ack", json!({ "holds": [{ "id": message }] }), "take the mail of nils"),
        (&renew, hold, "take the mail of nils"),
        (&release, json!({}), "take the mail of nils"),
        ("/questions", json!({ "from": "nils", "to": "Mira", "text": "t" }), "ask as nils"),
        (&answer, by("operator"), "answer as operator"),
        (&other, by("mira"), "see what is asked between nils and operator"),
        (&withdrawal, json!({ "by": "mira" }), "withdraw what was asked by nils"),
        (&withdrawal, json!({ "by": "nils" }), "withdraw as nils"),
        ("/approvals", json!({ "agent": "nils", "kind": "x" }), "ask for approvals about nils"),
        (&decision, json!({ "verdict": "withdrawn", "by": "nils" }), "withdraw as nils"),
        (&decision, json!({ "verdict": "withdrawn", "by": "mira" }), "see the approvals of nils"),
    ] {
        let refused = hive.refused(&hive.mira, ("POST", path), &body);
        assert_eq!(refused, format!("403 {agent} {why}"), "{path} {body}");
    }
    // Nothing of it was done.
    let untouched = hive.done(&hive.admin, "GET", &format!("/messages/{message}"), Value::Null);
    assert_eq!((&untouched["status"], &untouched["deliveries"]), (&json!("queued"), &json!(0)));
    for path in [format!("/questions/{own}"), format!("/questions/{between}")] {
        assert_eq!(hive.done(&hive.admin, "GET", &path, Value::Null)["status"], "open");
    }
}

#[test]
fn in_a_turn_it_need_not_be_said_who_writes() {
    let hive = Hive::new();
    let turn = |send: Value| json!({ "to": "MIRA", "holder": "h", "leaseMs": 1_000, "send": send });
    let answer = || turn(json!([{ "to": ["nils"], "body": "b" }]));
    // Whoever asks: the turn is Mira's.
    for token in [&hive.mira, &hive.admin] {
        let done = hive.done(token, "POST", "/mail/receive", answer());
        assert_eq!((&done["items"], &done["sent"][0]["from"]), (&json!([]), &json!("Mira")));
    }
    let forged = turn(json!([{ "from": "nils", "to": ["nils"], "body": "b" }]));
    let refused = hive.refused(&hive.admin, ("POST", "/mail/receive"), &forged);
    assert_eq!(refused, "409 agent nils: does not write in a turn of MIRA");
}

#[test]
fn an_agent_sees_only_what_is_its_own() {
    let hive = Hive::new();
    let [mine, sent, others] = [("nils", "mira"), ("mira", "operator"), ("nils", "operator")]
        .map(|(from, to)| hive.send(from, to, "b"));
    let [asked, asks, strange] = [("nils", "mira"), ("mira", "operator"), ("nils", "operator")]
        .map(|(from, to)| hive.ask(from, to));
    let (approval, foreign) = (hive.request("Mira"), hive.request("nils"));
    let list = |path: &str| {
        let list = hive.done(&hive.mira, "GET", path, Value::Null);
        list["items"].as_array().unwrap().clone()
    };
    // The question asked of Mira came as a notice, too.
    let messages = list("/messages");
    let of = |message: &Value| (message["from"].clone(), message["to"].clone());
    assert_eq!(messages.len(), 3);
    assert!(messages.iter().map(of).all(|(from, to)| from == "Mira" || to == "Mira"));
    let narrowed = |path: &str| list(path).iter().map(id).collect::<Vec<_>>();
    assert_eq!(narrowed("/messages?from=MIRA"), std::slice::from_ref(&sent));
    assert_eq!(narrowed("/messages?from=nils&to=operator"), [""; 0]);
    assert_eq!(narrowed("/questions"), [asks.clone(), asked.clone()]);
    assert_eq!(narrowed("/questions?to=mira"), std::slice::from_ref(&asked));
    assert_eq!(narrowed("/approvals"), std::slice::from_ref(&approval));
    for path in [
        format!("/messages/{mine}"),
        format!("/messages/{sent}"),
        format!("/questions/{asked}"),
        format!("/questions/{asks}"),
        format!("/approvals/{approval}"),
    ] {
        hive.done(&hive.mira, "GET", &path, Value::Null);
    }
    for path in [
        format!("/messages/{others}"),
        format!("/questions/{strange}"),
        format!("/approvals/{foreign}"),
        "/messages?party=nils".to_owned(),
        "/questions?party=operator".to_owned(),
        "/approvals?agent=nils".to_owned(),
        "/message-ids?prefix=0".to_owned(),
        "/question-ids?prefix=0".to_owned(),
        "/approval-ids?prefix=0".to_owned(),
        "/retention/receipts".to_owned(),
        "/hive/wait?mail=nils".to_owned(),
        format!("/hive/wait?question={strange}"),
        format!("/hive/wait?approval={foreign}"),
    ] {
        let refused = hive.refused(&hive.mira, ("GET", &path), &Value::Null);
        assert!(refused.starts_with("403 "), "{path}: {refused}");
    }
}

#[test]
fn an_agent_does_what_is_its_own_matter() {
    let hive = Hive::new();
    let message = json!({ "from": "mira", "to": ["nils", "operator"], "body": "hello" });
    let sent = hive.done(&hive.mira, "POST", "/messages", message);
    assert_eq!(sent["items"][0]["from"], "Mira", "names are answered as the agent's row has them");
    let receive = json!({ "to": "nils", "holder": "h", "leaseMs": 60_000 });
    let received = hive.done(&hive.nils, "POST", "/mail/receive", receive.clone());
    assert_eq!(ids(&received), ids(&sent)[..1]);
    let path = format!("/messages/{}", ids(&sent)[0]);
    let renew = json!({ "delivery": 1, "leaseMs": 60_000 });
    hive.done(&hive.nils, "POST", &format!("{path}/renew"), renew);
    let released = json!({ "delivery": 1, "note": "later" });
    let released = hive.done(&hive.nils, "POST", &format!("{path}/release"), released);
    assert_eq!((&released["status"], &released["note"]), (&json!("queued"), &json!("later")));
    let received = hive.done(&hive.nils, "POST", "/mail/receive", receive);
    assert_eq!(received["items"][0]["deliveries"], 2);
    let acked = json!({ "holds": [{ "id": ids(&sent)[0], "delivery": 2 }] });
    let acked = hive.done(&hive.nils, "POST", "/mail/ack", acked);
    assert_eq!(acked["items"][0]["status"], "acked");

    let question = json!({ "from": "mira", "to": "nils", "text": "why", "options": ["a", "b"] });
    let question = id(&hive.done(&hive.mira, "POST", "/questions", question));
    let dismissal = json!({ "to": "nils", "about": question });
    let dismissed = hive.done(&hive.nils, "POST", "/mail/dismiss", dismissal);
    assert_eq!(dismissed, json!({ "dismissed": 1 }));
    let answer = json!({ "by": "nils", "values": ["a"] });
    let answered = hive.done(&hive.nils, "POST", &format!("/questions/{question}/answer"), answer);
    assert_eq!(
        (&answered["outcome"], &answered["answer"]["by"]),
        (&json!("answered"), &json!("nils"))
    );
    let question = hive.ask("mira", "nils");
    let path = format!("/questions/{question}/withdrawal");
    let withdrawn = hive.done(&hive.mira, "POST", &path, json!({ "by": "mira" }));
    assert_eq!(withdrawn["status"], "withdrawn");

    let approval = json!({ "agent": "mira", "kind": "deploy", "reason": "it works" });
    let approval = id(&hive.done(&hive.mira, "POST", "/approvals", approval));
    let path = format!("/approvals/{approval}/decision");
    for verdict in ["approved", "denied", "failed"] {
        for by in ["mira", "operator"] {
            let decision = json!({ "verdict": verdict, "by": by });
            let refused = hive.refused(&hive.mira, ("POST", &path), &decision);
            assert!(refused.starts_with("403 only the operator decides"), "{refused}");
        }
    }
    let decision = json!({ "verdict": "withdrawn", "by": "mira" });
    assert_eq!(hive.done(&hive.mira, "POST", &path, decision)["status"], "withdrawn");
}

#[test]
fn a_decision_and_an_answer_name_the_token_they_came_with() {
    let hive = Hive::new();
    let named = hive.server.named_token("t7", TokenRole::Operator, "the phone");
    for (token, given, resolver) in [
        (&named, None, "the phone"),
        (&hive.operator, None, "operator"),
        (&hive.admin, Some("somebody"), "somebody"),
    ] {
        let (approval, question) = (hive.request("mira"), hive.ask("mira", "operator"));
        let decision = json!({ "verdict": "approved", "by": "operator", "resolver": given });
        let decided =
            hive.done(token, "POST", &format!("/approvals/{approval}/decision"), decision);
        assert_eq!(decided["resolver"], resolver);
        let answer = json!({ "by": "operator", "values": ["x"], "resolver": given });
        let path = format!("/questions/{question}/answer");
        let answered = hive.done(token, "POST", &path, answer);
        assert_eq!(answered["answer"]["resolver"], resolver);
    }
}

#[test]
fn who_is_not_the_agent_does_not_decide_or_answer_as_it() {
    let hive = Hive::new();
    let (approval, question) = (hive.request("mira"), hive.ask("nils", "mira"));
    let decision = format!("/approvals/{approval}/decision");
    let answer = format!("/questions/{question}/answer");
    for (path, body) in [
        (decision, json!({ "verdict": "withdrawn", "by": "mira" })),
        (answer, json!({ "by": "mira", "values": ["x"] })),
    ] {
        for token in [&hive.admin, &hive.operator] {
            let refused = hive.refused(token, ("POST", &path), &body);
            assert!(
                refused.ends_with("speaks for the operator, not for the agent mira"),
                "{refused}"
            );
        }
    }
}

#[test]
fn who_looks_sees_everything_and_changes_nothing() {
    let hive = Hive::new();
    let viewer = hive.server.token("viewer", TokenRole::Viewer);
    let (message, question) = (hive.send("mira", "nils", "b"), hive.ask("mira", "nils"));
    let approval = hive.request("mira");
    for path in [
        "/messages".to_owned(),
        "/messages?party=nils".to_owned(),
        "/questions".to_owned(),
        "/approvals".to_owned(),
        "/retention/receipts".to_owned(),
        format!("/messages/{message}"),
        format!("/questions/{question}"),
        format!("/approvals/{approval}"),
        format!("/message-ids?prefix={message}"),
        "/hive/wait?mail=nils".to_owned(),
    ] {
        hive.done(&viewer, "GET", &path, Value::Null);
    }
    let send = json!({ "from": "operator", "to": ["nils"], "body": "b" });
    for (path, body) in [
        ("/messages".to_owned(), send),
        (format!("/messages/{message}/requeue"), json!({})),
        (
            format!("/approvals/{approval}/decision"),
            json!({ "verdict": "denied", "by": "operator" }),
        ),
        ("/hive/sweep".to_owned(), json!({})),
        ("/retention/step".to_owned(), json!({})),
    ] {
        let refused = hive.refused(&viewer, ("POST", &path), &body);
        assert!(refused.starts_with("403 this needs the role admin or operator"), "{refused}");
    }
}

#[test]
fn a_keyed_message_is_sent_once() {
    let hive = Hive::new();
    let send = || {
        let body = json!({ "from": "mira", "to": ["nils"], "body": "b" }).to_string();
        let token = format!("authorization: Bearer {}", hive.mira);
        let headers = [token.as_str(), "idempotency-key: k1"];
        let mut connection = hive.server.connect();
        connection.send(crate::http::request("POST", "/api/v1/messages", &headers, &body));
        connection.reply().json()
    };
    assert_eq!(send(), send());
    assert_eq!(ids(&hive.done(&hive.nils, "GET", "/messages", Value::Null)).len(), 1);
}

#[test]
fn who_does_not_say_who_speaks_is_who_asks() {
    let hive = Hive::new();
    for (token, name, role) in [
        (&hive.mira, "Mira", "agent"),
        (&hive.operator, "operator", "operator"),
        (&hive.admin, "operator", "admin"),
    ] {
        let who = hive.done(token, "GET", "/whoami", Value::Null);
        assert_eq!(who["role"], role);
        assert!(who["party"].as_str().unwrap().eq_ignore_ascii_case(name), "{who}");
        let message = json!({ "to": ["nils"], "body": "b" });
        let sent = hive.done(token, "POST", "/messages", message);
        assert_eq!(sent["items"][0]["from"], name);
        let asked = hive.done(token, "POST", "/questions", json!({ "to": "nils", "text": "why" }));
        assert_eq!(asked["from"], name);
        let path = format!("/questions/{}/withdrawal", id(&asked));
        assert_eq!(hive.done(token, "POST", &path, json!({}))["status"], "withdrawn");
        let asked = hive.ask("nils", name);
        let path = format!("/questions/{asked}/answer");
        let answered = hive.done(token, "POST", &path, json!({ "values": ["x"] }));
        assert_eq!(answered["answer"]["by"], name);
        let path = format!("/approvals/{}/decision", hive.request("Mira"));
        let decided = hive.done(token, "POST", &path, json!({ "verdict": "withdrawn" }));
        assert_eq!(decided["status"], "withdrawn");
    }
}

#[test]
fn a_list_names_what_nobody_asked_for() {
    let hive = Hive::new();
    for list in ["messages", "approvals", "questions", "agent-instances"] {
        hive.done(&hive.admin, "GET", &format!("/{list}?limit=1"), Value::Null);
        let asked = format!("/{list}?of=nils");
        let refused = hive.refused(&hive.admin, ("GET", &asked), &Value::Null);
        assert!(refused.starts_with("422 "), "{refused}");
        assert!(refused.contains("\"of\""), "{refused}");
    }
}

#[test]
fn any_word_may_be_the_id_of_a_message() {
    let hive = Hive::new();
    for word in ["receive", "ack", "dismiss"] {
        let message = json!({ "id": word, "to": ["nils"], "body": word });
        hive.done(&hive.operator, "POST", "/messages", message);
        let shown = hive.done(&hive.nils, "GET", &format!("/messages/{word}"), Value::Null);
        assert_eq!(shown["body"], word);
    }
}
