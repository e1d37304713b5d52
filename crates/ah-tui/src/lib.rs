//! A window onto the harbor in a terminal, over the contract alone.
//!
//! Everything that is shown is a pure function of [`Model`] ([`draw`]); every key, answer of the store
//! and tick is a pure step of it ([`update`]) that says what is to be done ([`Effect`]). What is to be
//! done is done in threads of its own ([`perform`]), so that drawing never waits for a store. This room
//! knows no SQL, no HTTP, no environment and no clock: [`Harbor`] is all that it is given.

mod agents;
mod clean;
mod decode;
mod dialog;
mod editor;
mod effect;
mod feed;
mod harbor;
mod input;
mod list;
mod model;
mod needs;
mod perform;
mod reading;
mod replay;
mod sessions;
mod task;
mod terminal;
mod update;
mod view;
mod window;

pub use clean::{clean, clean_lines};
pub use effect::{Answer, Effect};
pub use harbor::{Harbor, Launch, Refused};
pub use input::{Input, Key};
pub use model::{Link, Model, Opening, Screen};
pub use perform::perform;
pub use terminal::{Mouse, Opened};
pub use update::{begin, update, wake_in};
pub use view::draw;
pub use window::{End, Ender, run};
