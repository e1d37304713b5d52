//! Hears the commits of other processes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ah_store::StoreError;
use postgres::fallible_iterator::FallibleIterator;

use super::Address;
use crate::hub::Hub;

/// Readers look by themselves this often, in case an announcement was lost with its process.
const LOOK_ANYWAY: Duration = Duration::from_secs(1);
const RECONNECT_AFTER: Duration = Duration::from_millis(250);

/// Starts a listening connection when somebody waits, and ends it when nobody does.
pub(crate) struct Listener {
    address: Address,
    hub: Hub,
    running: Arc<Mutex<bool>>,
}

impl Listener {
    pub(crate) fn new(address: Address, hub: Hub) -> Self {
        Self { address, hub, running: Arc::default() }
    }

    /// Called by a subscriber after it has subscribed: the thread looks at subscribers and its own
    /// end under the same lock, so none is left without it.
    pub(crate) fn start(&self) -> Result<(), StoreError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if *running {
            return Ok(());
        }
        let (address, hub) = (self.address.clone(), self.hub.clone());
        let ended = Arc::clone(&self.running);
        std::thread::Builder::new()
            .name("ah-listen".into())
            .spawn(move || listen(&address, &hub, &ended))
            .map_err(|error| StoreError::backend("start the listening thread", error))?;
        *running = true;
        Ok(())
    }
}

fn listen(address: &Address, hub: &Hub, running: &Mutex<bool>) {
    loop {
        // Whatever went wrong, the readers look once and the next connection is tried.
        let _ = hear(address, hub);
        hub.wake();
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        if !hub.is_watched() {
            *running = false;
            return;
        }
        drop(running);
        std::thread::sleep(RECONNECT_AFTER);
    }
}

/// Wakes the readers at every announcement until nobody waits or the connection ends.
fn hear(address: &Address, hub: &Hub) -> Result<(), StoreError> {
    let failed = |error| super::error::map(error, "listen to");
    let mut client = address.connect()?;
    let channel = address.channel().replace('"', "\"\"");
    client.batch_execute(&format!("LISTEN \"{channel}\"")).map_err(failed)?;
    while hub.is_watched() {
        hub.wake();
        client.notifications().timeout_iter(LOOK_ANYWAY).next().map_err(failed)?;
    }
    Ok(())
}
