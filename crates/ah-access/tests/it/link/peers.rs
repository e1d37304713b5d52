//! Who is let in over a link, also when that changes while links live.

use ah_access::link::{Closed, DialError, Link};

use super::given::{Place, terms};
use super::{CONTROL_BACK, WAYS};
use crate::given::{Ca, Leaf, days, uri};
use crate::samples;

/// What an executor hears whose link is closed, however far it has come.
async fn heard(dialled: Result<Link, DialError>) -> Closed {
    match dialled {
        Ok(link) => link.closed().await,
        Err(DialError::Closed { closed, .. }) => closed,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn an_executor_learns_that_it_is_not_let_in() {
    for way in WAYS {
        let place = Place::new();
        let leaf = Leaf::named(vec![uri("spiffe://example.com/ah/agent/node-1")]);
        let stranger = terms(&place.ca, &leaf, &place.clock);
        let closed = heard(place.dialer.dial(&place.host(), way, &stranger).await).await;
        let Closed::NotLetIn { detail } = closed else { panic!("{closed:?}") };
        assert!(detail.contains("does not let the name in our certificate in"), "{detail}");
        // Nobody else notices.
        place.meet(way).await;
    }
}

#[tokio::test]
async fn an_executor_refuses_an_access_point_that_is_none() {
    for way in WAYS {
        let place = Place::new();
        let other = terms(&Ca::new(), &Leaf::executor(), &place.clock);
        let error = place.dialer.dial(&place.host(), way, &other).await.unwrap_err();
        assert!(matches!(error, DialError::Refused { .. }), "{error}");
    }
}

#[tokio::test]
async fn peers_that_live_are_checked_again() {
    for way in WAYS {
        let place = Place::new();
        let (accepted, dialled) = place.meet(way).await;
        assert_eq!(place.listener.recheck(), []);
        let longer = Leaf { until: days(60), ..Leaf::executor() };
        let longer = terms(&place.ca, &longer, &place.clock);
        let (kept, _dialled) = place.meet_as(way, &longer).await;
        *place.clock.0.lock().unwrap() = days(40);
        let refused = place.listener.recheck();
        let codes: Vec<_> = refused.iter().map(|peer| peer.refusal.code()).collect();
        assert_eq!(codes, ["expired"]);
        let Closed::There(reason) = dialled.closed().await else { panic!() };
        assert_eq!(reason.word, "expired");
        assert!(matches!(accepted.closed().await, Closed::Here(_)));
        assert_eq!(kept.why_closed(), None);
    }
}

#[tokio::test]
async fn a_new_identity_is_shown_to_whoever_comes_next() {
    for way in WAYS {
        let place = Place::new();
        let (_accepted, before) = place.meet(way).await;
        let renewed = Leaf { serial: 0x9999, ..Leaf::server() };
        place.listener.set_terms(terms(&place.ca, &renewed, &place.clock)).unwrap();
        let (_accepted, after) = place.meet(way).await;
        assert_ne!(before.chain(), after.chain());
        let (mut send, _receive) = before.open(CONTROL_BACK).await.unwrap();
        send.send(&samples::hello()).await.unwrap();
        assert_eq!(before.why_closed(), None);
    }
}

#[tokio::test]
async fn a_listener_that_is_closed_says_so_to_everybody() {
    for way in WAYS {
        let place = Place::new();
        let (_accepted, dialled) = place.meet(way).await;
        place.listener.close("shutdown", "the machine is updated").await;
        let Closed::There(reason) = dialled.closed().await else { panic!() };
        assert_eq!(reason.to_string(), "shutdown: the machine is updated");
        assert!(place.listener.accept().await.is_none());
    }
}
