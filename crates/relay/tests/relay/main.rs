//! The relay between real sockets: every byte, every end, every reset, and when things happened.

mod encryption;
mod ends;
mod faults;
mod recorder;
mod shaped;
mod stand;
mod timing;
mod transfers;
