//! Programs that keep terminals: how a pane is opened in one, and how a person gets there.
//!
//! The worker itself runs in the pane, so that what is there is watched like everything else. Its
//! environment does not travel in arguments, which others can read, but in a private file.

use std::path::Path;

use ah_model::{Multiplexer, SessionUpdate};

/// What tmux says of a pane it opened.
const TMUX_SAYS: &str = "#{session_name}\t#{window_index}\t#{pane_id}";

/// A pane to be opened.
#[derive(Debug, Clone, Copy)]
pub struct NewPane<'a> {
    /// In what.
    pub multiplexer: Multiplexer,
    /// Whether whoever opens it sits in one: then it is a window of that one.
    pub is_inside: bool,
    /// What it is called.
    pub name: &'a str,
    /// Where it begins.
    pub directory: &'a Path,
    /// What runs in it.
    pub command: &'a [String],
}

impl NewPane<'_> {
    /// The commands that open it, one after another.
    pub fn commands(&self) -> Vec<Vec<String>> {
        let directory = self.directory.to_string_lossy();
        let (name, dir) = (self.name, directory.as_ref());
        let zellij = ["run", "--name", name, "--cwd", dir, "--"];
        let openers: Vec<Vec<&str>> = match (self.multiplexer, self.is_inside) {
            (Multiplexer::Tmux, true) => {
                vec![vec!["tmux", "new-window", "-d", "-P", "-F", TMUX_SAYS, "-n", name, "-c", dir]]
            }
            (Multiplexer::Tmux, false) => vec![vec![
                "tmux",
                "new-session",
                "-d",
                "-P",
                "-F",
                TMUX_SAYS,
                "-s",
                name,
                "-c",
                dir,
            ]],
            (Multiplexer::Zellij, true) => vec![[&["zellij"][..], &zellij].concat()],
            (Multiplexer::Zellij, false) => vec![
                vec!["zellij", "attach", "--create-background", name],
                [&["zellij", "--session", name][..], &zellij].concat(),
            ],
            (Multiplexer::Screen, _) => vec![vec!["screen", "-dmS", name]],
        };
        let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
        let mut commands: Vec<Vec<String>> = openers.into_iter().map(owned).collect();
        if let Some(last) = commands.last_mut() {
            last.extend(self.command.iter().cloned());
        }
        commands
    }

    /// Where it is, by what the last of the commands said.
    pub fn opened(&self, said: &str) -> SessionUpdate {
        let update = SessionUpdate {
            multiplexer_kind: Some(self.multiplexer.as_str().to_owned()),
            ..SessionUpdate::default()
        };
        let mut parts = said.trim_end_matches('\n').split('\t');
        match (self.multiplexer, parts.next(), parts.next(), parts.next()) {
            (Multiplexer::Tmux, Some(session), Some(window), Some(pane)) => SessionUpdate {
                mux_session: Some(session.to_owned()),
                mux_window: window.parse().ok(),
                pane_left: Some(pane.to_owned()),
                ..update
            },
            // A pane of Zellij inside of its own session is in that one, which its name finds.
            _ => SessionUpdate { mux_session: Some(self.name.to_owned()), ..update },
        }
    }
}

/// The commands that bring a person to a pane.
pub fn attach(
    multiplexer: Multiplexer,
    session: &str,
    window: Option<i64>,
    is_inside: bool,
) -> Vec<String> {
    let target = window.map_or_else(|| format!("={session}"), |at| format!("={session}:{at}"));
    let words: Vec<&str> = match (multiplexer, is_inside) {
        (Multiplexer::Tmux, true) => vec!["tmux", "switch-client", "-t", &target],
        (Multiplexer::Tmux, false) => vec!["tmux", "attach-session", "-t", &target],
        (Multiplexer::Zellij, _) => vec!["zellij", "attach", session],
        (Multiplexer::Screen, _) => vec!["screen", "-x", session],
    };
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(multiplexer: Multiplexer, is_inside: bool) -> Vec<String> {
        let command = ["ah".to_owned(), "x".to_owned()];
        let directory = Path::new("/d");
        let pane = NewPane { multiplexer, is_inside, name: "n", directory, command: &command };
        pane.commands().into_iter().map(|words| words.join(" ")).collect()
    }

    #[test]
    fn panes_are_opened_by_the_commands_of_each_tool() {
        let says = TMUX_SAYS;
        let tmux = |begin: &str| vec![format!("tmux {begin} -c /d ah x")];
        assert_eq!(
            commands(Multiplexer::Tmux, true),
            tmux(&format!("new-window -d -P -F {says} -n n"))
        );
        assert_eq!(
            commands(Multiplexer::Tmux, false),
            tmux(&format!("new-session -d -P -F {says} -s n"))
        );
        assert_eq!(commands(Multiplexer::Zellij, true), ["zellij run --name n --cwd /d -- ah x"]);
        assert_eq!(
            commands(Multiplexer::Zellij, false),
            [
                "zellij attach --create-background n",
                "zellij --session n run --name n --cwd /d -- ah x"
            ]
        );
        assert_eq!(commands(Multiplexer::Screen, false), ["screen -dmS n ah x"]);
    }
}
