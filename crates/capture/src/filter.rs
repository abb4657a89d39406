//! Which packets of an interface are taken: a subset of the language of `pcap-filter(7)`, and the program
//! that the kernel runs.
//!
//! [`PacketFilter::parse`] reads an expression, [`PacketFilter::program`] makes classic BPF of it (`parse`,
//! `compile`, `program`). Only TCP over IPv4 and IPv6 passes. `and` and `or` bind equally and from the left,
//! as in `pcap-filter(7)`.

mod compile;
mod parse;
mod program;

pub use parse::FilterError;
pub use program::Instruction;

use std::net::IpAddr;

/// Which TCP packets pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketFilter(Node);

/// A condition, and what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Test(Test),
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
}

/// What a packet is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    /// Whether it is TCP: all that come so far are.
    Tcp,
    /// Whether it is IPv6; else it is IPv4.
    Six,
    /// Whether the address at one end is within a network.
    Network(End, Network),
    /// Whether the port at one end is within these, both included.
    Ports(End, u16, u16),
}

/// An end of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Destination,
}

/// The addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    /// How many bits.
    prefix: u32,
}

impl PacketFilter {
    /// Every TCP packet.
    pub const fn tcp() -> Self {
        Self(Node::Test(Test::Tcp))
    }

    /// Packets from or to a port.
    pub fn port(port: u16) -> Self {
        Self(either_end(|end| Node::Test(Test::Ports(end, port, port))))
    }

    /// Packets from or to a port of a host.
    pub fn endpoint(address: IpAddr, port: u16) -> Self {
        Self(either_end(|end| {
            let host = Node::Test(Test::Network(end, Network::host(address)));
            Node::All(vec![host, Node::Test(Test::Ports(end, port, port))])
        }))
    }

    /// Packets that one of `filters` passes; every TCP packet where there is none.
    pub fn any_of(filters: Vec<Self>) -> Self {
        match filters.is_empty() {
            true => Self::tcp(),
            false => Self(Node::Any(filters.into_iter().map(|filter| filter.0).collect())),
        }
    }

    /// Packets that both pass.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(Node::All(vec![self.0, other.0]))
    }

    /// Reads an expression. `resolve` gives the addresses of a host's name.
    ///
    /// # Errors
    /// When it is not understood, with the place; when a name has no address.
    pub fn parse(text: &str, resolve: &dyn Fn(&str) -> Vec<IpAddr>) -> Result<Self, FilterError> {
        parse::expression(text, resolve).map(Self)
    }

    /// The program that a packet socket of Linux runs for each packet: it returns how many bytes of it are
    /// kept, 0 for none.
    ///
    /// Packets of other `interfaces` do not pass; none means all. On the loopback each packet is seen when it
    /// leaves and when it arrives: the second one passes. Ethernet frames may have two VLAN tags, apart from
    /// the one that the kernel takes off beforehand. What follows the first fragment of an IP packet has no
    /// ports: it passes wherever a port is requested.
    ///
    /// # Errors
    /// When it has more instructions than the kernel takes.
    pub fn program(&self, interfaces: &[u32]) -> Result<Vec<Instruction>, FilterError> {
        compile::program(&self.0, interfaces)
    }
}

impl Network {
    /// One address.
    fn host(address: IpAddr) -> Self {
        let prefix = if address.is_ipv6() { 128 } else { 32 };
        Self { address, prefix }
    }
}

/// What holds at the source or at the destination.
fn either_end(at: impl Fn(End) -> Node) -> Node {
    Node::Any(vec![at(End::Source), at(End::Destination)])
}
