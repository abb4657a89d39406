//! What passes an interface or a terminal: packets as they are captured, links in namespaces, keys of running
//! programs.

mod interface;
mod job_control;
mod keys;
mod link;
mod opened;
mod top;
