//! Rust source cut into code and string literals: enough to judge one without the other.

/// A source file whose comments and literals no longer hide or imitate code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The text with comments and the insides of literals blanked; lines stay where they were.
    pub(crate) code: String,
    pub(crate) literals: Vec<Literal>,
}

/// A string literal as written, escapes included.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// An attribute, with its brackets cut off.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn parse(text: &str) -> Self {
        let mut lexer = Lexer {
            characters: text.chars().collect(),
            position: 0,
            code: String::with_capacity(text.len()),
            literals: Vec::new(),
        };
        while lexer.position < lexer.characters.len() {
            lexer.step();
        }
        Self { code: lexer.code, literals: lexer.literals }
    }

    /// Every `#[..]` and `#![..]`.
    pub(crate) fn attributes(&self) -> Vec<Attribute> {
        let starts = self.code.match_indices('#').filter_map(|(at, _)| {
            let rest = self.code[at + 1..].trim_start();
            let rest = rest.strip_prefix('!').unwrap_or(rest).trim_start();
            Some((at, bracketed(rest.strip_prefix('[')?)))
        });
        starts
            .map(|(at, text)| Attribute { line: line_at(&self.code, at), text: text.to_owned() })
            .collect()
    }

    /// The line of every place where `word` stands alone, followed by `next`.
    pub(crate) fn lines_of(&self, word: &str, next: char) -> Vec<usize> {
        let found = self.code.match_indices(word).filter(|(at, _)| {
            let before = self.code[..*at].chars().next_back();
            let after = self.code[at + word.len()..].trim_start();
            !before.is_some_and(is_word) && after.starts_with(next)
        });
        found.map(|(at, _)| line_at(&self.code, at)).collect()
    }
}

pub(crate) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The line, from 1, of a byte offset.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    1 + text[..offset].matches('\n').count()
}

/// What stands before the bracket that closes one already open.
fn bracketed(text: &str) -> &str {
    let mut depth = 1;
    for (at, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

struct Lexer {
    characters: Vec<char>,
    position: usize,
    code: String,
    literals: Vec<Literal>,
}

impl Lexer {
    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            (Some('/'), Some('/')) => self.line_comment(),
            (Some('/'), Some('*')) => self.block_comment(),
            (Some('"'), _) => self.string(),
            (Some('\''), _) => self.quote(),
            (Some('r'), Some('"' | '#')) if self.starts_literal() => self.raw_string(),
            _ => self.keep(1),
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.position + ahead).copied()
    }

    fn keep(&mut self, count: usize) {
        for _ in 0..count {
            self.code.extend(self.peek(0));
            self.position += 1;
        }
    }

    fn blank(&mut self, count: usize) {
        for _ in 0..count {
            self.code.extend(self.peek(0).map(|character| match character {
                '\n' => '\n',
                _ => ' ',
            }));
            self.position += 1;
        }
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|character| character != '\n') {
            self.blank(1);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth += 1,
                (Some('*'), Some('/')) => depth -= 1,
                (None, _) => return,
                _ => {
                    self.blank(1);
                    continue;
                }
            }
            self.blank(2);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.keep(1);
        let start = self.position;
        let mut end = start;
        while let Some(character) = self.characters.get(end) {
            match character {
                '"' => break,
                '\\' => end += 2,
                _ => end += 1,
            }
        }
        self.literal(start, end);
        self.keep(1);
    }

    fn raw_string(&mut self) {
        self.keep(1);
        let hashes = (0..).take_while(|&ahead| self.peek(ahead) == Some('#')).count();
        self.keep(hashes + 1);
        let start = self.position;
        let closes = |end: usize| {
            self.characters[end] == '"'
                && self.characters[end + 1..].iter().take_while(|&&c| c == '#').count() >= hashes
        };
        let end = (start..self.characters.len()).find(|&end| closes(end));
        self.literal(start, end.unwrap_or(self.characters.len()));
        self.keep(hashes + 1);
    }

    fn literal(&mut self, start: usize, end: usize) {
        let end = end.min(self.characters.len());
        let line = 1 + self.code.matches('\n').count();
        let text = self.characters[start..end].iter().collect();
        self.literals.push(Literal { line, text });
        self.blank(end - start);
    }

    /// A character literal, or the start of a lifetime.
    fn quote(&mut self) {
        match (self.peek(1), self.peek(2)) {
            (Some('\\'), _) => {
                let rest = self.characters[self.position + 3..].iter();
                let length = rest.take_while(|&&character| character != '\'').count();
                self.blank(length + 4);
            }
            (Some(_), Some('\'')) => self.blank(3),
            _ => self.keep(1),
        }
    }

    /// Whether the `r` here opens a raw string and does not end a word or open a raw name.
    fn starts_literal(&self) -> bool {
        let before = |back: usize| Some(self.characters[self.position.checked_sub(back)?]);
        let ends_word = match before(1) {
            Some('b' | 'c') => before(2).is_some_and(is_word),
            Some(character) => is_word(character),
            None => false,
        };
        let opens = self.characters[self.position + 1..].iter().find(|&&c| c != '#') == Some(&'"');
        !ends_word && opens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::parse(text).code
    }

    #[test]
    fn comments_are_blanked_and_lines_stay() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* b /* c */\n */ d"), "a             \n    d");
    }

    #[test]
    fn literals_are_blanked_and_kept_apart() {
        let source = Source::parse("x(\"a\\\"b\");\ny(br#\"c\"d\"#);");
        assert_eq!(source.code, "x(\"    \");\ny(br#\"   \"#);");
        let literals = vec![
            Literal { line: 1, text: "a\\\"b".to_owned() },
            Literal { line: 2, text: "c\"d".to_owned() },
        ];
        assert_eq!(source.literals, literals);
    }

    #[test]
    fn lifetimes_and_raw_names_are_code() {
        assert_eq!(code("&'a str, '\"', '\\'', r#type"), "&'a str,    ,     , r#type");
    }

    #[test]
    fn attributes_are_found_across_lines() {
        let source = Source::parse("#![a]\n#[b(\n  c[0],\n)]\nfn d() {}");
        let attributes = vec![
            Attribute { line: 1, text: "a".to_owned() },
            Attribute { line: 2, text: "b(\n  c[0],\n)".to_owned() },
        ];
        assert_eq!(source.attributes(), attributes);
    }

    #[test]
    fn words_are_found_whole() {
        let source = Source::parse("not_todo!();\ntodo!();\n\"todo!\"");
        assert_eq!(source.lines_of("todo", '!'), vec![2]);
    }
}
