//! Ids of sessions as parts of names that others have rules for.

use ah_model::SessionId;

/// `session` as one part of a ref or a path: every byte but letters, digits, `-` and `_` is escaped,
/// so that no two sessions share a name and none means anything to Git or a file system.
pub(crate) fn escaped(session: &SessionId, escape: char) -> String {
    let mut name = String::new();
    for byte in session.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => name.push_str(&format!("{escape}{byte:02x}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_one_part_of_a_name_whatever_its_id() {
        for (id, expected) in [
            ("0198c0de-aa", "0198c0de-aa"),
            ("ses_1a2b", "ses_1a2b"),
            ("a..b", "a%2e%2eb"),
            ("x.lock", "x%2elock"),
            ("a~b:c", "a%7eb%3ac"),
        ] {
            assert_eq!(escaped(&id.parse().unwrap(), '%'), expected);
        }
    }
}
