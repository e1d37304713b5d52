//! Tests about the tree itself, in `tests/it`; there is nothing to link against.
