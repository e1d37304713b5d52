//! The Agent Coordinator's interface: its shapes, a runner's life, and the twelve defects of the
//! original that are not here.

mod access;
mod agents;
mod defects;
mod events;
mod fences;
mod given;
mod keys;
mod life;
mod refusals;
mod runners;
mod runs;
mod sessions;
mod sse;
mod stop;
