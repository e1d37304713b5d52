//! Repositories that move: known again by their marks, or said to be elsewhere.

use ah_model::{
    ChangeKind, DraftFields, Earnest, FeedCursor, Happening, NewRepo, NewSession, NewTask,
    PageLimit, Relocated, Relocation, Repo, RepoFate, RepoMarks, RepoMove, RepoPath, RepoSighting,
    Session, Sighted, Timestamp, Vcs,
};
use ah_store::{Clock, Store, block_on};

use crate::Harness;
use crate::given::{all, draft_fields, id, kind, new_task, race, refusal, repo};

const PRINT: &str = "git:0a1b";

fn marks(host: &str) -> RepoMarks {
    RepoMarks {
        fingerprint: Some(PRINT.to_owned()),
        remote_key: Some("example.org/r".to_owned()),
        host: Some(host.to_owned()),
    }
}

fn sighting(path: &str, gone: &[&str]) -> RepoSighting {
    let gone = gone.iter().map(|path| (*path).to_owned()).collect();
    RepoSighting { found: repo(path), marks: marks("here"), gone }
}

async fn see(store: &dyn Store, path: &str, gone: &[&str]) -> Sighted {
    store.see_repo(sighting(path, gone)).await.unwrap()
}

/// A session that works in `dir` of the repository at `root`.
async fn session(store: &dyn Store, name: &str, root: &str, dir: &str) -> Session {
    let mut new = NewSession::new(repo(root), kind("codex"));
    new.id = Some(id(name));
    new.details.project_dir = Some(dir.to_owned());
    store.create_session(new).await.unwrap()
}

async fn dir_of(store: &dyn Store, name: &str) -> String {
    store.session(id(name)).await.unwrap().details.project_dir.unwrap()
}

fn relocation(from: &str, to: &str) -> Relocation {
    let (from, to) = (from.to_owned(), to.to_owned());
    Relocation { from, to, host: Some("here".to_owned()), earnest: Earnest::Change }
}

fn step(id: i64, from: &str, to: &str, joined: Option<i64>) -> RepoMove {
    RepoMove { id, from: from.to_owned(), to: to.to_owned(), joined }
}

fn was(path: &str, host: Option<&str>, since: Timestamp, until: Timestamp) -> RepoPath {
    RepoPath { path: path.to_owned(), host: host.map(str::to_owned), since, until }
}

/// What the feed says behind `after`, but for events: the kind and what it is about.
async fn changes(store: &dyn Store, after: FeedCursor) -> Vec<(ChangeKind, String)> {
    let entries = store.feed(after, PageLimit::MAX).await.unwrap();
    let said = entries.into_iter().filter_map(|entry| match entry.happening {
        Happening::Event(_) => None,
        Happening::Change(change) => {
            let about = change.session_id.map(|id| id.to_string()).or(change.subject);
            Some((change.kind, about.unwrap_or_default()))
        }
    });
    said.collect()
}

pub async fn a_repo_seen_for_the_first_time_is_new_and_keeps_its_marks(h: &mut dyn Harness) {
    let seen = see(&*h.store(), "/a", &[]).await;
    let expected = Repo {
        id: seen.repo.id,
        found: repo("/a"),
        marks: marks("here"),
        created_at: h.clock().now(),
        moved_at: None,
    };
    assert_eq!(seen, Sighted { repo: expected.clone(), fate: RepoFate::New });
    h.reopen().await;
    let known = Sighted { repo: expected.clone(), fate: RepoFate::Known };
    assert_eq!(see(&*h.store(), "/a", &[]).await, known);
    assert_eq!(
        h.store().repos_like(PRINT.to_owned()).await.unwrap(),
        std::slice::from_ref(&expected)
    );
    assert_eq!(h.store().repos_like("git:0a1".to_owned()).await.unwrap(), []);
    assert_eq!(h.store().repo_paths(expected.id).await.unwrap(), []);
}

pub async fn a_repo_from_before_gets_its_marks_when_it_is_seen(h: &mut dyn Harness) {
    let store = h.store();
    let before = store.put_repo(repo("/a")).await.unwrap();
    let seen = see(&*store, "/a", &[]).await;
    let marked = Repo { marks: marks("here"), ..before };
    assert_eq!(seen, Sighted { repo: marked.clone(), fate: RepoFate::Known });

    let less = RepoSighting { marks: RepoMarks::default(), ..sighting("/a", &[]) };
    assert_eq!(store.see_repo(less).await.unwrap().repo, marked, "what is known is kept");
    let mut other = sighting("/a", &[]);
    other.marks.fingerprint = Some("git:other".to_owned());
    other.marks.remote_key = Some("example.org/renamed".to_owned());
    let seen = store.see_repo(other).await.unwrap().repo;
    let remote_key = Some("example.org/renamed".to_owned());
    let expected = RepoMarks { remote_key, ..marks("here") };
    assert_eq!(seen.marks, expected, "sessions belong to what was there first");
}

pub async fn a_repo_that_is_gone_from_its_path_is_known_at_its_new_one(h: &mut dyn Harness) {
    let store = h.store();
    let old = see(&*store, "/a", &[]).await.repo;
    h.clock().advance_ms(1_000);
    let now = h.clock().now();
    let seen = see(&*store, "/b", &["/a"]).await;
    let moved = Repo { found: repo("/b"), moved_at: Some(now), ..old.clone() };
    let fate = RepoFate::Moved { from: "/a".to_owned() };
    assert_eq!(seen, Sighted { repo: moved.clone(), fate });
    assert_eq!(store.list_repos(all()).await.unwrap().items, std::slice::from_ref(&moved));
    let former = was("/a", Some("here"), old.created_at, now);
    assert_eq!(store.repo_paths(old.id).await.unwrap(), [former]);
    for path in ["/a", "/a/deep/er", "/b", "/b/"] {
        assert_eq!(store.repo_at(path.to_owned()).await.unwrap(), Some(moved.clone()), "{path}");
    }
    for path in ["/ab", "/c", "/", ""] {
        assert_eq!(store.repo_at(path.to_owned()).await.unwrap(), None, "{path}");
    }
    h.reopen().await;
    let known = Sighted { repo: moved, fate: RepoFate::Known };
    assert_eq!(see(&*h.store(), "/b", &["/a"]).await, known);
}

pub async fn the_sessions_of_a_moved_repo_follow_and_the_feed_tells(h: &mut dyn Harness) {
    let store = h.store();
    let number = see(&*store, "/a", &[]).await.repo.id;
    session(&*store, "at", "/a", "/a").await;
    session(&*store, "below", "/a", "/a/sub").await;
    session(&*store, "beside", "/a", "/ab").await;
    session(&*store, "other", "/a/inner", "/a/inner").await;
    let end = store.feed_end().await.unwrap();
    see(&*store, "/b/c", &["/a"]).await;
    for (name, expected) in
        [("at", "/b/c"), ("below", "/b/c/sub"), ("beside", "/ab"), ("other", "/a/inner")]
    {
        assert_eq!(dir_of(&*store, name).await, expected, "{name}");
    }
    assert_eq!(store.session(id("at")).await.unwrap().repo, repo("/b/c"));
    let updated = |name: &str| (ChangeKind::SessionUpdated, name.to_owned());
    let moved = (ChangeKind::RepoMoved, number.to_string());
    assert_eq!(changes(&*store, end).await, [updated("at"), updated("below"), moved]);
}

pub async fn a_second_clone_is_another_repo(h: &mut dyn Harness) {
    let store = h.store();
    let one = see(&*store, "/a", &[]).await.repo;
    let two = see(&*store, "/b", &[]).await;
    assert_eq!(two.fate, RepoFate::New);
    let mut fork = sighting("/c", &["/a", "/b"]);
    fork.marks.remote_key = Some("example.org/fork".to_owned());
    let fork = store.see_repo(fork).await.unwrap();
    assert_eq!(fork.fate, RepoFate::New, "another remote");
    let listed = store.list_repos(all()).await.unwrap().items;
    assert_eq!(listed, [one, two.repo, fork.repo]);
}

pub async fn of_two_that_are_gone_none_is_guessed(h: &mut dyn Harness) {
    let store = h.store();
    let one = see(&*store, "/a", &[]).await.repo.id;
    let two = see(&*store, "/b", &[]).await.repo.id;
    let seen = see(&*store, "/c", &["/a", "/b"]).await;
    assert_eq!(seen.fate, RepoFate::Unclear { like: vec![one, two] });
    assert_eq!(seen.repo.found, repo("/c"));
    assert_eq!(see(&*store, "/c", &["/a", "/b"]).await.fate, RepoFate::Known);
    assert_eq!(store.list_repos(all()).await.unwrap().items.len(), 3);
}

pub async fn a_repo_of_another_machine_did_not_move(h: &mut dyn Harness) {
    let store = h.store();
    see(&*store, "/a", &[]).await;
    let there = RepoSighting { marks: marks("there"), ..sighting("/b", &["/a"]) };
    assert_eq!(store.see_repo(there).await.unwrap().fate, RepoFate::New);
}

pub async fn a_repo_that_moves_back_has_both_paths_behind_it(h: &mut dyn Harness) {
    let store = h.store();
    let first = see(&*store, "/a", &[]).await.repo;
    h.clock().advance_ms(10);
    let there = h.clock().now();
    see(&*store, "/b", &["/a"]).await;
    h.clock().advance_ms(10);
    let back = h.clock().now();
    let seen = see(&*store, "/a", &["/b"]).await;
    assert_eq!(seen.fate, RepoFate::Moved { from: "/b".to_owned() });
    assert_eq!(seen.repo, Repo { moved_at: Some(back), ..first.clone() });
    let former =
        [was("/b", Some("here"), there, back), was("/a", Some("here"), first.created_at, there)];
    assert_eq!(store.repo_paths(first.id).await.unwrap(), former);
    assert_eq!(store.repo_at("/b".to_owned()).await.unwrap(), Some(seen.repo));
}

pub async fn a_path_finds_what_is_there_before_what_was(h: &mut dyn Harness) {
    let store = h.store();
    let moved = see(&*store, "/a", &[]).await.repo.id;
    see(&*store, "/b", &["/a"]).await;
    let at = async |path: &str| store.repo_at(path.to_owned()).await.unwrap().map(|it| it.id);
    assert_eq!(at("/a/x").await, Some(moved));
    let new = store.put_repo(repo("/a")).await.unwrap().id;
    assert_eq!(at("/a/x").await, Some(new));
    let inner = store.put_repo(repo("/a/x")).await.unwrap().id;
    assert_eq!(at("/a/x/y").await, Some(inner), "the nearest");

    store.remove_repo(new).await.unwrap();
    assert_eq!(at("/a/y").await, Some(moved));
    store.remove_repo(moved).await.unwrap();
    assert_eq!(at("/a/y").await, None, "with it goes where it was");
    assert_eq!(refusal(store.repo_paths(moved).await), format!("not-found repo {moved}"));
}

pub async fn a_directory_without_version_control_is_only_itself(h: &mut dyn Harness) {
    let store = h.store();
    let plain = NewRepo { vcs: Vcs::None, ..repo("/home") };
    let plain = store.put_repo(plain).await.unwrap();
    assert_eq!(store.repo_at("/home".to_owned()).await.unwrap(), Some(plain));
    assert_eq!(store.repo_at("/home/dev".to_owned()).await.unwrap(), None);
}

pub async fn bad_sightings_and_relocations_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    let store = h.store();
    let long = "x".repeat(5 * 1024);
    let mut print = sighting("/a", &[]);
    print.marks.fingerprint = Some(long.clone());
    let mut nowhere = sighting("/a", &[]);
    (nowhere.found.root_path, nowhere.found.remote_url) = (None, Some("u".to_owned()));
    for (bad, field) in [
        (print, "fingerprint"),
        (nowhere, "root path"),
        (sighting("/a", &["\0"]), "gone"),
        (sighting("/a", &["/b"; 1_001]), "gone"),
        (sighting("/a\0", &[]), "root path"),
    ] {
        assert_eq!(refusal(store.see_repo(bad).await), format!("invalid {field}"));
    }
    assert_eq!(store.list_repos(all()).await.unwrap().items, []);

    store.put_repo(repo("/a/b")).await.unwrap();
    let far = format!("/{}", "x".repeat(1022));
    for (from, to, field) in
        [("/a", "/a/b", "to"), ("/", "/b", "from"), ("/a", "", "to"), ("/a", &far, "root path")]
    {
        let refused = refusal(store.relocate(relocation(from, to)).await);
        assert_eq!(refused, format!("invalid {field}"), "{from} {to}");
    }
    assert_eq!(store.list_repos(all()).await.unwrap().items[0].found, repo("/a/b"));
}

pub async fn a_relocated_directory_takes_all_below_it_along(h: &mut dyn Harness) {
    let store = h.store();
    let outer = store.put_repo(repo("/old/a")).await.unwrap();
    let inner = store.put_repo(repo("/old/a/inner")).await.unwrap();
    let beside = store.put_repo(repo("/old/ab")).await.unwrap();
    session(&*store, "s1", "/old/a", "/old/a/sub").await;
    session(&*store, "s2", "/old/ab", "/old/ab").await;
    session(&*store, "s3", "/old/ab", "/old/a/inner").await;
    let batch = NewTask {
        repo: repo("/old/a/inner"),
        project_dir: Some("/old/a/inner/x".to_owned()),
        ..new_task("t")
    };
    let tasked = store.create_task(batch).await.unwrap().tasks[0].session_id.clone();
    let draft = store.save_draft(None, draft_of("/old/a")).await.unwrap();
    let stays = store.save_draft(None, draft_of("https://host/old/a")).await.unwrap();
    let end = store.feed_end().await.unwrap();
    h.clock().advance_ms(1_000);
    let now = h.clock().now();

    let done = store.relocate(relocation("/old/a", "/new")).await.unwrap();
    let repos = vec![
        step(outer.id, "/old/a", "/new", None),
        step(inner.id, "/old/a/inner", "/new/inner", None),
    ];
    assert_eq!(done, Relocated { repos, sessions: 3, tasks: 1, drafts: 1 });
    let host = RepoMarks { host: Some("here".to_owned()), ..RepoMarks::default() };
    let placed = |known: &Repo, path: &str| Repo {
        found: repo(path),
        marks: host.clone(),
        moved_at: Some(now),
        ..known.clone()
    };
    let listed = store.list_repos(all()).await.unwrap().items;
    assert_eq!(listed, [placed(&outer, "/new"), placed(&inner, "/new/inner"), beside]);
    for (name, dir) in [
        ("s1", "/new/sub"),
        ("s2", "/old/ab"),
        ("s3", "/new/inner"),
        (tasked.as_str(), "/new/inner/x"),
    ] {
        assert_eq!(dir_of(&*store, name).await, dir, "{name}");
    }
    assert_eq!(store.draft(draft.id).await.unwrap().fields, draft_of("/new"));
    assert_eq!(store.draft(stays.id.clone()).await.unwrap(), stays);
    let mut told = changes(&*store, end).await;
    told.sort();
    let updated = |name: &str| (ChangeKind::SessionUpdated, name.to_owned());
    let moved = |id: i64| (ChangeKind::RepoMoved, id.to_string());
    let mut expected =
        [updated("s1"), updated("s3"), updated(tasked.as_str()), moved(outer.id), moved(inner.id)];
    expected.sort();
    assert_eq!(told, expected);
}

fn draft_of(repository: &str) -> DraftFields {
    DraftFields { repository: repository.to_owned(), ..draft_fields("d") }
}

pub async fn a_plan_of_a_relocation_changes_nothing_and_a_second_one_finds_nothing(
    h: &mut dyn Harness,
) {
    let store = h.store();
    let known = store.put_repo(repo("/a")).await.unwrap();
    session(&*store, "s1", "/a", "/a/sub").await;
    let end = store.feed_end().await.unwrap();
    let repos = vec![step(known.id, "/a", "/b", None)];
    let expected = Relocated { repos, sessions: 1, ..Relocated::default() };
    let plan = Relocation { earnest: Earnest::Plan, ..relocation("/a/", "/b/") };
    assert_eq!(store.relocate(plan).await.unwrap(), expected);
    assert_eq!(store.list_repos(all()).await.unwrap().items, [known]);
    assert_eq!(dir_of(&*store, "s1").await, "/a/sub");
    assert_eq!(store.feed_end().await.unwrap(), end);

    assert_eq!(store.relocate(relocation("/a/", "/b/")).await.unwrap(), expected);
    let nothing = Relocated::default();
    assert_eq!(store.relocate(relocation("/a", "/b")).await.unwrap(), nothing);
    assert_eq!(dir_of(&*store, "s1").await, "/b/sub");
}

pub async fn a_repo_that_comes_to_a_known_place_is_joined_with_it(h: &mut dyn Harness) {
    let store = h.store();
    let plain = NewRepo { vcs: Vcs::None, ..repo("/a") };
    let old = store.put_repo(plain).await.unwrap();
    session(&*store, "old", "/a", "/a").await;
    let found = NewRepo { default_branch: Some("main".to_owned()), ..repo("/b") };
    let seen = RepoSighting { found: found.clone(), ..sighting("/b", &[]) };
    let new = store.see_repo(seen).await.unwrap().repo;
    session(&*store, "new", "/b", "/b/x").await;
    store.put_repo(NewRepo { vcs: Vcs::None, ..repo("/a") }).await.unwrap();
    h.clock().advance_ms(1_000);
    let now = h.clock().now();

    let done = store.relocate(relocation("/a", "/b")).await.unwrap();
    let repos = vec![step(old.id, "/a", "/b", Some(new.id))];
    assert_eq!(done, Relocated { repos, sessions: 2, tasks: 0, drafts: 0 });
    let whole = Repo { found, marks: marks("here"), moved_at: Some(now), ..old.clone() };
    assert_eq!(store.list_repos(all()).await.unwrap().items, [whole]);
    for (name, dir) in [("old", "/b"), ("new", "/b/x")] {
        let session = store.session(id(name)).await.unwrap();
        let shown = (session.repo_id, session.details.project_dir.as_deref());
        assert_eq!(shown, (Some(old.id), Some(dir)), "{name}");
    }
    let host = None;
    assert_eq!(store.repo_paths(old.id).await.unwrap(), [was("/a", host, old.created_at, now)]);
    assert_eq!(refusal(store.repo(new.id).await), format!("not-found repo {}", new.id));
}

pub async fn a_relocation_upwards_finds_its_places_free(h: &mut dyn Harness) {
    let store = h.store();
    let one = store.put_repo(repo("/a/b")).await.unwrap().id;
    let two = store.put_repo(repo("/a/b/b")).await.unwrap().id;
    let done = store.relocate(relocation("/a/b", "/a")).await.unwrap();
    assert_eq!(done.repos, [step(one, "/a/b", "/a", None), step(two, "/a/b/b", "/a/b", None)]);
    let roots: Vec<_> = store.list_repos(all()).await.unwrap().items;
    let roots: Vec<_> = roots.into_iter().map(|repo| repo.found.root_path.unwrap()).collect();
    assert_eq!(roots, ["/a", "/a/b"]);
}

pub async fn of_racing_sightings_of_a_moved_repo_one_moves_it(h: &mut dyn Harness) {
    let store = h.store();
    let number = see(&*store, "/a", &[]).await.repo.id;
    session(&*store, "s1", "/a", "/a").await;
    let fates = race(h, 8, |store, _| block_on(see(&*store, "/b", &["/a"])).fate);
    let store = h.store();
    let moved = fates.iter().filter(|fate| matches!(fate, RepoFate::Moved { .. })).count();
    let known = fates.iter().filter(|fate| **fate == RepoFate::Known).count();
    assert_eq!((moved, known), (1, 7));
    let listed = store.list_repos(all()).await.unwrap().items;
    assert_eq!(listed.iter().map(|repo| repo.id).collect::<Vec<_>>(), [number]);
    assert_eq!(store.repo_paths(number).await.unwrap().len(), 1);
}
