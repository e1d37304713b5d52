//! Megabytes made to be slow. Counts what is looked at: a clock would tell of the machine.

use super::*;

const BYTES: usize = 10 * 1024 * 1024;

/// Most bytes looked at per byte of input, over all passes.
const PER_BYTE_MAX: usize = 600;

#[test]
fn hostile_texts_are_read_in_a_bounded_number_of_steps() {
    for unit in [
        "token:",
        "authorization:",
        "authorization: ",
        "password=$(",
        "password=\"",
        "password='a",
        "auth=",
        "token=foo(",
        "://",
        "a://b@",
        "a://b:c",
        "--",
        "--token ",
        "eyJ",
        "eyJaaaaaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\naaaa\n",
        "[redacted:",
        "\\",
        "\\\"",
        "password:\\\"",
        "=",
        ": ",
        "sk-",
        "ghp_Zq7Wm2Xv9Lk4Tn8Rb3Yc6Hd1Gf5Js0Pw7Ea2-eyJ",
        "AKIAQWERTYUIOP234567 ",
        "curl -u a",
        "bearer ",
        "token a token ",
        "[redacted:secret]",
        "password=[redacted:secret]",
        "é",
        "a",
    ] {
        let given = unit.repeat(BYTES / 256 / unit.len());
        let steps = steps(|| drop(text(&given)));
        assert!(steps <= PER_BYTE_MAX * given.len(), "{unit:?}: {steps} for {}", given.len());
    }
}

#[test]
fn ten_megabytes_are_read_in_a_bounded_number_of_steps() {
    let given = "token:eyJ".repeat(BYTES / 9);
    let steps = steps(|| drop(text(&given)));
    assert!(steps <= PER_BYTE_MAX * given.len(), "{steps} for {}", given.len());
}

#[test]
fn hostile_documents_are_read_in_a_bounded_number_of_steps() {
    let list = |unit: &str| format!("[{}0]", unit.repeat(BYTES / 256 / unit.len()));
    for given in [
        list(r#"{"value":"password=x1","name":"api_key"},"#),
        list(r#""\\\\\\\"","#),
        list(r#"{"password":"\u0041"},"#),
        list(r#"[[]],"#),
        list(r#""--password","#),
        format!("\"{}\"", r"\u0041\n".repeat(BYTES / 1024)),
        format!("{{\"password\":[{}0]}}", "\"a\",".repeat(BYTES / 1024)),
    ] {
        let steps = steps(|| drop(json(&given).unwrap()));
        assert!(steps <= PER_BYTE_MAX * given.len(), "{}: {steps}", &given[..40]);
    }
}
