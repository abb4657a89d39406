//! Tests with network interfaces, terminals, namespaces and keys of running programs.

mod interface;
mod job_control;
mod keys;
mod link;
mod opened;
mod top;
