//! Both ends of a tunnel between real sockets: every byte, every end, every reset, and lanes that are lost.

mod bytes;
mod ends;
mod stand;
mod strangers;
