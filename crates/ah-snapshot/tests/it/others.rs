//! Btrfs and ZFS: for real where this machine can, and by programs that imitate theirs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use ah_model::SnapshotProvider;
use ah_snapshot::{
    ChangeKind, FileChange, NewBranch, Programs, Provider, SnapshotError, choose, provider,
};
use tempfile::TempDir;

use crate::support::{SESSION, kept, new, put};

/// Takes, lists, compares, restores, branches and removes, as every provider of directories must.
fn check(provider: &dyn Provider, work: &Path, free: &Path) {
    put(&work.join("dir/a.txt"), b"one");
    std::os::unix::fs::symlink("dir/a.txt", work.join("link")).unwrap();
    fs::create_dir_all(work.join("empty")).unwrap();
    let files = |top: &Path| {
        let mut files = kept(top);
        files.retain(|path, _| !path.starts_with(".ah-snapshots") && !path.starts_with(".zfs"));
        files
    };
    let was = files(work);
    let first = provider.create(work, &new(SESSION)).unwrap().snapshot;
    put(&work.join("dir/a.txt"), b"two");
    put(&work.join("b.txt"), b"new");
    fs::remove_file(work.join("link")).unwrap();
    let second = provider.create(work, &new(SESSION)).unwrap().snapshot;
    let other = provider.create(work, &new("another:session")).unwrap().snapshot;
    assert_eq!((first.number, second.number, other.number), (1, 2, 1));
    assert_eq!(second.parent.as_deref(), Some(first.id.as_str()));
    let mut all = vec![first.clone(), second.clone(), other.clone()];
    all.sort_by(|a, b| (&a.session_id, a.number).cmp(&(&b.session_id, b.number)));
    assert_eq!(provider.list(work).unwrap(), all);
    let change = |path: &str, kind| FileChange { path: path.into(), kind, lines: None };
    let changes = [
        change("b.txt", ChangeKind::Added),
        change("dir/a.txt", ChangeKind::Changed),
        change("link", ChangeKind::Removed),
    ];
    assert_eq!(provider.diff(work, &first, Some(&second)).unwrap(), changes);
    assert_eq!(provider.diff(work, &first, None).unwrap(), changes);
    assert_eq!(provider.diff(work, &second, None).unwrap(), []);
    let to = free.join("restored");
    provider.restore(work, &first, &to).unwrap();
    assert_eq!(kept(&to), was);
    assert!(to.join("empty").is_dir());
    let branch = NewBranch { name: "ah/travel".to_owned(), directory: free.join("branch") };
    let branch = provider.branch(work, &first, &branch).unwrap();
    assert_eq!(kept(&branch.directory), was);
    put(&branch.directory.join("written"), b"writable");
    provider.unbranch(work, &branch).unwrap();
    assert!(!branch.directory.exists());
    provider.delete(work, &first).unwrap();
    assert_eq!(provider.list(work).unwrap().len(), 2);
    let error = provider.restore(work, &first, &free.join("gone")).unwrap_err();
    assert!(matches!(error, SnapshotError::Gone { .. }), "{error}");
    let error = provider.restore_in_place(work, &second, &second).unwrap_err();
    assert!(matches!(error, SnapshotError::Unsupported { .. }), "{error}");
}

/// A program that writes down what it is called with, then does what `body` says.
fn script(directory: &Path, name: &str, body: &str) -> PathBuf {
    let path = directory.join(name);
    let said = directory.join(format!("{name}.said"));
    put(&path, format!("#!/bin/sh\necho \"$@\" >> {}\n{body}", said.display()).as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

const FAKE_BTRFS: &str = r#"
copy() { mkdir "$2" && tar -C "$1" --exclude=./.ah-snapshots -cf - . | tar -C "$2" -xf -; }
case "$*" in
  "subvolume snapshot -r -- "*) copy "$5" "$6" ;;
  "subvolume snapshot -- "*) copy "$4" "$5" ;;
  "subvolume delete -- "*) rm -rf "$4" ;;
  *) echo "unknown: $*" >&2; exit 2 ;;
esac
"#;

const FAKE_ZFS: &str = r#"
copy() { mkdir -p "$2" && tar -C "$1" --exclude=./.zfs -cf - . | tar -C "$2" -xf -; }
seen="$WORK/.zfs/snapshot"
case "$*" in
  "list -H -t filesystem -o name,mountpoint "*) printf 'tank/work\t%s\n' "$WORK" ;;
  "list -H -t snapshot -d 1 -o name,agent-harbor:snapshot tank/work") cat "$WORK.list" 2>/dev/null ;;
  "snapshot -o agent-harbor:snapshot="*)
    name="${4#tank/work@}"
    if [ -e "$seen/$name" ]; then echo "dataset already exists" >&2; exit 1; fi
    copy "$WORK" "$seen/$name"
    printf '%s\t%s\n' "$4" "${3#agent-harbor:snapshot=}" >> "$WORK.list" ;;
  "clone -o mountpoint="*) copy "$seen/${4#tank/work@}" "${3#mountpoint=}"
    echo "${3#mountpoint=}" > "$WORK.clone" ;;
  "destroy tank/work@"*) rm -rf "$seen/${2#tank/work@}"
    grep -v "^$2	" "$WORK.list" > "$WORK.new"; mv "$WORK.new" "$WORK.list" ;;
  "destroy tank/work-ah-travel") rm -rf "$(cat "$WORK.clone")" ;;
  *) echo "unknown: $*" >&2; exit 2 ;;
esac
true
"#;

fn free() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

/// A file system of Btrfs in a file, for as long as it is kept.
struct Mounted {
    _directory: TempDir,
    place: PathBuf,
}

impl Mounted {
    fn new(btrfs: &Path) -> Result<Self, String> {
        let (directory, path) = free();
        let (image, place) = (path.join("image"), path.join("place"));
        fs::create_dir(&place).unwrap();
        let file = fs::File::create(&image).unwrap();
        file.set_len(256 * 1024 * 1024).unwrap();
        let done = |command: &mut Command| match command.output() {
            Err(error) => Err(format!("{command:?}: {error}")),
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        };
        done(Command::new("mkfs.btrfs").arg("-q").arg(&image))?;
        done(Command::new("mount").args(["-o", "loop"]).args([&image, &place]))?;
        let mounted = Self { _directory: directory, place };
        done(Command::new(btrfs).args(["subvolume", "create"]).arg(mounted.place.join("work")))?;
        Ok(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // What stays mounted would keep its directory.
        let _ = Command::new("umount").arg(&self.place).output();
    }
}

#[test]
fn btrfs_keeps_snapshots_of_a_subvolume() {
    let btrfs = ["/usr/bin/btrfs", "/usr/sbin/btrfs", "/sbin/btrfs"];
    let btrfs = btrfs.map(PathBuf::from).into_iter().find(|path| path.is_file());
    let mounted = btrfs.as_deref().ok_or("there is no btrfs".to_owned()).and_then(Mounted::new);
    match mounted {
        Ok(mounted) => {
            let programs = Programs { btrfs, ..Programs::default() };
            let work = mounted.place.join("work");
            let chosen = choose(&work, None, &programs).unwrap();
            assert_eq!(chosen.name(), SnapshotProvider::Btrfs);
            check(&*chosen, &work, &mounted.place);
            let found = chosen.detect(&mounted.place.join("restored"));
            assert!(!found.usable && found.reason.contains("no subvolume of its own"), "{found:?}");
        }
        Err(why) => {
            eprintln!("no real Btrfs here ({}); its program is imitated", why.trim());
            by_a_fake_btrfs();
        }
    }
}

#[test]
fn btrfs_is_called_as_its_manual_says() {
    by_a_fake_btrfs();
}

fn by_a_fake_btrfs() {
    let (_directory, path) = free();
    let work = path.join("work");
    fs::create_dir(&work).unwrap();
    let btrfs = Some(script(&path, "btrfs", FAKE_BTRFS));
    let provider = provider(SnapshotProvider::Btrfs, &Programs { btrfs, ..Programs::default() });
    let found = provider.detect(&work);
    assert!(!found.usable && found.reason.contains("not on a file system of Btrfs"), "{found:?}");
    check(&*provider, &work, &path);
    let said = fs::read_to_string(path.join("btrfs.said")).unwrap();
    let said = said.replace(path.to_str().unwrap(), "DIR");
    let place = format!("DIR/work/.ah-snapshots/{SESSION}");
    let expected = [
        format!("subvolume snapshot -r -- DIR/work {place}/1"),
        format!("subvolume snapshot -r -- DIR/work {place}/2"),
        "subvolume snapshot -r -- DIR/work DIR/work/.ah-snapshots/another%3asession/1".to_owned(),
        format!("subvolume snapshot -- {place}/1 DIR/branch"),
        "subvolume delete -- DIR/branch".to_owned(),
        format!("subvolume delete -- {place}/1"),
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_note_without_its_subvolume_is_passed_over_and_its_number_not_given_again() {
    let (_directory, path) = free();
    let work = path.join("work");
    fs::create_dir(&work).unwrap();
    let broken = Some(script(&path, "btrfs", "echo 'no space left' >&2; exit 1"));
    let broken = Programs { btrfs: broken, ..Programs::default() };
    let broken = provider(SnapshotProvider::Btrfs, &broken);
    let error = broken.create(&work, &new(SESSION)).unwrap_err();
    assert_eq!(error.to_string(), "btrfs subvolume snapshot -r: no space left");
    assert_eq!(broken.list(&work).unwrap(), []);
    let whole = Some(script(&path, "btrfs", FAKE_BTRFS));
    let whole =
        provider(SnapshotProvider::Btrfs, &Programs { btrfs: whole, ..Programs::default() });
    assert_eq!(whole.create(&work, &new(SESSION)).unwrap().snapshot.number, 2);
}

#[test]
fn zfs_keeps_snapshots_of_a_dataset_as_its_manual_says() {
    eprintln!("there is no ZFS to test with; its program is imitated");
    let (_directory, path) = free();
    let work = path.join("work");
    fs::create_dir(&work).unwrap();
    let body = format!("WORK={}\n{FAKE_ZFS}", work.display());
    let zfs = Some(script(&path, "zfs", &body));
    let programs = Programs { zfs, ..Programs::default() };
    let chosen = choose(&work, None, &programs).unwrap();
    assert_eq!(chosen.name(), SnapshotProvider::Zfs);
    check(&*chosen, &work, &path);
    let below = chosen.detect(&work.join("dir"));
    let reason = format!("{} is a directory of the dataset tank/work", work.join("dir").display());
    assert!(!below.usable && below.reason.starts_with(&reason), "{below:?}");
    let said = fs::read_to_string(path.join("zfs.said")).unwrap();
    let changes: Vec<_> = said
        .lines()
        .filter(|line| !line.starts_with("list"))
        .map(|line| line.split_once('{').map_or(line, |(begin, _)| begin))
        .collect();
    let clone = format!(
        "clone -o mountpoint={} tank/work@ah_{SESSION}_1 tank/work-ah-travel",
        path.join("branch").display()
    );
    let gone = format!("destroy tank/work@ah_{SESSION}_1");
    let taken = "snapshot -o agent-harbor:snapshot=";
    let expected = [taken, taken, taken, &clone, "destroy tank/work-ah-travel", &gone];
    assert_eq!(changes, expected);
}

#[test]
fn agentfs_is_detected_and_said_to_be_of_no_use() {
    let (_directory, path) = free();
    let agentfs = Some(script(&path, "agentfs", ""));
    let there = provider(SnapshotProvider::AgentFs, &Programs { agentfs, ..Programs::default() });
    let found = there.detect(&path);
    assert!(!found.usable && found.reason.contains("has no command"), "{found:?}");
    let error = there.create(&path, &new(SESSION)).unwrap_err();
    assert_eq!(error.to_string(), "agentfs does not take snapshots");
}
