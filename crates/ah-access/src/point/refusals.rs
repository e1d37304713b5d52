//! Peers that were not let in, written into the history of whom they claimed to be.
//!
//! Anybody can knock, so not every knock is written: one line a minute for each name and reason, with
//! how often it was.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use ah_model::{ExecutorId, RawJson};
use ah_store::{Store, block_on};
use serde_json::json;

use crate::peer::RefusedPeer;
use crate::tls::OnRefusal;

/// Refusals that wait to be written; more are not.
const WAITING_MAX: usize = 1_024;
/// Names and reasons that are counted at a time.
const COUNTED_MAX: usize = 1_024;
const EVERY: Duration = Duration::from_secs(60);
/// Stands for a peer without a name.
const NOBODY: &str = "unknown";

/// What is told of refusals, and writes them down.
pub fn record_refusals(store: Arc<dyn Store>) -> std::io::Result<OnRefusal> {
    let (sender, refusals) = sync_channel::<RefusedPeer>(WAITING_MAX);
    let record = move || Recorder { store, counted: HashMap::new() }.work(&refusals);
    std::thread::Builder::new().name("ah-refusals".to_owned()).spawn(record)?;
    // A flood is not written down in full.
    Ok(Arc::new(move |refused: &RefusedPeer| drop(sender.try_send(refused.clone()))))
}

struct Recorder {
    store: Arc<dyn Store>,
    counted: HashMap<(String, &'static str), Counted>,
}

struct Counted {
    since: Instant,
    again: u64,
    last: RefusedPeer,
}

impl Recorder {
    fn work(mut self, refusals: &Receiver<RefusedPeer>) {
        loop {
            match refusals.recv_timeout(EVERY) {
                Ok(refused) => self.refused(refused),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.settle();
        }
    }

    fn refused(&mut self, refused: RefusedPeer) {
        let name = refused.claimed.clone().unwrap_or_else(|| NOBODY.to_owned());
        let key = (name, refused.refusal.code());
        if let Some(counted) = self.counted.get_mut(&key) {
            (counted.again, counted.last) = (counted.again + 1, refused);
        } else if self.counted.len() < COUNTED_MAX {
            self.write(&refused, 1);
            let counted = Counted { since: Instant::now(), again: 0, last: refused };
            self.counted.insert(key, counted);
        }
    }

    /// Those that came again are written when their minute is over.
    fn settle(&mut self) {
        let over = self.counted.extract_if(|_, counted| counted.since.elapsed() >= EVERY);
        let over: Vec<Counted> = over.map(|(_, counted)| counted).collect();
        for Counted { again, last, .. } in over.into_iter().filter(|counted| counted.again > 0) {
            self.write(&last, again);
        }
    }

    fn write(&self, refused: &RefusedPeer, count: u64) {
        let claimed = refused.claimed.as_deref().unwrap_or(NOBODY);
        // A name that cannot be kept is in the data only.
        let Ok(id) = claimed.parse::<ExecutorId>().or_else(|_| NOBODY.parse()) else { return };
        let data = json!({
            "reason": refused.refusal.code(), "detail": refused.refusal.to_string(),
            "claimed": refused.claimed, "serial": refused.serial, "count": count,
        });
        let Ok(data) = RawJson::of(&data) else { return };
        // A store that fails now is no reason to let anybody in.
        let _ = block_on(self.store.note_executor(id, "refused".to_owned(), data));
    }
}
