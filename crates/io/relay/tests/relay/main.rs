//! The relay between real sockets: every byte, end, reset and time.

mod encryption;
mod ends;
mod faults;
mod recorder;
mod shaped;
mod spacing;
mod stand;
mod timing;
mod transfers;
