//! What is looked for: words, "phrases", prefixes*, and -what must not be there.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::words::{Word, words};
use crate::limits::{SEARCH_TERMS_MAX, SEARCH_TEXT_BYTES_MAX};
use crate::{Invalid, check_text};

/// A text that is looked for, as it was typed and as it is understood.
///
/// Words must all be there, in any order. What stands between quotes, or is joined by signs as
/// `src/main.rs` is, must stand so. `*` behind a word takes every word that begins with it, `-`
/// before one leaves out what has it. No text but one without words is refused: signs have no other
/// meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SearchText {
    typed: String,
    wanted: Vec<Phrase>,
    unwanted: Vec<Phrase>,
}

/// A word of a text that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchTerm {
    /// The word in lower case.
    pub word: String,
    /// Whether every word that begins with it will do.
    pub prefix: bool,
}

type Phrase = Vec<SearchTerm>;

impl SearchText {
    /// Every word that must be in a text, for an index that knows words but not their order.
    pub fn terms(&self) -> impl Iterator<Item = &SearchTerm> {
        self.wanted.iter().flatten()
    }

    /// Where in `text` what is looked for stands; nothing if the text is not meant.
    pub(super) fn places(&self, text: &str) -> Option<Vec<Range<usize>>> {
        let words: Vec<Word> = words(text).collect();
        if self.unwanted.iter().any(|phrase| find(phrase, &words).next().is_some()) {
            return None;
        }
        let mut places = Vec::new();
        for phrase in &self.wanted {
            let before = places.len();
            places.extend(find(phrase, &words).flat_map(|at| at.iter().map(|w| w.place.clone())));
            if places.len() == before {
                return None;
            }
        }
        places.sort_by_key(|place| (place.start, place.end));
        places.dedup();
        Some(places)
    }
}

/// The stretches of `words` that a phrase is.
fn find<'a>(phrase: &'a [SearchTerm], words: &'a [Word]) -> impl Iterator<Item = &'a [Word]> {
    let fits = |(term, word): (&SearchTerm, &Word)| match term.prefix {
        true => word.text.starts_with(&term.word),
        false => word.text == term.word,
    };
    words.windows(phrase.len().max(1)).filter(move |at| phrase.iter().zip(*at).all(fits))
}

impl FromStr for SearchText {
    type Err = Invalid;

    fn from_str(typed: &str) -> Result<Self, Invalid> {
        check_text("q", typed, SEARCH_TEXT_BYTES_MAX)?;
        let mut text = Self { typed: typed.to_owned(), wanted: Vec::new(), unwanted: Vec::new() };
        for piece in pieces(typed) {
            let phrase = piece.phrase();
            match piece.unwanted {
                _ if phrase.is_empty() => {}
                true => text.unwanted.push(phrase),
                false => text.wanted.push(phrase),
            }
        }
        if text.wanted.is_empty() {
            let reason = format!("{typed:?} has no word that is looked for: letters or digits");
            return Err(Invalid::new("q", reason));
        }
        let terms = text.wanted.iter().chain(&text.unwanted).map(Vec::len).sum::<usize>();
        if terms > SEARCH_TERMS_MAX {
            let reason = format!("{terms} words, at most {SEARCH_TERMS_MAX} are allowed");
            return Err(Invalid::new("q", reason));
        }
        Ok(text)
    }
}

/// A stretch of what was typed, without its signs.
struct Piece<'a> {
    text: &'a str,
    unwanted: bool,
    prefix: bool,
}

impl Piece<'_> {
    fn phrase(&self) -> Phrase {
        let mut phrase: Phrase =
            words(self.text).map(|word| SearchTerm { word: word.text, prefix: false }).collect();
        if let Some(last) = phrase.last_mut() {
            last.prefix = self.prefix;
        }
        phrase
    }
}

/// What was typed, cut at blanks and quotes. A quote that is not closed reaches to the end.
fn pieces(typed: &str) -> Vec<Piece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), typed.trim_start());
    while !rest.is_empty() {
        let (unwanted, begun) = match rest.strip_prefix('-') {
            Some(begun) => (true, begun),
            None => (false, rest),
        };
        let (text, behind) = match begun.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => {
                let end = begun.find(|c: char| c.is_whitespace() || c == '"');
                begun.split_at(end.unwrap_or(begun.len()))
            }
        };
        let star = behind.strip_prefix('*');
        let prefix = star.is_some() || text.ends_with('*');
        pieces.push(Piece { text, unwanted, prefix });
        rest = star.unwrap_or(behind).trim_start();
    }
    pieces
}

impl fmt::Display for SearchText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

impl TryFrom<String> for SearchText {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<SearchText> for String {
    fn from(text: SearchText) -> Self {
        text.typed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is understood: phrases with `+` between their words.
    fn understood(typed: &str) -> Result<String, String> {
        let text: SearchText = typed.parse().map_err(|error: Invalid| error.to_string())?;
        let word = |term: &SearchTerm| term.word.clone() + if term.prefix { "*" } else { "" };
        let phrase = |phrase: &Phrase| phrase.iter().map(word).collect::<Vec<_>>().join("+");
        let wanted = text.wanted.iter().map(phrase);
        let unwanted = text.unwanted.iter().map(|it| format!("-{}", phrase(it)));
        Ok(wanted.chain(unwanted).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn words_phrases_prefixes_and_what_is_unwanted_are_told_apart() {
        for (typed, expected) in [
            ("Login token", "login token"),
            ("\"Login token\" x", "login+token x"),
            ("log* -\"two words\" -x", "log* -two+words -x"),
            ("src/main.rs", "src+main+rs"),
            ("snake_ca*", "snake+ca*"),
            ("\"open end*", "open+end*"),
            ("\"a b\"* c", "a+b* c"),
            ("a\"b\"c", "a b c"),
            ("a -- -* b", "a b"),
            ("NEAR(x AND y) OR col:z", "near+x and y or col+z"),
        ] {
            assert_eq!(understood(typed).unwrap(), expected, "{typed}");
        }
    }

    #[test]
    fn a_text_without_a_word_to_look_for_is_refused_by_name() {
        for typed in ["", "  ", "-x", "\"\"", "*", "-\"a b\" !"] {
            let refused = typed.parse::<SearchText>().unwrap_err();
            assert_eq!(refused.field, "q");
            assert!(refused.to_string().contains("no word"), "{refused}");
        }
        let many = "w ".repeat(SEARCH_TERMS_MAX + 1);
        assert!(many.parse::<SearchText>().unwrap_err().to_string().contains("33 words"));
        assert!("a\0".parse::<SearchText>().is_err());
        assert!("a".repeat(SEARCH_TEXT_BYTES_MAX + 1).parse::<SearchText>().is_err());
    }

    #[test]
    fn what_is_looked_for_is_found_where_it_stands() {
        let text = "The Login of a login token, tokenised";
        for (typed, expected) in [
            ("login", Some(vec!["Login", "login"])),
            ("\"login token\"", Some(vec!["login", "token"])),
            ("token*", Some(vec!["token", "tokenised"])),
            ("login -\"a token\"", Some(vec!["Login", "login"])),
            ("login -tokenised", None),
            ("login logout", None),
            ("\"token login\"", None),
            ("toke", None),
        ] {
            let places = typed.parse::<SearchText>().unwrap().places(text);
            let found = places.map(|all| all.into_iter().map(|at| &text[at]).collect::<Vec<_>>());
            assert_eq!(found, expected, "{typed}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_understood_or_refused_and_comes_back(typed in "[\"*a-c \\-é/\0]{0,40}|.{0,60}") {
            if let Ok(text) = typed.parse::<SearchText>() {
                prop_assert!(text.terms().count() >= 1);
                prop_assert_eq!(text.to_string().parse::<SearchText>(), Ok(text));
            }
        }
    }
}
