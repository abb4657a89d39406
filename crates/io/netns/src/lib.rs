//! Hosts and links in the kernel: network namespaces, and emulated links between them, packet by
//! packet.
//!
//! [`sandbox`] runs this program again inside private namespaces, which leave no trace; [`network`]
//! makes hosts and links there. The model of a link is the crate `link`.
//!
//! Start reading at [`sandbox`], then [`network`].

pub mod network;
pub mod sandbox;

pub use network::{Forward, HostId, LinkId, Network};
pub use sandbox::{Entered, Sandbox};
