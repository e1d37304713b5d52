//! `name = value` files with `[sections]`, as Mercurial and Bazaar write them.

/// The first value of `name` in `section`; the lines before any header are section `""`.
pub(super) fn value<'a>(text: &'a str, section: &str, name: &str) -> Option<&'a str> {
    let mut here = section.is_empty();
    for line in text.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            here = header.trim_end_matches(']').trim() == section;
        } else if here && !line.starts_with(['#', ';']) {
            let Some((left, right)) = line.split_once('=') else {
                continue;
            };
            if left.trim() == name {
                return Some(right.trim()).filter(|value| !value.is_empty());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::value;

    const TEXT: &str = "parent = /a\n# default = no\n[ui]\ndefault = no\n[paths]\n; default = no\n\
                        default = https://h/x=y\nempty =\n";

    #[test]
    fn finds_a_name_in_its_section_only() {
        assert_eq!(value(TEXT, "paths", "default"), Some("https://h/x=y"));
        assert_eq!(value(TEXT, "", "parent"), Some("/a"));
        assert_eq!(value(TEXT, "", "default"), None);
    }

    #[test]
    fn an_empty_value_is_none() {
        assert_eq!(value(TEXT, "paths", "empty"), None);
    }
}
