//! What programs of several members write, as whole lines that say whose they are.

use std::collections::BTreeMap;

use ah_model::MemberName;

use crate::output::Stream;

/// A line that does not end is printed in parts of about this size.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Lines that have begun, by who writes them.
#[derive(Debug, Default)]
pub(super) struct Lines {
    begun: BTreeMap<(MemberName, Stream), String>,
}

impl Lines {
    /// The lines that `text` ends.
    pub(super) fn put(&mut self, member: &MemberName, stream: Stream, text: &str) -> Vec<String> {
        let begun = self.begun.entry((member.clone(), stream)).or_default();
        begun.push_str(text);
        let mut lines = Vec::new();
        if let Some(end) = begun.rfind('\n') {
            let rest = begun.split_off(end + 1);
            lines.extend(std::mem::replace(begun, rest).lines().map(str::to_owned));
        }
        if begun.len() > LINE_BYTES_MAX {
            lines.push(std::mem::take(begun));
        }
        lines
    }

    /// What was not ended by a line end.
    pub(super) fn rest(self) -> impl Iterator<Item = (MemberName, Stream, String)> {
        let begun = self.begun.into_iter().filter(|(_, line)| !line.is_empty());
        begun.map(|((member, stream), line)| (member, stream, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_the_lines_of_who_wrote_them() {
        let (a, b): (MemberName, MemberName) = ("a".parse().unwrap(), "b".parse().unwrap());
        let mut lines = Lines::default();
        assert_eq!(lines.put(&a, Stream::Stdout, "one\ntw"), ["one"]);
        assert_eq!(lines.put(&b, Stream::Stdout, "B\r\n\n"), ["B", ""]);
        assert_eq!(lines.put(&a, Stream::Stderr, "x"), [""; 0]);
        assert_eq!(lines.put(&a, Stream::Stdout, "o\nthr"), ["two"]);
        let long = "y".repeat(LINE_BYTES_MAX + 1);
        assert_eq!(lines.put(&b, Stream::Stdout, &long), [long]);
        let rest = [(a.clone(), Stream::Stdout, "thr".into()), (a, Stream::Stderr, "x".into())];
        assert_eq!(lines.rest().collect::<Vec<_>>(), rest);
    }
}
