//! Repositories that move, in the oracle.

use ah_model::{
    Earnest, ROOT_PATH, Relocated, Relocation, Repo, RepoFate, RepoMove, RepoPath, RepoSighting,
    Sighted, Timestamp, Vcs, Whereabouts, joined_repo, path_and_above,
};
use ah_store::StoreError;

use super::Rows;

impl Rows {
    pub(super) fn see_repo(&mut self, seen: RepoSighting, now: Timestamp) -> Sighted {
        let fate = match seen.whereabouts(self.repos.values()) {
            Whereabouts::Known(_) => RepoFate::Known,
            Whereabouts::New => RepoFate::New,
            Whereabouts::Unclear(like) => RepoFate::Unclear { like },
            Whereabouts::Moved(id) => RepoFate::Moved { from: self.follow(&seen, id, now) },
        };
        let id = self.put_repo(seen.found, now).id;
        let known = self.repos.get_mut(&id).unwrap();
        known.marks.fingerprint = known.marks.fingerprint.take().or(seen.marks.fingerprint);
        known.marks.remote_key = seen.marks.remote_key.or(known.marks.remote_key.take());
        known.marks.host = seen.marks.host.or(known.marks.host.take());
        Sighted { repo: known.clone(), fate }
    }

    /// Moves a repository and the directories of its own sessions.
    fn follow(&mut self, seen: &RepoSighting, id: i64, now: Timestamp) -> String {
        let from = self.repos[&id].found.root_path.clone().unwrap();
        let to = seen.found.root_path.clone().unwrap();
        self.place_repo(id, &to, seen.marks.host.clone(), now);
        let relocation = Relocation { from, to, host: None, earnest: Earnest::Change };
        for session in self.sessions.values_mut().filter(|session| session.repo_id == Some(id)) {
            let dir = &mut session.details.project_dir;
            let moved = dir.as_ref().and_then(|dir| relocation.moved("projectDir", dir).unwrap());
            *dir = moved.or(dir.take());
        }
        relocation.from
    }

    fn place_repo(&mut self, id: i64, to: &str, host: Option<String>, now: Timestamp) {
        let repo = self.repos.get_mut(&id).unwrap();
        let former = RepoPath {
            path: repo.found.root_path.replace(to.to_owned()).unwrap(),
            host: repo.marks.host.clone(),
            since: repo.moved_at.unwrap_or(repo.created_at),
            until: now,
        };
        repo.marks.host = host.or(repo.marks.host.take());
        repo.moved_at = Some(now);
        self.repo_paths.push((id, former));
    }

    /// Newest first.
    pub(super) fn former_paths(&self, id: i64) -> Vec<RepoPath> {
        let of = self.repo_paths.iter().filter(|(of, _)| *of == id);
        let mut paths: Vec<_> = of.rev().map(|(_, path)| path.clone()).collect();
        paths.sort_by_key(|path| std::cmp::Reverse(path.until));
        paths
    }

    pub(super) fn repo_at(&self, path: &str) -> Option<Repo> {
        let mut places = path_and_above(path).enumerate();
        places.find_map(|(steps, place)| {
            let is_there = |repo: &&Repo| repo.found.root_path.as_deref() == Some(place);
            let was = self.repo_paths.iter().filter(|(_, was)| was.path == place);
            let was = was.max_by_key(|(_, was)| was.until).map(|(id, _)| &self.repos[id]);
            let found = self.repos.values().find(is_there).or(was);
            found.filter(|repo| steps == 0 || repo.found.vcs != Vcs::None).cloned()
        })
    }

    pub(super) fn relocate(
        &mut self,
        relocation: &Relocation,
        now: Timestamp,
    ) -> Result<Relocated, StoreError> {
        let before = self.clone();
        let repos = self.moves(relocation)?;
        for step in &repos {
            self.take_step(step, relocation, now);
        }
        for session in self.sessions.values_mut() {
            if let Some(dir) = &mut session.details.project_dir {
                *dir = relocation.moved("projectDir", dir)?.unwrap_or(std::mem::take(dir));
            }
        }
        for draft in self.drafts.values_mut() {
            let repository = &mut draft.fields.repository;
            let moved = relocation.moved("repository", repository)?;
            *repository = moved.unwrap_or(std::mem::take(repository));
        }
        let other = |(id, session)| before.sessions.get(id) != Some(session);
        let sessions: Vec<_> = self.sessions.iter().filter(|entry| other(*entry)).collect();
        let touched = |id| sessions.iter().any(|(other, _)| *other == id);
        let tasks = self.tasks.values().filter(|task| touched(&task.session_id)).count();
        let drafts =
            self.drafts.iter().filter(|(id, draft)| before.drafts.get(id) != Some(draft)).count();
        let (sessions, tasks, drafts) = (sessions.len() as u64, tasks as u64, drafts as u64);
        if relocation.earnest == Earnest::Plan {
            *self = before;
        }
        Ok(Relocated { repos, sessions, tasks, drafts })
    }

    /// The repositories that move, by their path.
    fn moves(&self, relocation: &Relocation) -> Result<Vec<RepoMove>, StoreError> {
        let mut moves = Vec::new();
        for repo in self.repos.values() {
            let Some(from) = repo.found.root_path.clone() else { continue };
            let Some(to) = relocation.moved(ROOT_PATH, &from)? else { continue };
            moves.push(RepoMove { id: repo.id, from, to, joined: None });
        }
        moves.sort_by(|one, other| one.from.cmp(&other.from));
        let moving: Vec<i64> = moves.iter().map(|step| step.id).collect();
        for step in &mut moves {
            let there = |repo: &&Repo| repo.found.root_path.as_ref() == Some(&step.to);
            let there = self.repos.values().find(there).map(|repo| repo.id);
            step.joined = there.filter(|there| !moving.contains(there));
        }
        Ok(moves)
    }

    fn take_step(&mut self, step: &RepoMove, relocation: &Relocation, now: Timestamp) {
        let mut host = relocation.host.clone();
        if let Some(other) = step.joined.and_then(|other| self.repos.remove(&other)) {
            let kept = self.repos.get_mut(&step.id).unwrap();
            let whole = joined_repo(kept, &other);
            host = host.or(whole.marks.host.clone());
            let (root, was) = (kept.found.root_path.clone(), kept.marks.host.clone());
            *kept = whole;
            (kept.found.root_path, kept.marks.host) = (root, was);
            for (of, _) in self.repo_paths.iter_mut().filter(|(of, _)| *of == other.id) {
                *of = step.id;
            }
            let sessions = self.sessions.values_mut();
            for session in sessions.filter(|session| session.repo_id == Some(other.id)) {
                session.repo_id = Some(step.id);
            }
        }
        self.place_repo(step.id, &step.to, host, now);
    }
}
