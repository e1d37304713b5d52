//! Links between documents.

use std::path::Path;

use crate::tree::{self, assert_none};

#[test]
fn links_to_local_files_resolve() {
    let mut broken = Vec::new();
    for path in tree::files("").into_iter().filter(|path| path.ends_with(".md")) {
        let folder = Path::new(&path).parent().unwrap_or(Path::new(""));
        for (line, target) in links(&tree::read(&path)) {
            if !tree::root().join(folder).join(&target).exists() {
                broken.push(format!("{path}:{line}: {target}"));
            }
        }
    }
    assert_none("no such file", &broken);
}

#[test]
fn links_are_read_from_prose_only() {
    let text = "[a](b.md#part) `[c](d)` [e](https://f) [g](#h)\n```\n[i](j)\n```\n[k](l/m.md)";
    let found = vec![(1, "b.md".to_owned()), (5, "l/m.md".to_owned())];
    assert_eq!(links(text), found);
}

/// Line and file of each relative link, outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect();
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        let files = targets.filter(|target| !target.contains(':'));
        let files = files.filter_map(|target| target.split('#').next());
        found.extend(files.filter(|file| !file.is_empty()).map(|file| (number + 1, file.into())));
    }
    found
}
