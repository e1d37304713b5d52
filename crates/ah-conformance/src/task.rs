//! Tasks: one per session, joined by their batch, with a created session and a pending run each.

use ah_model::{
    Cursor, Delivery, Demands, Execution, Multiplexer, NewTask, RawJson, RunKind, RunParameters,
    RunStatus, RuntimeSpec, RuntimeType, Session, SessionDetails, SessionStatus, Task, TaskFilter,
    WorkingCopy, limits,
};
use ah_store::Clock;

use crate::Harness;
use crate::given::{
    all, everything, from_cursor, id, kind, labels, new_session, new_task, paged, refusal, repo,
    set_status,
};

fn full_task() -> NewTask {
    NewTask {
        prompt: "  Fix the ☃ parser\nand more\n".to_owned(),
        agents: vec![kind("codex@2"), kind("claude-code")],
        instances: 2,
        repo: repo("/r"),
        runtime: RuntimeSpec { kind: RuntimeType::Disabled, devcontainer_path: None },
        workspace: None,
        branch: Some("fix/parser".to_owned()),
        delivery: Some(Delivery::Pr),
        labels: labels(&[("team", "core"), ("x", "")]),
        project_dir: Some("/r/sub".to_owned()),
        execution: None,
    }
}

pub async fn a_task_says_how_its_runs_are_carried_out(h: &mut dyn Harness) {
    let demands = Demands { hostname: Some("h".to_owned()), ..Demands::default() };
    let execution = Execution {
        demands: demands.clone(),
        by_kind: true,
        working_copy: WorkingCopy::Worktree,
        multiplexer: Some(Multiplexer::Tmux),
    };
    let new = NewTask { execution: Some(execution), ..full_task() };
    let batch = h.store().create_task(new.clone()).await.unwrap();
    h.reopen().await;
    for (task, run) in batch.tasks.into_iter().zip(batch.run_ids) {
        let run = h.store().run(run).await.unwrap();
        let agent = Some(task.agent.name);
        assert_eq!(run.demands, Demands { agent: agent.clone(), ..demands.clone() });
        let expected = RunParameters {
            prompt: new.prompt.clone(),
            agent,
            working_copy: WorkingCopy::Worktree,
            branch: new.branch.clone(),
            multiplexer: Some(Multiplexer::Tmux),
        };
        assert_eq!(RunParameters::read(&run.parameters).unwrap(), expected);
    }
}

pub async fn a_task_makes_a_session_and_a_pending_run_per_agent_and_instance(h: &mut dyn Harness) {
    let store = h.store();
    let new = full_task();
    let batch = store.create_task(new.clone()).await.unwrap();
    h.reopen().await;
    let store = h.store();
    let repo_id = store.list_repos(all()).await.unwrap().items[0].id;
    assert_eq!((batch.tasks.len(), batch.session_ids.len(), batch.run_ids.len()), (4, 4, 4));
    for (index, planned) in new.sessions().into_iter().enumerate() {
        let session_id = batch.session_ids[index].clone();
        let task = Task {
            id: batch.tasks[index].id,
            session_id: session_id.clone(),
            batch_id: batch.id.clone(),
            prompt: new.prompt.clone(),
            branch: new.branch.clone(),
            delivery: new.delivery,
            instances: 2,
            labels: new.labels.clone(),
            created_at: h.clock().now(),
            agent: planned.agent.clone(),
            status: SessionStatus::Created,
        };
        assert_eq!(batch.tasks[index], task);
        assert_eq!(store.task(task.id.unwrap()).await.unwrap(), task);
        let session = Session::created(planned, session_id.clone(), repo_id, h.clock().now());
        assert_eq!(store.session(session_id.clone()).await.unwrap(), session);
        assert_eq!(session.title.as_deref(), Some("Fix the ☃ parser"));
        assert_eq!(
            session.details,
            SessionDetails { project_dir: Some("/r/sub".to_owned()), ..SessionDetails::default() }
        );

        let run = store.run(batch.run_ids[index].clone()).await.unwrap();
        assert_eq!(
            (run.session_id, run.kind, run.status, run.parameters, run.demands),
            (
                session_id,
                RunKind::Start,
                RunStatus::Pending,
                RawJson::of(&serde_json::json!({ "prompt": new.prompt })).unwrap(),
                Demands::default()
            )
        );
    }
    assert!(batch.session_ids.is_sorted(), "minted ids sort by their minting");
}

pub async fn a_task_shows_the_status_its_session_has_now(h: &mut dyn Harness) {
    let batch = h.store().create_task(new_task("do it")).await.unwrap();
    set_status(h, batch.session_ids[0].as_str(), SessionStatus::Running).await;
    let task = h.store().task(batch.tasks[0].id.unwrap()).await.unwrap();
    let expected = Task { status: SessionStatus::Running, ..batch.tasks[0].clone() };
    assert_eq!(task, expected);
}

pub async fn tasks_are_paged_newest_first_each_once(h: &mut dyn Harness) {
    let store = h.store();
    let mut made = Vec::new();
    for prompt in ["a", "b", "c"] {
        // The clock goes back; the order is that of recording.
        h.clock().advance_ms(-1_000);
        let mut new = new_task(prompt);
        new.instances = 2;
        made.extend(store.create_task(new).await.unwrap().tasks);
    }
    made.reverse();
    let filter = TaskFilter::default();
    for size in [1, 2, 3, 6] {
        let read = paged(size, |page| store.list_tasks(filter.clone(), page)).await;
        assert_eq!(read, made, "size {size}");
    }
    let page = from_cursor(Cursor::Text("1".to_owned()));
    assert_eq!(refusal(store.list_tasks(filter, page).await), "invalid cursor");
}

pub async fn tasks_are_filtered_by_batch_and_by_session(h: &mut dyn Harness) {
    let store = h.store();
    let one = store.create_task(full_task()).await.unwrap();
    let two = store.create_task(new_task("other")).await.unwrap();
    let list = async |filter: TaskFilter| store.list_tasks(filter, all()).await.unwrap().items;
    let of_batch = TaskFilter { batch_id: Some(one.id.clone()), session_id: None };
    let newest_first: Vec<_> = one.tasks.iter().rev().cloned().collect();
    assert_eq!(list(of_batch.clone()).await, newest_first);
    let both = TaskFilter { session_id: Some(one.session_ids[2].clone()), ..of_batch };
    assert_eq!(list(both.clone()).await, [one.tasks[2].clone()]);
    let crossed = TaskFilter { batch_id: Some(two.id), ..both };
    assert_eq!(list(crossed).await, []);
    let unknown = TaskFilter { batch_id: None, session_id: Some(id("unknown")) };
    assert_eq!(list(unknown).await, [], "a filter does not ask whether its session exists");
}

pub async fn a_task_is_found_by_its_number_or_not_at_all(h: &mut dyn Harness) {
    let store = h.store();
    assert_eq!(refusal(store.task(7).await), "not-found task 7");
    assert_eq!(refusal(store.task(-1).await), "not-found task -1");
    let number = store.create_task(new_task("x")).await.unwrap().tasks[0].id.unwrap();
    assert_eq!(store.task(number).await.unwrap().prompt, "x");
}

pub async fn the_largest_task_is_kept_whole(h: &mut dyn Harness) {
    let mut new = new_task(&"p".repeat(limits::PROMPT_BYTES_MAX));
    new.labels = labels(&[]);
    for n in 0..limits::LABELS_MAX {
        let value = "v".repeat(limits::LABEL_BYTES_MAX);
        new.labels.0.insert(format!("k{n}"), value);
    }
    let made = h.store().create_task(new.clone()).await.unwrap().tasks.remove(0);
    let read = h.store().task(made.id.unwrap()).await.unwrap();
    assert!(read.prompt == new.prompt && read.labels == new.labels && read == made);
    let session = h.store().session(made.session_id).await.unwrap();
    assert_eq!(session.title.unwrap().chars().count(), 80, "a title fits a list");
}

pub async fn bad_tasks_are_refused_and_nothing_of_them_is_kept(h: &mut dyn Harness) {
    let store = h.store();
    store.create_session(new_session("s1")).await.unwrap();
    let before = everything(h).await;
    let task = |change: &dyn Fn(&mut NewTask)| {
        let mut task = full_task();
        change(&mut task);
        task
    };
    let long = "x".repeat(limits::PROMPT_BYTES_MAX + 1);
    for (bad, field) in [
        (new_task(""), "prompt"),
        (new_task("a\0"), "prompt"),
        (new_task(&long), "prompt"),
        (task(&|t| t.instances = 0), "instances"),
        (task(&|t| t.instances = 33), "instances"),
        (task(&|t| t.agents.clear()), "instances"),
        (task(&|t| t.agents[1].name.clear()), "agent kind"),
        (task(&|t| t.branch = Some("\0".to_owned())), "branch"),
        (task(&|t| t.labels = labels(&[("a", "\0")])), "label value"),
        (task(&|t| t.labels = labels(&[("", "a")])), "label key"),
        (task(&|t| t.project_dir = Some("\0".to_owned())), "projectDir"),
        (task(&|t| t.repo.root_path = None), "repo"),
    ] {
        assert_eq!(refusal(store.create_task(bad).await), format!("invalid {field}"));
    }
    assert_eq!(everything(h).await, before);
}
