//! The model file.

use std::fs;
use std::os::unix::fs::symlink;

use crate::given::{State, mode, unsafe_reason};

#[test]
fn the_file_holds_one_line_and_is_private() {
    let state = State::new();
    let home = state.home("alice");
    assert_eq!(home.model().unwrap(), None);
    home.set_model(Some("opus")).unwrap();
    assert_eq!(home.model().unwrap().as_deref(), Some("opus"));
    let file = home.state().join("model");
    assert_eq!(fs::read_to_string(&file).unwrap(), "opus\n");
    assert_eq!(mode(&file), 0o600);
    home.set_model(Some("haiku")).unwrap();
    assert_eq!(home.model().unwrap().as_deref(), Some("haiku"));
    assert_eq!(fs::read_dir(home.state()).unwrap().count(), 1);
    home.set_model(None).unwrap();
    assert_eq!(home.model().unwrap(), None);
    assert!(!file.exists());
}

#[test]
fn a_line_without_its_end_is_read() {
    let state = State::new();
    let home = state.home("alice");
    fs::write(home.state().join("model"), "opus").unwrap();
    assert_eq!(home.model().unwrap().as_deref(), Some("opus"));
}

#[test]
fn what_is_not_one_short_line_is_refused() {
    let state = State::new();
    let home = state.home("alice");
    let file = home.state().join("model");
    let long = vec![b'x'; 1_000_000];
    for bytes in
        [&b""[..], b"\n", b"  \n", b"a\nb\n", b"a\n\n", b"a\0b", b"\xff\xfe", b"a\rb", &long]
    {
        fs::write(&file, bytes).unwrap();
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(9)]).into_owned();
        unsafe_reason(home.model().map(|model| (shown, model)));
    }
}

#[test]
fn what_is_no_plain_file_is_refused_and_not_replaced() {
    let state = State::new();
    let home = state.home("alice");
    let (file, elsewhere) = (home.state().join("model"), state.elsewhere());
    symlink(elsewhere.join("treasure"), &file).unwrap();
    assert!(unsafe_reason(home.model()).contains("symbolic link"));
    assert!(unsafe_reason(home.set_model(Some("opus"))).contains("symbolic link"));
    assert_eq!(fs::read_to_string(elsewhere.join("treasure")).unwrap(), "gold");
    fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    assert!(unsafe_reason(home.model()).contains("no plain file"));
    assert!(unsafe_reason(home.set_model(Some("opus"))).contains("no plain file"));
}

#[test]
fn a_model_of_two_lines_is_not_written() {
    let state = State::new();
    let home = state.home("alice");
    for model in ["", " ", "a\nb", "a\u{7}"] {
        assert!(home.set_model(Some(model)).is_err(), "{model:?}");
    }
    assert_eq!(home.model().unwrap(), None);
}
