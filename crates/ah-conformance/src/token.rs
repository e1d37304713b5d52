//! Tokens: kept by the hash of their secret, listed without it.

use ah_model::limits::SEEN_EVERY_MS;
use ah_model::{Credentials, Cursor, NewToken, Token, TokenHash, TokenId, TokenRole, TokenSecret};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{all, everything, from_cursor, paged, race, refusal};
use crate::given_run::assert_refused;

fn token_id(text: &str) -> TokenId {
    text.parse().unwrap()
}

/// The hash of a secret that `seed` decides.
fn hash(id: &str, seed: u8) -> TokenHash {
    TokenSecret::new(token_id(id), [seed; 32]).hash()
}

pub(crate) fn new_token(id: &str) -> NewToken {
    NewToken {
        id: token_id(id),
        hash: hash(id, 1),
        role: TokenRole::Viewer,
        agent: None,
        name: None,
        expires_at: None,
    }
}

async fn kept(h: &dyn Harness, id: &str) -> Credentials {
    h.store().credentials(token_id(id)).await.unwrap()
}

pub async fn a_token_is_kept_with_its_hash(h: &mut dyn Harness) {
    for role in TokenRole::ALL {
        let new = NewToken {
            role,
            agent: (role == TokenRole::Agent).then(|| "mira".to_owned()),
            name: Some(format!("{role} ☃")),
            expires_at: Some(h.clock().now().plus_ms(5)),
            ..new_token(role.as_str())
        };
        let token = h.store().create_token(new.clone()).await.unwrap();
        let expected = Token {
            id: new.id,
            role,
            agent: new.agent,
            name: new.name,
            created_at: h.clock().now(),
            expires_at: new.expires_at,
            revoked_at: None,
            last_used_at: None,
        };
        assert_eq!(token, expected);
        let credentials = Credentials { token: expected, hash: new.hash };
        assert_eq!(kept(h, role.as_str()).await, credentials);
        h.reopen().await;
        assert_eq!(kept(h, role.as_str()).await, credentials);
    }
    let plain = h.store().create_token(new_token("plain")).await.unwrap();
    assert_eq!((plain.name, plain.expires_at, plain.agent), (None, None, None));
}

pub async fn a_taken_token_id_is_a_conflict_that_changes_nothing(h: &mut dyn Harness) {
    h.store().create_token(new_token("t1")).await.unwrap();
    let before = everything(h).await;
    let other = NewToken { hash: hash("t1", 2), role: TokenRole::Admin, ..new_token("t1") };
    for taken in [new_token("t1"), other] {
        let refused = h.store().create_token(taken).await;
        assert_refused(h, &before, refused, "conflict token t1").await;
    }
}

pub async fn bad_tokens_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    let bad = [
        (NewToken { role: TokenRole::Agent, ..new_token("t1") }, "agent"),
        (NewToken { agent: Some("mira".to_owned()), ..new_token("t1") }, "agent"),
        (NewToken { name: Some("a\0b".to_owned()), ..new_token("t1") }, "name"),
    ];
    let before = everything(h).await;
    for (new, field) in bad {
        let refused = h.store().create_token(new).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
}

pub async fn tokens_are_paged_by_id_each_once(h: &mut dyn Harness) {
    let ids = ["b", "A", "a", "a~2", "a-1", "~", "10", "9"];
    for id in ids {
        h.store().create_token(new_token(id)).await.unwrap();
    }
    let mut sorted = ids.map(token_id);
    sorted.sort();
    for size in [1, 3, 8, 50] {
        let store = h.store();
        let read = paged(size, |page| store.list_tokens(page)).await;
        let read: Vec<TokenId> = read.into_iter().map(|token| token.id).collect();
        assert_eq!(read, sorted, "in pages of {size}, by the bytes of the id");
    }
    let foreign = h.store().list_tokens(from_cursor(Cursor::Number(1))).await;
    assert_eq!(refusal(foreign), "invalid cursor");
}

pub async fn a_revoked_token_stays_listed_and_keeps_when(h: &mut dyn Harness) {
    let token = h.store().create_token(new_token("t1")).await.unwrap();
    h.clock().advance_ms(10);
    let at = h.clock().now();
    let revoked = h.store().revoke_token(token_id("t1")).await.unwrap();
    let expected = Token { revoked_at: Some(at), ..token };
    assert_eq!(revoked, expected);
    h.clock().advance_ms(10);
    let again = h.store().revoke_token(token_id("t1")).await.unwrap();
    assert_eq!(again, expected, "again is no change");
    let credentials = kept(h, "t1").await;
    assert_eq!(credentials, Credentials { token: expected.clone(), hash: hash("t1", 1) });
    assert!(!credentials.token.is_valid(h.clock().now()));
    assert_eq!(h.store().list_tokens(all()).await.unwrap().items, [expected]);
}

pub async fn uses_are_noted_now_and_then(h: &mut dyn Harness) {
    let every = i64::try_from(SEEN_EVERY_MS).unwrap();
    h.store().create_token(new_token("t1")).await.unwrap();
    let used = async |h: &dyn Harness| {
        h.store().token_used(token_id("t1")).await.unwrap();
        kept(h, "t1").await.token.last_used_at
    };
    let first = h.clock().now();
    assert_eq!(used(h).await, Some(first));
    h.clock().advance_ms(every - 1);
    assert_eq!(used(h).await, Some(first), "too early to be noted");
    h.clock().advance_ms(2);
    let second = h.clock().now();
    assert_eq!(used(h).await, Some(second));
    h.clock().advance_ms(-10 * every);
    assert_eq!(used(h).await, Some(second), "a clock that went back moves nothing back");
}

pub async fn an_unknown_token_is_not_found_by_any_verb(h: &mut dyn Harness) {
    let store = h.store();
    assert_eq!(refusal(store.credentials(token_id("t1")).await), "not-found token t1");
    assert_eq!(refusal(store.revoke_token(token_id("t1")).await), "not-found token t1");
    assert_eq!(refusal(store.token_used(token_id("t1")).await), "not-found token t1");
    assert_eq!(store.list_tokens(all()).await.unwrap().items, []);
}

pub async fn of_racing_tokens_of_one_id_one_wins(h: &mut dyn Harness) {
    let answers = race(h, 6, |store, thread| {
        let hash = hash("t1", thread.try_into().unwrap());
        let name = Some(thread.to_string());
        block_on(store.create_token(NewToken { hash, name, ..new_token("t1") }))
    });
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for error in lost {
        assert_eq!(refusal(error), "conflict token t1");
    }
    let winner = won.into_iter().next().unwrap().unwrap();
    let seed = winner.name.as_deref().unwrap().parse().unwrap();
    let expected = Credentials { token: winner, hash: hash("t1", seed) };
    assert_eq!(kept(h, "t1").await, expected);
}
