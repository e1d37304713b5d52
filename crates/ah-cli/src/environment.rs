//! The process environment, read once: variables, current directory, home, and the paths they give.
//!
//! This is the only module that asks the operating system for any of them; the rest of the program
//! is handed an [`Environment`], so tests make one by hand for every operating system.
//! Invariants: an empty variable counts as unset; every path that leaves this module is absolute.
//! The home directory is `HOME` (`USERPROFILE` on Windows) and nothing else: looking it up in the
//! user database would write to a real home when a caller cleared its environment on purpose.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const DIRECTORY: &str = "agent-harbor";
const DATABASE_FILE: &str = "state.db";
const CONFIG_FILE: &str = "config.toml";
const RUNTIME_DIRECTORY: &str = "run";

/// Moves the database and the user's configuration file into one directory.
pub(crate) const AH_HOME: &str = "AH_HOME";
/// Stands in for the system configuration file; for packagers and tests.
pub(crate) const AH_SYSTEM_CONFIG: &str = "AH_SYSTEM_CONFIG";
/// The session that an agent was started for.
pub(crate) const AH_SESSION_ID: &str = "AH_SESSION_ID";
/// Where live events are kept instead of in an agent's home.
pub(crate) const AH_EVENTS_DB: &str = "AH_EVENTS_DB";

/// The operating systems whose directories differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Os {
    /// Linux and every other Unix.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

impl Os {
    /// The one this program was built for.
    pub(crate) fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::Mac
        } else {
            Self::Linux
        }
    }

    /// Whether `path` is absolute; `Path::is_absolute` alone only knows the system of the build,
    /// so a drive letter is told here.
    fn is_absolute(self, path: &Path) -> bool {
        let bytes = path.as_os_str().as_encoded_bytes();
        path.is_absolute() || (self == Self::Windows && bytes.get(1) == Some(&b':'))
    }
}

/// Why a path cannot be told from the environment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvironmentError {
    /// Neither `AH_HOME` nor a home directory is set.
    #[error("no home directory: {variable} is not set to an absolute path, nor is AH_HOME set")]
    NoHome { variable: &'static str },
    /// The process runs in a directory that was removed or may not be read.
    #[error("the current directory cannot be told")]
    NoCurrentDirectory,
}

/// What the process was started with.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    variables: HashMap<OsString, OsString>,
    current_dir: Option<PathBuf>,
    os: Os,
}

impl Environment {
    /// Reads the real one; never fails, since most commands need only a part of it.
    pub(crate) fn capture() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            current_dir: std::env::current_dir().ok(),
            os: Os::current(),
        }
    }

    /// One made by hand.
    #[cfg(test)]
    pub(crate) fn of(os: Os, current_dir: &Path, variables: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        Self {
            variables: variables.iter().map(owned).collect(),
            current_dir: Some(current_dir.to_owned()),
            os,
        }
    }

    /// A variable's value; unset, empty and not UTF-8 are all `None`.
    pub(crate) fn var(&self, name: &str) -> Option<&str> {
        self.var_os(name)?.to_str()
    }

    /// Who runs the program, by the variables that a login sets.
    pub(crate) fn user(&self) -> Option<&str> {
        ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(|name| self.var(name))
    }

    /// A variable's value, which need not be UTF-8; unset and empty are `None`.
    pub(crate) fn var_os(&self, name: &str) -> Option<&OsStr> {
        let value = match self.os {
            Os::Linux | Os::Mac => self.variables.get(OsStr::new(name)),
            Os::Windows => self.var_in_any_case(name),
        };
        value.map(OsString::as_os_str).filter(|v| !v.is_empty())
    }

    fn var_in_any_case(&self, name: &str) -> Option<&OsString> {
        let mut variables = self.variables.iter();
        variables.find_map(|(n, value)| n.eq_ignore_ascii_case(name).then_some(value))
    }

    /// Whether a variable is set at all: for those like `NO_COLOR` whose value does not matter.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.var_os(name).is_some()
    }

    /// All variables that are text.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
    }

    /// The directory the process was started in.
    pub(crate) fn current_dir(&self) -> Result<&Path, EnvironmentError> {
        let current_dir = self.current_dir.as_deref();
        current_dir.ok_or(EnvironmentError::NoCurrentDirectory)
    }

    /// The user's home directory.
    pub(crate) fn home(&self) -> Result<&Path, EnvironmentError> {
        let variable = match self.os {
            Os::Linux | Os::Mac => "HOME",
            Os::Windows => "USERPROFILE",
        };
        let home = self.absolute_var(variable);
        home.ok_or(EnvironmentError::NoHome { variable })
    }

    /// The directory that another program keeps its things in: what `variable` names, else one
    /// below the home.
    pub(crate) fn program_dir(
        &self,
        variable: Option<&str>,
        below: &str,
    ) -> Result<PathBuf, EnvironmentError> {
        match variable.and_then(|variable| self.var_os(variable)) {
            Some(own) => self.absolute(Path::new(own)),
            None => Ok(self.home()?.join(below)),
        }
    }

    /// `path` as seen from the current directory.
    pub(crate) fn absolute(&self, path: &Path) -> Result<PathBuf, EnvironmentError> {
        if self.os.is_absolute(path) {
            return Ok(path.to_owned());
        }
        Ok(self.current_dir()?.join(path))
    }

    /// Where the program keeps its state.
    pub(crate) fn state_dir(&self) -> Result<PathBuf, EnvironmentError> {
        if let Some(ah_home) = self.ah_home()? {
            return Ok(ah_home);
        }
        let parent = match self.os {
            Os::Linux => self.var_or_home("XDG_STATE_HOME", &[".local", "state"])?,
            Os::Mac => join(self.home()?, &["Library", "Application Support"]),
            Os::Windows => self.var_or_home("LOCALAPPDATA", &["AppData", "Local"])?,
        };
        Ok(parent.join(DIRECTORY))
    }

    /// The local database.
    pub(crate) fn database_path(&self) -> Result<PathBuf, EnvironmentError> {
        Ok(self.state_dir()?.join(DATABASE_FILE))
    }

    /// Where sockets are, which do not outlive the machine's run: with `AH_HOME` below it, so that
    /// two harbors do not meet.
    pub(crate) fn runtime_dir(&self) -> Result<PathBuf, EnvironmentError> {
        let shared = self.absolute_var("XDG_RUNTIME_DIR").filter(|_| self.os == Os::Linux);
        match (self.ah_home()?, shared) {
            (None, Some(parent)) => Ok(parent.join(DIRECTORY)),
            (Some(_), _) | (None, None) => Ok(self.state_dir()?.join(RUNTIME_DIRECTORY)),
        }
    }

    /// Where anybody may keep files for a while.
    pub(crate) fn temporary_dir(&self) -> PathBuf {
        let own = ["TMPDIR", "TEMP"].into_iter().find_map(|name| self.absolute_var(name));
        own.unwrap_or(Path::new(if self.os == Os::Windows { r"C:\Windows\Temp" } else { "/tmp" }))
            .to_owned()
    }

    /// The configuration file of the whole machine.
    pub(crate) fn system_config_path(&self) -> Result<PathBuf, EnvironmentError> {
        if let Some(path) = self.var_os(AH_SYSTEM_CONFIG) {
            return self.absolute(Path::new(path));
        }
        let parent = match self.os {
            Os::Linux => Path::new("/etc"),
            Os::Mac => Path::new("/Library/Application Support"),
            Os::Windows => {
                let program_data = self.absolute_var("ProgramData");
                program_data.unwrap_or(Path::new(r"C:\ProgramData"))
            }
        };
        Ok(parent.join(DIRECTORY).join(CONFIG_FILE))
    }

    /// The configuration file of this user.
    pub(crate) fn user_config_path(&self) -> Result<PathBuf, EnvironmentError> {
        if let Some(ah_home) = self.ah_home()? {
            return Ok(ah_home.join(CONFIG_FILE));
        }
        match self.os {
            Os::Linux | Os::Mac => {
                let parent = self.var_or_home("XDG_CONFIG_HOME", &[".config"])?;
                Ok(parent.join(DIRECTORY).join(CONFIG_FILE))
            }
            Os::Windows => self.windows_user_config_path(),
        }
    }

    /// People who share dotfiles between systems have `~/.config` on Windows too: an existing file
    /// there wins.
    fn windows_user_config_path(&self) -> Result<PathBuf, EnvironmentError> {
        if let Ok(home) = self.home() {
            let shared = join(home, &[".config", DIRECTORY, CONFIG_FILE]);
            if shared.is_file() {
                return Ok(shared);
            }
        }
        let parent = self.var_or_home("APPDATA", &["AppData", "Roaming"])?;
        Ok(parent.join(DIRECTORY).join(CONFIG_FILE))
    }

    fn ah_home(&self) -> Result<Option<PathBuf>, EnvironmentError> {
        let ah_home = self.var_os(AH_HOME);
        ah_home.map(|path| self.absolute(Path::new(path))).transpose()
    }

    fn var_or_home(&self, name: &str, below: &[&str]) -> Result<PathBuf, EnvironmentError> {
        match self.absolute_var(name) {
            Some(path) => Ok(path.to_owned()),
            None => Ok(join(self.home()?, below)),
        }
    }

    /// The XDG specification says that a relative path in its variables is to be ignored.
    fn absolute_var(&self, name: &str) -> Option<&Path> {
        let path = self.var_os(name).map(Path::new);
        path.filter(|path| self.os.is_absolute(path))
    }
}

/// The machine's name, where it has one.
pub(crate) fn hostname() -> Option<String> {
    #[cfg(unix)]
    return rustix::system::uname().nodename().to_str().ok().map(str::to_owned);
    #[cfg(not(unix))]
    None
}

fn join(start: &Path, below: &[&str]) -> PathBuf {
    let mut path = start.to_owned();
    path.extend(below);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    const CURRENT: &str = "/srv/here";

    fn environment(os: Os, variables: &[(&str, &str)]) -> Environment {
        Environment::of(os, Path::new(CURRENT), variables)
    }

    #[track_caller]
    fn check(os: Os, variables: &[(&str, &str)], database: &str, user: &str, system: &str) {
        let environment = environment(os, variables);
        let paths = [
            environment.database_path().unwrap(),
            environment.user_config_path().unwrap(),
            environment.system_config_path().unwrap(),
        ];
        // A path for Windows is joined with `/` when the test runs elsewhere.
        let shown = paths.map(|path| path.to_str().unwrap().replace('\\', "/"));
        assert_eq!(shown, [database, user, system]);
    }

    #[test]
    fn linux_keeps_to_the_xdg_defaults() {
        check(
            Os::Linux,
            &[("HOME", "/home/x")],
            "/home/x/.local/state/agent-harbor/state.db",
            "/home/x/.config/agent-harbor/config.toml",
            "/etc/agent-harbor/config.toml",
        );
    }

    #[test]
    fn linux_follows_xdg_variables() {
        check(
            Os::Linux,
            &[("HOME", "/home/x"), ("XDG_STATE_HOME", "/s"), ("XDG_CONFIG_HOME", "/c")],
            "/s/agent-harbor/state.db",
            "/c/agent-harbor/config.toml",
            "/etc/agent-harbor/config.toml",
        );
    }

    #[test]
    fn empty_and_relative_xdg_variables_count_as_unset() {
        check(
            Os::Linux,
            &[("HOME", "/home/x"), ("XDG_STATE_HOME", ""), ("XDG_CONFIG_HOME", "c"), (AH_HOME, "")],
            "/home/x/.local/state/agent-harbor/state.db",
            "/home/x/.config/agent-harbor/config.toml",
            "/etc/agent-harbor/config.toml",
        );
    }

    #[test]
    fn macos_uses_application_support() {
        check(
            Os::Mac,
            &[("HOME", "/Users/x")],
            "/Users/x/Library/Application Support/agent-harbor/state.db",
            "/Users/x/.config/agent-harbor/config.toml",
            "/Library/Application Support/agent-harbor/config.toml",
        );
    }

    #[test]
    fn windows_uses_its_variables_in_any_case() {
        check(
            Os::Windows,
            &[
                ("LocalAppData", r"C:\Users\x\AppData\Local"),
                ("APPDATA", r"C:\Users\x\AppData\Roaming"),
                ("PROGRAMDATA", r"D:\Shared"),
            ],
            "C:/Users/x/AppData/Local/agent-harbor/state.db",
            "C:/Users/x/AppData/Roaming/agent-harbor/config.toml",
            "D:/Shared/agent-harbor/config.toml",
        );
    }

    #[test]
    fn windows_falls_back_to_the_profile_directory() {
        check(
            Os::Windows,
            &[("USERPROFILE", r"C:\Users\x")],
            "C:/Users/x/AppData/Local/agent-harbor/state.db",
            "C:/Users/x/AppData/Roaming/agent-harbor/config.toml",
            "C:/ProgramData/agent-harbor/config.toml",
        );
    }

    #[test]
    fn windows_prefers_an_existing_file_below_dot_config() {
        let home = tempfile::tempdir().unwrap();
        let shared = home.path().join(".config/agent-harbor/config.toml");
        std::fs::create_dir_all(shared.parent().unwrap()).unwrap();
        std::fs::write(&shared, "").unwrap();
        let variables =
            [("APPDATA", r"C:\Roaming"), ("USERPROFILE", home.path().to_str().unwrap())];
        let environment = environment(Os::Windows, &variables);
        assert_eq!(environment.user_config_path().unwrap(), shared);
    }

    #[test]
    fn ah_home_moves_database_and_user_file() {
        check(
            Os::Linux,
            &[("HOME", "/home/x"), (AH_HOME, "/ah"), (AH_SYSTEM_CONFIG, "/sys.toml")],
            "/ah/state.db",
            "/ah/config.toml",
            "/sys.toml",
        );
    }

    #[test]
    fn relative_ah_home_is_seen_from_the_current_directory() {
        let environment = environment(Os::Linux, &[(AH_HOME, "state/ah")]);
        let expected = Path::new("/srv/here/state/ah/state.db");
        assert_eq!(environment.database_path().unwrap(), expected);
    }

    #[test]
    fn without_any_home_the_error_names_the_variables() {
        let error = environment(Os::Linux, &[("HOME", "")]).state_dir().unwrap_err();
        let expected = "no home directory: HOME is not set to an absolute path, nor is AH_HOME set";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn removed_current_directory_matters_only_to_relative_paths() {
        let lost = |ah_home| Environment {
            current_dir: None,
            ..environment(Os::Linux, &[(AH_HOME, ah_home)])
        };
        assert_eq!(lost("/ah").state_dir().unwrap(), Path::new("/ah"));
        assert_eq!(lost("/ah").runtime_dir().unwrap(), Path::new("/ah/run"));
        let error = lost("ah").state_dir().unwrap_err();
        assert_eq!(error.to_string(), "the current directory cannot be told");
    }

    #[test]
    fn captures_the_real_environment() {
        let environment = Environment::capture();
        assert!(environment.current_dir().unwrap().is_absolute());
        assert!(environment.is_set("PATH"));
        assert_eq!(environment.var("AH_SURELY_NOT_SET"), None);
    }
}
