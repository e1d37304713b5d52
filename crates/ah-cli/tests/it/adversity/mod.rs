//! What must hold when processes crowd, die, lose power or find the disk full: nothing that was
//! acknowledged is lost, and nothing is left half written.

mod agents;
mod approvals;
mod concurrency;
mod executors;
mod kill;
mod ledger;
mod mail;
mod old_database;
mod random;
mod server;
mod worker;

#[cfg(target_os = "linux")]
mod full_disk;
#[cfg(target_os = "linux")]
mod hive_import;
#[cfg(target_os = "linux")]
mod live_events;
#[cfg(target_os = "linux")]
mod power_cut;
#[cfg(target_os = "linux")]
mod shim;
