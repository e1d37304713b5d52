//! `docs/config.md`, made from the schema.

use std::fmt::Write;

use super::schema::{KEYS, Key, Kind, OTHER_VARIABLES, Scope};

const HEAD: &str = "\
# Configuration

<!-- Made by `ah` from its table of settings; a test compares the two. -->

Files are TOML. A setting is taken from the first of these that has it:

1. flags of the command;
2. the file named by `--config FILE`, which must exist;
3. variables `AH_*`; an empty one counts as unset;
4. `.agents/config.user.toml` in the repository: yours, not for version control;
5. `.agents/config.toml` in the repository: shared with the project;
6. the user's file: `${XDG_CONFIG_HOME:-~/.config}/agent-harbor/config.toml`, on Windows
   `%APPDATA%\\agent-harbor\\config.toml` unless the file below `~/.config` exists; with `AH_HOME`
   set, `$AH_HOME/config.toml` instead;
7. the system file: `/etc/agent-harbor/config.toml`, on macOS
   `/Library/Application Support/agent-harbor/config.toml`, on Windows
   `%ProgramData%\\agent-harbor\\config.toml`;
8. the default.

Tables are merged key by key, lists are replaced. A file that is missing is fine; an unknown key, a
value of another type or a file that is not TOML is an error with file and line. An empty text
switches a setting off. `ah config explain KEY` shows what every layer says.

## Settings

";

const ENFORCED: &str = "
## Enforced settings

The system file may list keys in `enforced`. Such a key has the system file's value, or the default
when the system file does not set it; every other layer is masked, and `ah config set` refuses it:

```toml
enforced = [\"store.durability\"]

[store]
durability = \"full\"
```

## Servers

```toml
remote-server = \"work\"

[[server]]
name = \"work\"
url = \"https://harbor.example\"
```

Project files come with a clone, so they cannot decide where your sessions are sent: they may choose
a server by name, but neither define servers nor give a URL.

## Programs

What is run once per turn of a resident agent (`ah agent run`, `ah up`), by its agent kind. Those of
`claude-code` and `codex` are known; a table of their kind replaces them.

```toml
[[program]]
kind = \"mine\"
command = [\"my-agent\", \"--as\", \"{agent}\"]   # also {session}, {message}, {model}, {home}
model-args = [\"--model\", \"{model}\"]            # more arguments where the agent has a model
input = \"text\"        # what it reads on stdin: text, or one json object
output = \"text\"       # what it writes on stdout: text, or json-lines
```

## Agent kinds

What `ah task create --run`, `ah up` and `ah session resume` run, by agent kind. Those of `claude-code`,
`codex`, `gemini`, `opencode`, `goose` and `scripted` are known; a table of their name replaces them.

```toml
[[agent-kind]]
name = \"mine\"
command = [\"my-agent\", \"{prompt}\"]              # without {prompt} it is read from stdin
resume = [\"my-agent\", \"--resume\", \"{external}\"]  # the tool's own id of the session; also {session}, {run}
stream = \"text\"       # what it writes: claude-code (stream-json), codex (exec --json) or text
```

## Other variables

";

/// The whole page.
pub(crate) fn reference() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| key | type | default | variable | meaning |\n|---|---|---|---|---|\n");
    for key in &KEYS {
        page.push_str(&row(key));
    }
    page.push_str(ENFORCED);
    page.push_str("| variable | meaning |\n|---|---|\n");
    for (name, doc) in OTHER_VARIABLES {
        // Writing to a text cannot fail.
        let _ = writeln!(page, "| `{name}` | {doc} |");
    }
    page
}

fn row(key: &Key) -> String {
    let code = |text: String| format!("`{text}`");
    let kind = kind(key.kind);
    let default = key.default.as_ref().map(|value| code(value.to_string())).unwrap_or_default();
    let variable = key.variable().map(code).unwrap_or_default();
    let scope = match key.scope {
        Scope::Anywhere => "",
        Scope::NotProject => " Not in project files.",
        Scope::SystemOnly => " System file only.",
    };
    format!("| `{}` | {kind} | {default} | {variable} | {}{scope} |\n", key.path, key.doc)
}

fn kind(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".to_owned(),
        Kind::Choice(words) => format!("`{}`", words.join("`, `")),
        Kind::Agent => "`NAME` or `NAME@VERSION`".to_owned(),
        Kind::Integer { max } => format!("whole number, at most {max}"),
        Kind::Keep => "span like `30d`, or `forever`".to_owned(),
        Kind::Boolean => "`true` or `false`".to_owned(),
        Kind::Texts => "list of texts".to_owned(),
        Kind::Servers | Kind::Programs | Kind::AgentKinds => "list of tables".to_owned(),
    }
}
