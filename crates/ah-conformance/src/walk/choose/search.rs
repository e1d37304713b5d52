//! Chooses searches, and events whose words they find.

use ah_model::{NewEvent, SearchQuery};

use super::super::operation::Operation;
use super::Chooser;
use crate::given::json;

const KINDS: [&str; 4] = ["user_message", "assistant_message", "post_tool", "note"];
const WORDS: [&str; 9] = ["red", "Red", "green", "GREENER", "ß", "東京", "x_y", "7", "☃"];
const LOOKED_FOR: [&str; 14] = [
    "red",
    "-red green",
    "gre*",
    "\"red green\"",
    "red green",
    "ß",
    "京",
    "x_y",
    "y",
    "7*",
    "☃ red",
    "東京 -\"green red\"",
    "\"x y red*",
    "§ red'",
];

impl Chooser<'_> {
    pub(super) fn search_operation(&mut self) -> Operation {
        match self.random.below(10) {
            0..=4 => {
                let events = (0..=self.random.below(3)).map(|_| self.speech()).collect();
                Operation::AppendEvents(self.session_id(), events)
            }
            _ => Operation::Search(Box::new(self.search_query()), self.start()),
        }
    }

    fn speech(&mut self) -> NewEvent {
        let words: Vec<_> = (0..=self.random.below(4)).map(|_| self.random.pick(&WORDS)).collect();
        let text = serde_json::to_string(&words.join(" ")).unwrap();
        let kind = self.random.pick(&KINDS);
        let data = match kind {
            "post_tool" => format!("{{\"tool_name\":\"Bash\",\"tool_output\":[{text}]}}"),
            _ => text,
        };
        let ts = self.random.one_in(3).then(|| self.time());
        NewEvent { kind: kind.to_owned(), data: json(&data), dedup_key: None, ts }
    }

    fn search_query(&mut self) -> SearchQuery {
        let mut query = SearchQuery::new(self.random.pick(&LOOKED_FOR).parse().unwrap());
        for _ in 0..self.random.below(3) {
            match self.random.below(5) {
                0 => query.session_id = Some(self.session_id()),
                1 => query.repo_id = Some(self.random.pick(&self.repos)),
                2 => query.agent = Some(self.agent().name),
                3 => query.since = Some(self.time()),
                _ => query.types.push(self.random.pick(&KINDS).to_owned()),
            }
        }
        query
    }
}
