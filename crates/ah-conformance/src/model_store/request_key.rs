//! Answers of keyed requests in the oracle.

use ah_model::{RawJson, Redact, Redactor, RequestKey, Timestamp, limits};
use ah_store::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Door, ModelStore, Rows};

/// What a keyed request was answered, as text: what a caller gets twice is equal to the letter.
#[derive(Clone)]
pub(super) struct Answer {
    fingerprint: String,
    text: String,
    at: Timestamp,
}

impl Answer {
    pub(super) fn kept_at(&self) -> Timestamp {
        self.at
    }
}

impl Redact for Answer {
    fn redact(&mut self, redactor: &mut Redactor) {
        let mut json = RawJson::parse("answer", &self.text, usize::MAX).unwrap();
        redactor.json("answer", &mut json);
        self.text = json.as_str().to_owned();
    }
}

impl ModelStore {
    /// [`Self::write`] for what creates, appends or claims: done once for each key.
    pub(super) fn write_once<T: Serialize + DeserializeOwned>(
        &self,
        work: impl FnOnce(&mut Rows, &Door) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.write_once_if(|_| true, work)
    }

    /// [`Self::write_once`], but an answer that is not worth keeping is not kept.
    pub(super) fn write_once_if<T: Serialize + DeserializeOwned>(
        &self,
        worth_keeping: fn(&T) -> bool,
        work: impl FnOnce(&mut Rows, &Door) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(key) = &self.key else {
            return self.write(work);
        };
        self.write(|rows, door| {
            if let Some(text) = rows.answered(key)? {
                return Ok(serde_json::from_str(text).unwrap());
            }
            let done = work(rows, door)?;
            if !worth_keeping(&done) {
                return Ok(done);
            }
            let answer = Answer {
                fingerprint: key.fingerprint.clone(),
                text: serde_json::to_string(&done).unwrap(),
                at: door.now(),
            };
            rows.answers.insert(key.key.clone(), answer);
            Ok(done)
        })
    }
}

impl Rows {
    /// What was answered to the request before; another one with the same key is refused.
    fn answered(&self, key: &RequestKey) -> Result<Option<&str>, StoreError> {
        match self.answers.get(&key.key) {
            None => Ok(None),
            Some(answer) if answer.fingerprint == key.fingerprint => Ok(Some(&answer.text)),
            Some(_) => Err(key.reused().into()),
        }
    }

    pub(super) fn drop_old_answers(&mut self, now: Timestamp) {
        self.answers.retain(|_, answer| answer.at.plus_ms(limits::REQUEST_KEY_MS) > now);
    }
}
