//! The patterns of the description: matched, and made texts from. Only what they need is known;
//! anything else is a mistake in a test, not a text that passes.

use ah_conformance::Random;

/// Most repeats that are made where any number is allowed.
const REPEATS_MAX: usize = 12;

pub(super) struct Pattern {
    parts: Vec<Part>,
    begins: bool,
    ends: bool,
}

struct Part {
    atom: Atom,
    min: usize,
    max: usize,
}

enum Atom {
    /// Characters in these ranges, or in none of them.
    Class { ranges: Vec<(char, char)>, negated: bool },
    /// One of these.
    Group(Vec<Vec<Part>>),
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Self {
        let begins = text.starts_with('^');
        let ends = text.ends_with('$');
        let inner = text.strip_prefix('^').unwrap_or(text);
        let inner: Vec<char> = inner.strip_suffix('$').unwrap_or(inner).chars().collect();
        let mut parser = Parser { text: &inner, at: 0 };
        let mut alternatives = parser.alternatives();
        assert_eq!((parser.at, alternatives.len()), (inner.len(), 1), "{text}");
        Self { parts: alternatives.remove(0), begins, ends }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let last = if self.begins { 0 } else { text.len() };
        let whole = |end: usize| !self.ends || end == text.len();
        (0..=last).any(|start| follow(&self.parts, &text, start, &mut |end| whole(end)))
    }

    /// A text that matches, of at most about `length` characters where it may be of any length.
    pub(super) fn text(&self, random: &mut Random) -> String {
        let mut text = String::new();
        make(&self.parts, random, &mut text);
        text
    }
}

fn make(parts: &[Part], random: &mut Random, text: &mut String) {
    for Part { atom, min, max } in parts {
        let more = (max - min).min(REPEATS_MAX) as u64;
        let count = min + usize::try_from(random.below(more + 1)).unwrap();
        for _ in 0..count {
            match atom {
                Atom::Group(alternatives) => {
                    let one = usize::try_from(random.below(alternatives.len() as u64)).unwrap();
                    make(&alternatives[one], random, text);
                }
                Atom::Class { ranges, negated } => text.push(member(ranges, *negated, random)),
            }
        }
    }
}

fn member(ranges: &[(char, char)], negated: bool, random: &mut Random) -> char {
    if negated {
        let all: Vec<char> = (' '..='~').chain(['é', '☃']).collect();
        let free: Vec<char> = all.into_iter().filter(|c| !within(ranges, *c)).collect();
        return random.pick(&free);
    }
    let (first, last) = random.pick(ranges);
    let span = u64::from(u32::from(last) - u32::from(first)) + 1;
    let code = u32::from(first) + u32::try_from(random.below(span)).unwrap();
    char::from_u32(code).unwrap()
}

fn within(ranges: &[(char, char)], character: char) -> bool {
    ranges.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

/// Whether `parts` match from `at` on, and `then` takes where they end.
fn follow(parts: &[Part], text: &[char], at: usize, then: &mut dyn FnMut(usize) -> bool) -> bool {
    let Some((part, rest)) = parts.split_first() else { return then(at) };
    repeat(part, 0, text, at, &mut |end| follow(rest, text, end, then))
}

fn repeat(
    part: &Part,
    count: usize,
    text: &[char],
    at: usize,
    then: &mut dyn FnMut(usize) -> bool,
) -> bool {
    if let Atom::Class { ranges, negated } = &part.atom {
        let fits = |c: &&char| within(ranges, **c) != *negated;
        let most = text[at..].iter().take(part.max).take_while(fits).count();
        return (part.min..=most).rev().any(|taken| then(at + taken));
    }
    let Atom::Group(alternatives) = &part.atom else { return false };
    let once_more = count < part.max
        && alternatives.iter().any(|parts| {
            follow(parts, text, at, &mut |end| end > at && repeat(part, count + 1, text, end, then))
        });
    once_more || (count >= part.min && then(at))
}

struct Parser<'a> {
    text: &'a [char],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> char {
        self.at += 1;
        self.text[self.at - 1]
    }

    fn alternatives(&mut self) -> Vec<Vec<Part>> {
        let mut alternatives = vec![Vec::new()];
        while let Some(character) = self.peek().filter(|c| *c != ')') {
            if character == '|' {
                self.at += 1;
                alternatives.push(Vec::new());
                continue;
            }
            let atom = self.atom();
            let (min, max) = self.times();
            alternatives.last_mut().unwrap().push(Part { atom, min, max });
        }
        alternatives
    }

    fn atom(&mut self) -> Atom {
        match self.next() {
            '(' => {
                let alternatives = self.alternatives();
                assert_eq!(self.next(), ')');
                Atom::Group(alternatives)
            }
            '[' => self.class(),
            '\\' if self.peek() == Some('S') => {
                self.at += 1;
                let ranges = vec![('\u{0}', ' '), ('\u{a0}', '\u{a0}')];
                Atom::Class { ranges, negated: true }
            }
            '\\' => {
                let character = self.escaped();
                Atom::Class { ranges: vec![(character, character)], negated: false }
            }
            character => {
                assert!(!".*+?{}".contains(character), "{character} is not known");
                Atom::Class { ranges: vec![(character, character)], negated: false }
            }
        }
    }

    fn class(&mut self) -> Atom {
        let negated = self.peek() == Some('^');
        self.at += usize::from(negated);
        let mut ranges = Vec::new();
        while self.peek() != Some(']') {
            let first = self.character();
            let ranged = self.peek() == Some('-') && self.text.get(self.at + 1) != Some(&']');
            let last = if ranged {
                self.at += 1;
                self.character()
            } else {
                first
            };
            ranges.push((first, last));
        }
        self.at += 1;
        Atom::Class { ranges, negated }
    }

    fn character(&mut self) -> char {
        match self.next() {
            '\\' => self.escaped(),
            character => character,
        }
    }

    fn escaped(&mut self) -> char {
        match self.next() {
            'u' => {
                let digits: String = (0..4).map(|_| self.next()).collect();
                char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap()
            }
            character => {
                assert!(!character.is_ascii_alphanumeric(), "\\{character} is not known");
                character
            }
        }
    }

    fn times(&mut self) -> (usize, usize) {
        let times = match self.peek() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => return self.counted(),
            _ => return (1, 1),
        };
        self.at += 1;
        times
    }

    fn counted(&mut self) -> (usize, usize) {
        let end = self.text[self.at..].iter().position(|c| *c == '}').unwrap() + self.at;
        let inner: String = self.text[self.at + 1..end].iter().collect();
        self.at = end + 1;
        let (min, max) = inner.split_once(',').unwrap_or((&inner, &inner));
        (min.parse().unwrap(), max.parse().unwrap())
    }
}

#[test]
fn patterns_match_what_they_should_and_what_they_make() {
    let mut random = Random::new(1);
    for (pattern, good, bad) in [
        ("^[A-Za-z0-9._~-]+$", vec!["a", "a-~.Z"], vec!["", "a b", "é"]),
        (r"\S", vec!["a", " a "], vec!["", "  ", "\n"]),
        ("^(61|6e|74)([0-9a-f]{2})*$", vec!["61", "6e00ff"], vec!["62", "61f", ""]),
        ("^[a-z]{1,3}(@[a-z]{2})?$", vec!["abc", "a@bc"], vec!["abcd", "a@b", "@bc"]),
        (r"^[^\u0000-\u001f\u007f]+$", vec!["a ü"], vec!["a\tb", ""]),
        ("^[0-9]{1,18}-[0-9]{1,18}$", vec!["0-1"], vec!["-1", "1-", "1-2-3"]),
    ] {
        let pattern = Pattern::parse(pattern);
        good.into_iter().for_each(|text| assert!(pattern.matches(text), "{text}"));
        bad.into_iter().for_each(|text| assert!(!pattern.matches(text), "{text}"));
        for _ in 0..100 {
            let text = pattern.text(&mut random);
            assert!(pattern.matches(&text), "{text}");
        }
    }
}
