//! `prices.toml` beside the user's configuration: prices that go before the list that ships.
//!
//! A `[[price]]` has a `model`, from when it holds, and dollars per million tokens. They are read
//! digit by digit from what is written: a binary fraction would not be what the person meant.

use std::path::Path;
use std::sync::Arc;

use ah_model::{Day, Price, Rates};
use toml_edit::{ArrayOfTables, Item, Table, Value};

use super::error::ConfigError;
use super::file;
use super::origin::Place;
use crate::environment::Environment;

const PRICES_FILE: &str = "prices.toml";

/// The keys of a price.
const KEYS: [&str; 6] = ["model", "from", "input", "output", "cache-read", "cache-write"];

const DOLLARS: &str = "dollars per million tokens, such as 1.25";

/// The prices that the user keeps; none when there is no file.
pub(crate) fn own_prices(environment: &Environment) -> Result<Vec<Price>, ConfigError> {
    let Some(config) = super::user_path(environment)? else { return Ok(Vec::new()) };
    let path = config.with_file_name(PRICES_FILE);
    file::read(&path)?.map_or(Ok(Vec::new()), |text| parse(&path, &text))
}

fn parse(path: &Path, text: &str) -> Result<Vec<Price>, ConfigError> {
    let document = file::document(path, text)?;
    let file = PricesFile { path, text };
    let mut prices = Vec::new();
    for (name, item) in document.iter() {
        match (name, item.as_array_of_tables()) {
            ("price", Some(tables)) => prices.extend(file.prices(tables)?),
            ("price", None) => return Err(file.mismatch("price", item, "a list, [[price]]")),
            (other, _) => return Err(file.unknown(other, item)),
        }
    }
    Ok(prices)
}

struct PricesFile<'a> {
    path: &'a Path,
    text: &'a str,
}

impl PricesFile<'_> {
    fn prices(&self, tables: &ArrayOfTables) -> Result<Vec<Price>, ConfigError> {
        tables.iter().map(|table| self.price(table)).collect()
    }

    fn price(&self, table: &Table) -> Result<Price, ConfigError> {
        if let Some((name, item)) = table.iter().find(|(name, _)| !KEYS.contains(name)) {
            return Err(self.unknown(&format!("price.{name}"), item));
        }
        let [input, output] = [self.rate(table, "input")?, self.rate(table, "output")?];
        let whole = |key, rate: Option<u64>| {
            rate.ok_or_else(|| self.mismatch_at(self.line(table.span()), key, DOLLARS, None))
        };
        let input = whole("input", input)?;
        Ok(Price {
            model: self.model(table)?,
            from: self.from(table)?,
            rates: Rates {
                input,
                output: whole("output", output)?,
                cache_read: self.rate(table, "cache-read")?.unwrap_or(input),
                cache_write: self.rate(table, "cache-write")?.unwrap_or(input),
            },
        })
    }

    fn model(&self, table: &Table) -> Result<String, ConfigError> {
        const EXPECTED: &str = "the name of a model, such as \"gpt-5\"";
        match table.get("model") {
            None => Err(self.mismatch_at(self.line(table.span()), "model", EXPECTED, None)),
            Some(item) => match item.as_str().filter(|name| !name.is_empty()) {
                Some(name) => Ok(name.to_owned()),
                None => Err(self.mismatch("model", item, EXPECTED)),
            },
        }
    }

    /// A day, as a text or as TOML's own date.
    fn from(&self, table: &Table) -> Result<Option<Day>, ConfigError> {
        let Some(item) = table.get("from") else { return Ok(None) };
        let text = match item.as_value() {
            Some(Value::String(text)) => text.value().clone(),
            Some(Value::Datetime(date)) => date.value().to_string(),
            _ => String::new(),
        };
        let day = text.parse();
        day.map(Some).map_err(|_| self.mismatch("from", item, "a day, such as 2026-01-31"))
    }

    fn rate(&self, table: &Table, key: &'static str) -> Result<Option<u64>, ConfigError> {
        let Some(item) = table.get(key) else { return Ok(None) };
        let written = match item.as_value() {
            Some(Value::Integer(number)) => number.display_repr(),
            Some(Value::Float(number)) => number.display_repr(),
            _ => return Err(self.mismatch(key, item, DOLLARS)),
        };
        match Rates::parse_usd(&written.replace('_', "")) {
            Some(rate) => Ok(Some(rate)),
            None => Err(self.mismatch(key, item, DOLLARS)),
        }
    }

    fn line(&self, span: Option<std::ops::Range<usize>>) -> Place {
        let line = file::position(self.text, span.map_or(0, |span| span.start)).0;
        Place::File { path: Arc::new(self.path.to_owned()), line: Some(line) }
    }

    fn unknown(&self, key: &str, item: &Item) -> ConfigError {
        ConfigError::UnknownKeyIn { place: self.line(item.span()), key: key.to_owned() }
    }

    fn mismatch(&self, key: &'static str, item: &Item, expected: &str) -> ConfigError {
        let found = item.as_value().map(|value| value.to_string().trim().to_owned());
        let found = found.unwrap_or_else(|| file::with_article(item.type_name()));
        self.mismatch_at(self.line(item.span()), key, expected, Some(found))
    }

    fn mismatch_at(
        &self,
        place: Place,
        key: &'static str,
        expected: &str,
        found: Option<String>,
    ) -> ConfigError {
        ConfigError::Mismatch { place, key, expected: expected.to_owned(), found }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse(Path::new("prices.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn prices_are_taken_as_they_are_written() {
        let text = "[[price]]\nmodel = \"a\"\ninput = 1_0\noutput = 0.1\n\n\
                    [[price]]\nmodel = \"b\"\nfrom = 2026-01-31\ninput = 3.0e-1\noutput = 15\n\
                    cache-read = 0.03\ncache-write = 3.75\n";
        let rates = |input, output, cache_read, cache_write| Rates {
            input,
            output,
            cache_read,
            cache_write,
        };
        let expected = [
            Price {
                model: "a".to_owned(),
                from: None,
                rates: rates(10_000_000, 100_000, 10_000_000, 10_000_000),
            },
            Price {
                model: "b".to_owned(),
                from: Some("2026-01-31".parse().unwrap()),
                rates: rates(300_000, 15_000_000, 30_000, 3_750_000),
            },
        ];
        assert_eq!(parse(Path::new("prices.toml"), text).unwrap(), expected);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_key() {
        for (text, message) in [
            ("[[price]]\nmodel = \n", "prices.toml:2:9: "),
            ("x = 1\n", "prices.toml:1: unknown key \"x\""),
            ("price = 1\n", "prices.toml:1: price must be a list, [[price]], not 1"),
            (
                "[[price]]\nmodel = \"a\"\ninput = 1\n",
                "prices.toml:1: output must be dollars per million tokens, such as 1.25",
            ),
            (
                "[[price]]\ninput = 1\noutput = 1\n",
                "prices.toml:1: model must be the name of a model, such as \"gpt-5\"",
            ),
            (
                "\n[[price]]\nmodel = \"a\"\ninput = -1\noutput = 1\n",
                "prices.toml:4: input must be dollars per million tokens, such as 1.25, not -1",
            ),
            (
                "[[price]]\nmodel = \"a\"\ninput = \"1\"\noutput = 1\n",
                "prices.toml:3: input must be dollars per million tokens, such as 1.25, not \"1\"",
            ),
            (
                "[[price]]\nmodel = \"a\"\ninput = 1\noutput = nan\n",
                "prices.toml:4: output must be dollars per million tokens, such as 1.25, not nan",
            ),
            (
                "[[price]]\nmodel = \"a\"\nfrom = \"soon\"\ninput = 1\noutput = 1\n",
                "prices.toml:3: from must be a day, such as 2026-01-31, not \"soon\"",
            ),
            (
                "[[price]]\nmodel = \"a\"\ninput = 1\noutput = 1\ncache_read = 1\n",
                "prices.toml:5: unknown key \"price.cache_read\"",
            ),
        ] {
            let refused = refused(text);
            assert!(refused.starts_with(message), "{refused}");
        }
    }
}
