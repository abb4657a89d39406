//! Both ends of a tunnel between real sockets.

mod bytes;
mod ends;
mod stand;
mod strangers;
