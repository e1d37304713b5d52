//! Rules that matter are tests: each one is a sentence about the tree, and its failure lists the
//! places that break it.

mod dependencies;
mod documents;
mod edges;
mod layout;
mod lockfile;
mod manifest;
mod manifests;
mod migrations;
mod modules;
mod rust_source;
mod source_rules;
mod sql;
mod tree;
mod words;
