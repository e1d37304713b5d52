//! Declared differences between stores; each has a conformance test for either answer.

use serde::{Deserialize, Serialize};

/// What a store can do that others cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Named workspaces: servers have them, the local file does not.
    pub workspaces: bool,
}
