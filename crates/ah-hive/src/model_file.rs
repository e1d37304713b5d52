//! `state/model`: the model an agent runs on, one line. It survives the agent's destruction.

use std::ffi::OsStr;

use ah_model::Invalid;
use ah_model::limits::SHORT_TEXT_BYTES_MAX;

use crate::place::refused;
use crate::{Home, HostError};

const FILE: &str = "model";

impl Home {
    /// The model that the file names; none when there is no file.
    pub fn model(&self) -> Result<Option<String>, HostError> {
        let state = self.open_state()?;
        let Some(bytes) = state.read_small(FILE, SHORT_TEXT_BYTES_MAX as u64 + 1)? else {
            return Ok(None);
        };
        let refuse = |reason: &str| refused(&state.path().join(FILE), reason);
        let text = String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8"))?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        match check_model(line) {
            Ok(()) => Ok(Some(line.to_owned())),
            Err(_) => Err(refuse("it is not one line with the name of a model")),
        }
    }

    /// Writes the file, or removes it for none.
    pub fn set_model(&self, model: Option<&str>) -> Result<(), HostError> {
        let state = self.open_state()?;
        match model {
            Some(model) => {
                check_model(model)?;
                state.write_small(FILE, format!("{model}\n").as_bytes())
            }
            None => match state.stat(OsStr::new(FILE))? {
                Some(_) => state.remove_file(FILE),
                None => Ok(()),
            },
        }
    }
}

/// Refuses what is not the text of one line.
pub fn check_model(model: &str) -> Result<(), Invalid> {
    if model.trim().is_empty() || model.chars().any(char::is_control) {
        return Err(Invalid::new("model", "must be one line that is not empty"));
    }
    if model.len() > SHORT_TEXT_BYTES_MAX {
        let reason = format!("{} bytes, at most {SHORT_TEXT_BYTES_MAX} are allowed", model.len());
        return Err(Invalid::new("model", reason));
    }
    Ok(())
}
