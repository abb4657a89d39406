//! What strangers do, and what it may cost: one file a door, each test with the resource that it bounds.
//!
//! Bounds are far from what is measured on an idle machine, so that a busy one does not fail them, and far below what the attack
//! cost when nothing bounded it.

mod captures;
mod echo;
mod memory;
mod output;
mod process;
mod prometheus;
mod relay;
mod tunnel;
