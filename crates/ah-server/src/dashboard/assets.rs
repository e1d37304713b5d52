//! The files of `web/`, each by its name. A test compares the list with the directory.

/// A file that is part of the program.
pub(super) struct Asset {
    name: &'static str,
    pub(super) media_type: &'static str,
    pub(super) bytes: &'static [u8],
}

/// A file of `web/` with its type.
macro_rules! file {
    ($name:literal, $media_type:literal) => {
        Asset {
            name: $name,
            media_type: $media_type,
            bytes: include_bytes!(concat!("../../web/", $name)),
        }
    };
    ($name:literal) => {
        file!($name, "text/javascript; charset=utf-8")
    };
}

/// The page that all paths show.
pub(super) static INDEX: Asset = file!("index.html", "text/html; charset=utf-8");

static ASSETS: [Asset; 25] = [
    file!("agent.js"),
    file!("agents.js"),
    file!("api.js"),
    file!("app.css", "text/css; charset=utf-8"),
    file!("app.js"),
    file!("approvals.js"),
    file!("bar.js"),
    file!("dom.js"),
    file!("drafts.js"),
    file!("event.js"),
    file!("executors.js"),
    file!("format.js"),
    file!("home.js"),
    file!("keys.js"),
    file!("live.js"),
    file!("login.js"),
    file!("needs.js"),
    file!("notify.js"),
    file!("questions.js"),
    file!("session.js"),
    file!("sessions.js"),
    file!("settings.js"),
    file!("stats.js"),
    file!("timeline.js"),
    file!("ui.js"),
];

impl Asset {
    /// The asset of that name.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        ASSETS.iter().find(|asset| asset.name == name)
    }

    /// Changes with the bytes: FNV-1a, which is enough to tell two versions of a file apart.
    pub(super) fn tag(&self) -> String {
        let hash = self.bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("\"{hash:016x}\"")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    #[test]
    fn every_file_of_the_dashboard_is_served_and_all_weigh_little() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/web");
        let files = fs::read_dir(directory).unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())
        });
        let files: BTreeMap<String, u64> = files.collect();
        let served = ASSETS.iter().chain([&INDEX]);
        let served: BTreeMap<String, u64> =
            served.map(|asset| (asset.name.to_owned(), asset.bytes.len() as u64)).collect();
        assert_eq!(served, files);
        let all: u64 = files.values().sum();
        assert!(all < 300 * 1024, "{all} bytes");
    }
}
