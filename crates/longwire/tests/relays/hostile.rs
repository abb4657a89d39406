//! What strangers do, and what it may cost: one file per entry point, each test with the resource that it
//! bounds.
//!
//! Bounds are far from what is measured on an idle machine, so that a busy one does not fail them, and far
//! below the cost of the attack when nothing bounded it.

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
