//! What a program says in a turn.

use serde_json::Value;

use super::program::OutputForm;

/// Most that is kept of what a program says; the rest is only in the live events.
const OUTPUT_BYTES_MAX: usize = 256 * 1024;

/// Gathers what a program says.
#[derive(Debug)]
pub(super) struct Said {
    form: OutputForm,
    /// What was said, or, of JSON lines, said last.
    text: String,
    /// The result that it names as such.
    result: Option<String>,
    /// It says itself that it failed.
    error: Option<String>,
}

impl Said {
    pub(super) fn new(form: OutputForm) -> Self {
        Self { form, text: String::new(), result: None, error: None }
    }

    /// Takes one line.
    pub(super) fn line(&mut self, line: &str) {
        match self.form {
            OutputForm::Text => {
                self.text.push_str(line);
                self.text.push('\n');
                self.text = cut(std::mem::take(&mut self.text));
            }
            OutputForm::JsonLines => {
                if let Ok(value) = serde_json::from_str(line) {
                    self.json(&value);
                }
            }
        }
    }

    fn json(&mut self, value: &Value) {
        match value["type"].as_str() {
            Some("result") => {
                let text = value["result"].as_str().map(|text| cut(text.to_owned()));
                match value["is_error"].as_bool() {
                    Some(true) => self.error = text.or(Some("it failed".to_owned())),
                    _ => self.result = text,
                }
            }
            Some("assistant") => self.replace(&texts(&value["message"]["content"])),
            Some("item.completed") if value["item"]["type"] == "agent_message" => {
                self.replace(value["item"]["text"].as_str().unwrap_or_default());
            }
            Some("turn.failed" | "error") => {
                let message = value["error"]["message"].as_str().or(value["message"].as_str());
                self.error = Some(message.unwrap_or("it failed").to_owned());
            }
            _ => {}
        }
    }

    fn replace(&mut self, text: &str) {
        if !text.is_empty() {
            self.text = cut(text.to_owned());
        }
    }

    /// What the turn answers, or why it failed.
    pub(super) fn end(self) -> Result<String, String> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.result.unwrap_or(self.text).trim_end().to_owned()),
        }
    }
}

fn texts(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The end of `text` where it is too long.
fn cut(mut text: String) -> String {
    if text.len() > OUTPUT_BYTES_MAX {
        let at = text.ceil_char_boundary(text.len() - OUTPUT_BYTES_MAX);
        text.drain(..at);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(form: OutputForm, lines: &[&str]) -> Result<String, String> {
        let mut said = Said::new(form);
        lines.iter().for_each(|line| said.line(line));
        said.end()
    }

    #[test]
    fn the_answer_is_found_in_what_programs_write() {
        let text = said(OutputForm::Text, &["one", "", "two"]);
        assert_eq!(text.unwrap(), "one\n\ntwo");
        let claude = [
            r#"{"type":"system","subtype":"init"}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"thinking"}]}}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"done"}"#,
        ];
        assert_eq!(said(OutputForm::JsonLines, &claude).unwrap(), "done");
        let codex = [
            r#"{"type":"item.completed","item":{"type":"reasoning","text":"hm"}}"#,
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"done"}}"#,
            r#"{"type":"turn.completed","usage":{}}"#,
        ];
        assert_eq!(said(OutputForm::JsonLines, &codex).unwrap(), "done");
        let failed = [r#"{"type":"result","is_error":true,"result":"out of credit"}"#];
        assert_eq!(said(OutputForm::JsonLines, &failed).unwrap_err(), "out of credit");
    }

    #[test]
    fn of_too_much_the_end_is_kept() {
        let long = "é".repeat(OUTPUT_BYTES_MAX);
        let kept = said(OutputForm::Text, &[&long, "end"]).unwrap();
        assert!(kept.len() <= OUTPUT_BYTES_MAX && kept.ends_with("é\nend"));
    }
}
