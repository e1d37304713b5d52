//! Workspaces, for either answer of the capability.

use ah_model::{Cursor, Workspace};
use ah_store::Clock;

use crate::Harness;
use crate::given::{all, everything, from_cursor, new_session, new_task, paged, refusal};

const UNSUPPORTED: &str = "unsupported Workspaces";

pub async fn workspaces_are_kept_by_name_or_refused_as_unsupported(h: &mut dyn Harness) {
    let store = h.store();
    let made = store.create_workspace("Ärger".to_owned(), Some("x-1".to_owned())).await;
    if !store.capabilities().workspaces {
        assert_eq!(refusal(made), UNSUPPORTED);
        assert_eq!(refusal(store.list_workspaces(all()).await), UNSUPPORTED);
        return;
    }
    let made = made.unwrap();
    let expected = Workspace {
        id: made.id,
        name: "Ärger".to_owned(),
        external_id: Some("x-1".to_owned()),
        created_at: h.clock().now(),
    };
    assert_eq!(made, expected);
    let again = store.create_workspace("Ärger".to_owned(), None).await;
    assert_eq!(refusal(again), "conflict workspace Ärger");
    h.reopen().await;
    assert_eq!(h.store().list_workspaces(all()).await.unwrap().items, [expected]);
}

pub async fn workspaces_are_paged_by_number_each_once(h: &mut dyn Harness) {
    let store = h.store();
    let mut made = Vec::new();
    for name in ["z", "a", "m", "A"] {
        let workspace = store.create_workspace(name.to_owned(), Some("same".to_owned())).await;
        match workspace {
            Ok(workspace) => made.push(workspace),
            Err(error) => assert_eq!(refusal::<()>(Err(error)), UNSUPPORTED),
        }
    }
    let page = from_cursor(Cursor::Text("a".to_owned()));
    let refused = refusal(store.list_workspaces(page).await);
    if !store.capabilities().workspaces {
        assert_eq!(refused, UNSUPPORTED);
        return;
    }
    assert_eq!(refused, "invalid cursor");
    for size in [1, 2, 3, 4] {
        assert_eq!(paged(size, |page| store.list_workspaces(page)).await, made, "size {size}");
    }
}

pub async fn a_bad_workspace_name_is_refused(h: &mut dyn Harness) {
    let store = h.store();
    let supported = store.capabilities().workspaces;
    let expected = |field: &str| match supported {
        true => format!("invalid {field}"),
        false => UNSUPPORTED.to_owned(),
    };
    for bad in ["", " ", "a\0", &"x".repeat(129)] {
        let made = store.create_workspace(bad.to_owned(), None).await;
        assert_eq!(refusal(made), expected("workspace name"), "{bad:?}");
    }
    let made = store.create_workspace("w".to_owned(), Some("\0".to_owned())).await;
    assert_eq!(refusal(made), expected("externalId"));
    if supported {
        assert_eq!(store.list_workspaces(all()).await.unwrap().items, []);
    }
}

pub async fn a_session_and_a_task_take_a_known_workspace_only(h: &mut dyn Harness) {
    let store = h.store();
    let mut session = new_session("s1");
    session.workspace = Some("team".to_owned());
    let mut task = new_task("do it");
    task.workspace = Some("team".to_owned());
    let unknown = match store.capabilities().workspaces {
        true => "not-found workspace team",
        false => UNSUPPORTED,
    };
    let before = everything(h).await;
    assert_eq!(refusal(store.create_session(session.clone()).await), unknown);
    assert_eq!(refusal(store.create_task(task.clone()).await), unknown);
    assert_eq!(everything(h).await, before, "nothing is registered by a refused call");

    if store.capabilities().workspaces {
        store.create_workspace("team".to_owned(), None).await.unwrap();
        let made = store.create_session(session).await.unwrap();
        assert_eq!(made.workspace.as_deref(), Some("team"));
        let fork = store.fork_session(made.id, <_>::default()).await.unwrap();
        assert_eq!(fork.workspace.as_deref(), Some("team"));
        let batch = store.create_task(task).await.unwrap();
        let started = store.session(batch.session_ids[0].clone()).await.unwrap();
        assert_eq!(started.workspace.as_deref(), Some("team"));
    }
}

pub async fn a_session_with_a_bad_workspace_name_is_invalid_on_every_store(h: &mut dyn Harness) {
    let mut session = new_session("s1");
    session.workspace = Some(String::new());
    assert_eq!(refusal(h.store().create_session(session).await), "invalid workspace name");
}
