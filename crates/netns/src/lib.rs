//! Hosts and links of the kernel: network namespaces, and emulated links between them, packet by packet.
//!
//! [`sandbox`] runs this program again inside namespaces of its own, so that nothing of it stays; [`network`]
//! makes hosts and links in there. It moves packets as they are and knows no connection; the link's model is
//! the crate `link`.
//!
//! Start reading at [`sandbox`], then [`network`].

pub mod network;
pub mod sandbox;

pub use network::{Forward, HostId, LinkId, Network};
pub use sandbox::{Entered, Sandbox};
