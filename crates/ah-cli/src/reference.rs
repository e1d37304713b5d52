//! The command reference, from the grammar itself.
