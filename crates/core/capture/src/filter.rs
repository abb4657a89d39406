//! Packet filters of an interface: a subset of the language of `pcap-filter(7)`, compiled for the
//! kernel.
//!
//! [`PacketFilter::parse`] reads an expression, [`PacketFilter::program`] compiles it to classic
//! BPF. Only TCP over IPv4 and IPv6 passes. `and` and `or` have the same precedence and associate
//! to the left, as in `pcap-filter(7)`.

mod compile;
mod parse;
mod program;

pub use parse::FilterError;
pub use program::Instruction;

use std::net::IpAddr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketFilter(Node);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Test(Test),
    Not(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Test {
    Tcp,
    /// IPv6 if true, else IPv4.
    Six,
    /// Whether the address at one end is within a network.
    Network(End, Network),
    /// Whether the port at one end is within an inclusive range.
    Ports(End, u16, u16),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Destination,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    prefix: u32,
}

impl PacketFilter {
    pub const fn tcp() -> Self {
        Self(Node::Test(Test::Tcp))
    }

    pub fn port(port: u16) -> Self {
        Self(either_end(|end| Node::Test(Test::Ports(end, port, port))))
    }

    pub fn endpoint(address: IpAddr, port: u16) -> Self {
        Self(either_end(|end| {
            let host = Node::Test(Test::Network(end, Network::host(address)));
            Node::All(vec![host, Node::Test(Test::Ports(end, port, port))])
        }))
    }

    /// Packets that pass any of `filters`; every TCP packet if there are none.
    pub fn any_of(filters: Vec<Self>) -> Self {
        match filters.is_empty() {
            true => Self::tcp(),
            false => Self(Node::Any(filters.into_iter().map(|filter| filter.0).collect())),
        }
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(Node::All(vec![self.0, other.0]))
    }

    /// Parses an expression, with `resolve` for the addresses of a host name.
    ///
    /// # Errors
    /// If the expression is invalid, with its position, or if a name has no address.
    pub fn parse(text: &str, resolve: &dyn Fn(&str) -> Vec<IpAddr>) -> Result<Self, FilterError> {
        parse::expression(text, resolve).map(Self)
    }

    /// The program that Linux runs for each packet of a packet socket. It returns the number of
    /// bytes to keep, 0 for none.
    ///
    /// Packets of other `interfaces` do not pass; an empty list means all. On loopback each packet
    /// is seen when it leaves and when it arrives; only the second passes. Ethernet frames may have
    /// two VLAN tags, besides the one that the kernel strips. Later fragments of an IP packet have no
    /// ports and pass every port condition.
    ///
    /// # Errors
    /// If it has more instructions than the kernel accepts.
    pub fn program(&self, interfaces: &[u32]) -> Result<Vec<Instruction>, FilterError> {
        compile::program(&self.0, interfaces)
    }
}

impl Network {
    fn host(address: IpAddr) -> Self {
        let prefix = if address.is_ipv6() { 128 } else { 32 };
        Self { address, prefix }
    }
}

fn either_end(at: impl Fn(End) -> Node) -> Node {
    Node::Any(vec![at(End::Source), at(End::Destination)])
}
