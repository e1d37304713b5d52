//! Repositories: known by their root, or by their remote URL when they have none.

use ah_model::{Cursor, NewRepo, Repo, RepoMarks, Vcs};
use ah_store::Clock;

use crate::Harness;
use crate::given::{all, create, from_cursor, id, paged, refusal, remote, repo};

pub async fn a_repo_is_numbered_once_and_found_by_its_number(h: &mut dyn Harness) {
    let store = h.store();
    let put = store.put_repo(repo("/r/Ünïcode ☃")).await.unwrap();
    let expected = Repo {
        id: put.id,
        found: repo("/r/Ünïcode ☃"),
        marks: RepoMarks::default(),
        created_at: h.clock().now(),
        moved_at: None,
    };
    assert_eq!(put, expected);
    h.clock().advance_ms(1_000);
    assert_eq!(store.put_repo(repo("/r/Ünïcode ☃")).await.unwrap(), expected);
    h.reopen().await;
    assert_eq!(h.store().repo(put.id).await.unwrap(), expected);
    assert_eq!(h.store().list_repos(all()).await.unwrap().items, [expected]);
}

pub async fn a_known_repo_takes_what_is_new_and_keeps_the_rest(h: &mut dyn Harness) {
    let store = h.store();
    let first = store.put_repo(repo("/r")).await.unwrap();
    let full = NewRepo {
        vcs: Vcs::Jj,
        remote_url: Some("https://example.org/r".to_owned()),
        default_branch: Some("main".to_owned()),
        ..repo("/r")
    };
    let full_row = Repo { found: full.clone(), ..first };
    assert_eq!(store.put_repo(full.clone()).await.unwrap(), full_row);

    let less = store.put_repo(repo("/r")).await.unwrap();
    let found = NewRepo { vcs: Vcs::Git, ..full };
    assert_eq!(less, Repo { found, ..full_row });
}

pub async fn clones_of_one_remote_are_apart_and_a_remote_alone_is_one(h: &mut dyn Harness) {
    let store = h.store();
    let url = "https://example.org/r";
    let clone = |path: &str| NewRepo { remote_url: Some(url.to_owned()), ..repo(path) };
    let one = store.put_repo(clone("/r/1")).await.unwrap();
    let two = store.put_repo(clone("/r/2")).await.unwrap();
    let alone = store.put_repo(remote(url)).await.unwrap();
    let other = store.put_repo(remote("https://example.org/R")).await.unwrap();
    let again = NewRepo { default_branch: Some("main".to_owned()), ..remote(url) };
    let again = store.put_repo(again).await.unwrap();
    assert_eq!(again.id, alone.id);
    assert_eq!(store.list_repos(all()).await.unwrap().items, [one, two, again, other]);
}

pub async fn a_session_shows_its_repo_as_it_is_known_now(h: &mut dyn Harness) {
    let mut session = create(h, "s1").await;
    let found =
        NewRepo { vcs: Vcs::Hg, default_branch: Some("trunk".to_owned()), ..repo("/srv/harbor") };
    let row = h.store().put_repo(found.clone()).await.unwrap();
    assert_eq!(session.repo_id, Some(row.id));
    session.repo = found;
    assert_eq!(h.store().session(id("s1")).await.unwrap(), session);

    let other = create(h, "s2").await;
    let branch = other.repo.default_branch;
    assert_eq!(branch.as_deref(), Some("trunk"), "what is known is kept");
}

pub async fn repos_are_paged_by_number_each_once(h: &mut dyn Harness) {
    let store = h.store();
    let mut put = Vec::new();
    for path in ["/z", "/a", "/m", "/A", "/ä"] {
        put.push(store.put_repo(repo(path)).await.unwrap());
    }
    for size in [1, 2, 3, 5] {
        assert_eq!(paged(size, |page| store.list_repos(page)).await, put, "size {size}");
    }
    let page = from_cursor(Cursor::Text("a".to_owned()));
    assert_eq!(refusal(store.list_repos(page).await), "invalid cursor");
}

pub async fn a_repo_with_sessions_stays_and_one_without_can_go(h: &mut dyn Harness) {
    let store = h.store();
    let number = create(h, "s1").await.repo_id.unwrap();
    let refused = refusal(store.remove_repo(number).await);
    assert_eq!(refused, format!("conflict repo {number}"));
    assert_eq!(store.repo(number).await.unwrap().found, repo("/srv/harbor"));

    store.delete_session(id("s1")).await.unwrap();
    store.remove_repo(number).await.unwrap();
    let missing = format!("not-found repo {number}");
    assert_eq!(refusal(store.repo(number).await), missing);
    assert_eq!(refusal(store.remove_repo(number).await), missing);
    assert_eq!(refusal(store.repo(i64::MAX).await), format!("not-found repo {}", i64::MAX));
}

pub async fn a_repo_without_place_or_with_bad_text_is_refused(h: &mut dyn Harness) {
    let store = h.store();
    let long = "x".repeat(4 * 1024 + 1);
    let nowhere = NewRepo { root_path: None, ..repo("/r") };
    let branch = NewRepo { default_branch: Some("a\0".to_owned()), ..repo("/r") };
    for (bad, field) in [
        (nowhere, "repo"),
        (repo("/r\0"), "root path"),
        (repo(&long), "root path"),
        (remote(&long), "remote URL"),
        (remote("https://\0"), "remote URL"),
        (branch, "default branch"),
    ] {
        assert_eq!(refusal(store.put_repo(bad).await), format!("invalid {field}"));
    }
    assert_eq!(store.list_repos(all()).await.unwrap().items, []);
}
