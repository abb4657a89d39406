//! Resource bounds under hostile input: one file per entry point, each test names the resource it
//! bounds.
//!
//! Bounds leave ample room above figures of an idle machine, so that a busy one passes, and are far
//! below the cost of an unbounded attack.

mod api;
mod captures;
mod echo;
mod ends;
mod files;
mod killed;
mod listeners;
mod memory;
mod output;
mod process;
mod prometheus;
mod queues;
mod relay;
mod tunnel;
