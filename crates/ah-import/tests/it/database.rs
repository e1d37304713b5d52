//! Databases.
use crate::support as _;
