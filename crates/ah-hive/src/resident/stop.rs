//! A word to stop, from whoever runs loops to whatever waits in them.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Bell = Box<dyn Fn() + Send>;

/// Said once, heard by everything that has a copy.
#[derive(Clone, Default)]
pub struct Stop(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    said: bool,
    bells: Vec<Bell>,
}

impl Stop {
    /// Says it; those who wait hear it at once.
    pub fn say(&self) {
        let mut state = self.state();
        state.said = true;
        state.bells.iter().for_each(|ring| ring());
    }

    /// Whether it was said.
    pub fn is_said(&self) -> bool {
        self.state().said
    }

    /// Has `ring` called when it is said, at once if it was.
    pub(super) fn wakes(&self, ring: impl Fn() + Send + 'static) {
        let mut state = self.state();
        if state.said {
            ring();
        }
        state.bells.push(Box::new(ring));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.is_said()).finish()
    }
}
