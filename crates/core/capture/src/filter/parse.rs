//! Parses text to a condition, as `pcap-filter(7)` does.

use super::{End, Network, Node, Test, either_end};
use std::net::{IpAddr, Ipv4Addr};
use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FilterError {
    #[error("the filter is not understood at {}: {expected}", describe_position(*character, found))]
    NotUnderstood {
        /// Position in the expression, counted from 1.
        character: usize,
        found: String,
        /// The expected syntax, or the error.
        expected: String,
    },
    #[error(
        "the filter has more conditions than the kernel takes: leave some out, or name networks instead of hosts"
    )]
    TooLong,
}

impl FilterError {
    pub(super) const fn too_long() -> Self {
        Self::TooLong
    }
}

fn describe_position(character: usize, found: &str) -> String {
    match found {
        "" => "its end".to_owned(),
        found => format!("'{}' (character {character})", beginning_of(found)),
    }
}

fn beginning_of(word: &str) -> String {
    match word.char_indices().nth(MAX_SHOWN_LEN) {
        Some((end, _)) => format!("{}...", &word[..end]),
        None => word.to_owned(),
    }
}

pub(super) fn expression(text: &str, resolve: &dyn Fn(&str) -> Vec<IpAddr>) -> Result<Node, FilterError> {
    let mut reader = Reader {
        words: words(text),
        next: 0,
        resolve,
        last: None,
        depth: 0,
        conditions: 0,
    };
    let node = reader.alternatives()?;
    match reader.peek() {
        "" => Ok(node),
        ")" => Err(reader.wrong("there is no '(' to it")),
        _ => Err(reader.wrong("'and' or 'or' is expected")),
    }
}

type Word<'t> = (usize, &'t str);

/// Splits an expression into words. Brackets and operators are separate words.
fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = text;
    let mut character = 1;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' | '!' => 1,
            '&' if rest.starts_with("&&") => 2,
            '|' if rest.starts_with("||") => 2,
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                rest[first.len_utf8()..]
                    .find(ends_a_word)
                    .unwrap_or(rest.len() - first.len_utf8())
                    + first.len_utf8()
            }
        };
        let (word, after) = rest.split_at(length);
        if !first.is_whitespace() {
            words.push((character, word));
        }
        character += word.chars().count();
        rest = after;
    }
    words
}

fn ends_a_word(character: char) -> bool {
    character.is_whitespace() || matches!(character, '(' | ')' | '!' | '&' | '|')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Host,
    Net,
    Port,
    PortRange,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Source,
    Destination,
    Either,
    Both,
}

/// Qualifiers before a value. A value without qualifiers takes those of the previous one (`port 80
/// or 443`).
#[derive(Debug, Clone, Copy)]
struct Qualifiers {
    /// Only IPv6 if true, only IPv4 if false.
    six: Option<bool>,
    ends: Ends,
    kind: Kind,
}

struct Reader<'t> {
    words: Vec<Word<'t>>,
    next: usize,
    resolve: &'t dyn Fn(&str) -> Vec<IpAddr>,
    last: Option<Qualifiers>,
    depth: usize,
    conditions: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> &'t str {
        self.words.get(self.next).map_or("", |(_, word)| word)
    }

    fn accept_word(&mut self, one_of: &[&str]) -> bool {
        let is_there = one_of.contains(&self.peek()) && !self.peek().is_empty();
        self.next += usize::from(is_there);
        is_there
    }

    fn wrong(&self, expected: impl Into<String>) -> FilterError {
        let (character, found) = self.words.get(self.next).copied().unwrap_or_default();
        FilterError::NotUnderstood {
            character,
            found: found.to_owned(),
            expected: expected.into(),
        }
    }

    fn alternatives(&mut self) -> Result<Node, FilterError> {
        let mut left = self.condition()?;
        loop {
            if self.accept_word(&["and", "&&"]) {
                let right = self.condition()?;
                if let Node::All(parts) = &mut left {
                    parts.push(right);
                } else {
                    left = Node::All(vec![left, right]);
                }
            } else if self.accept_word(&["or", "||"]) {
                let right = self.condition()?;
                if let Node::Any(parts) = &mut left {
                    parts.push(right);
                } else {
                    left = Node::Any(vec![left, right]);
                }
            } else {
                return Ok(left);
            }
        }
    }

    fn condition(&mut self) -> Result<Node, FilterError> {
        self.conditions += 1;
        if self.depth >= DEEPEST || self.conditions > MAX_CONDITIONS {
            return Err(FilterError::TooLong);
        }
        if self.accept_word(&["not", "!"]) {
            self.depth += 1;
            let inner = self.condition()?;
            self.depth -= 1;
            return Ok(Node::Not(Box::new(inner)));
        }
        if self.accept_word(&["("]) {
            return self.bracket();
        }
        self.primitive()
    }

    fn bracket(&mut self) -> Result<Node, FilterError> {
        self.depth += 1;
        let inner = self.alternatives()?;
        self.depth -= 1;
        match self.accept_word(&[")"]) {
            true => Ok(inner),
            false => Err(self.wrong("')', 'and' or 'or' is expected")),
        }
    }

    fn primitive(&mut self) -> Result<Node, FilterError> {
        let six = match self.peek() {
            "ip" => Some(false),
            "ip6" => Some(true),
            _ => None,
        };
        let named = self.accept_word(&["tcp", "ip", "ip6"]);
        let ends = self.ends()?;
        let kind = self.kind();
        if ends.is_none() && kind.is_none() {
            if named {
                return Ok(six.map_or(Node::Test(Test::Tcp), family));
            }
            return self.short();
        }
        let qualifiers = Qualifiers {
            six,
            ends: ends.unwrap_or(Ends::Either),
            kind: kind.unwrap_or(Kind::Host),
        };
        self.last = Some(qualifiers);
        if self.accept_word(&["("]) {
            return self.bracket();
        }
        self.value(qualifiers)
    }

    fn short(&mut self) -> Result<Node, FilterError> {
        let word = self.peek();
        if OTHER_PROTOCOLS.contains(&word) {
            return Err(self.wrong("longwire looks at TCP only"));
        }
        let begins_otherwise = matches!(word, "" | ")" | "and" | "or" | "&&" | "||");
        let Some(last) = self.last.filter(|_| !begins_otherwise) else {
            return Err(self.wrong(EXPECTED));
        };
        self.value(last)
    }

    fn ends(&mut self) -> Result<Option<Ends>, FilterError> {
        let first = match self.peek() {
            "src" => Ends::Source,
            "dst" => Ends::Destination,
            _ => return Ok(None),
        };
        self.next += 1;
        let after = |place: usize| self.words.get(self.next + place).map_or("", |(_, word)| word);
        let joined = match (first, after(0), after(1)) {
            (Ends::Source, "or", "dst") | (Ends::Destination, "or", "src") => Ends::Either,
            (Ends::Source, "and", "dst") | (Ends::Destination, "and", "src") => Ends::Both,
            _ => return Ok(Some(first)),
        };
        self.next += 2;
        Ok(Some(joined))
    }

    fn kind(&mut self) -> Option<Kind> {
        let kind = match self.peek() {
            "host" => Kind::Host,
            "net" => Kind::Net,
            "port" => Kind::Port,
            "portrange" => Kind::PortRange,
            _ => return None,
        };
        self.next += 1;
        Some(kind)
    }

    fn value(&mut self, qualifiers: Qualifiers) -> Result<Node, FilterError> {
        let word = self.peek();
        let is_value = word.starts_with(|first: char| first.is_ascii_alphanumeric() || first == ':');
        if !is_value || KEYWORDS.contains(&word) {
            let expected = match qualifiers.kind {
                Kind::Host => "an address or a host's name is expected",
                Kind::Net => "a network such as 10.0.0.0/8 is expected",
                Kind::Port => "a port is expected",
                Kind::PortRange => "two ports such as 5432-5439 are expected",
            };
            return Err(self.wrong(expected));
        }
        let node = match qualifiers.kind {
            Kind::Host => self.hosts(word, qualifiers)?,
            Kind::Net => {
                let network =
                    network(word).ok_or_else(|| self.wrong("it is no network such as 10.0.0.0/8"))?;
                at_ends(qualifiers.ends, |end| Node::Test(Test::Network(end, network)))
            }
            Kind::Port | Kind::PortRange => {
                let (first, last) = self.ports(word, qualifiers.kind)?;
                at_ends(qualifiers.ends, |end| Node::Test(Test::Ports(end, first, last)))
            }
        };
        self.next += 1;
        Ok(match qualifiers.six {
            Some(six) => Node::All(vec![family(six), node]),
            None => node,
        })
    }

    /// A host name stands for all of its addresses.
    fn hosts(&self, word: &str, qualifiers: Qualifiers) -> Result<Node, FilterError> {
        let addresses = match word.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => (self.resolve)(word),
        };
        if addresses.is_empty() {
            return Err(self.wrong("no host of that name is known"));
        }
        let each = |end| {
            let hosts = addresses.iter().map(|address| Network::host(*address));
            Node::Any(hosts.map(|host| Node::Test(Test::Network(end, host))).collect())
        };
        Ok(at_ends(qualifiers.ends, each))
    }

    fn ports(&self, word: &str, kind: Kind) -> Result<(u16, u16), FilterError> {
        let port = |text: &str| {
            text.parse::<u16>()
                .map_err(|_| self.wrong("a port is a number from 0 to 65535"))
        };
        let (first, last) = match (kind, word.split_once('-')) {
            (Kind::PortRange, Some((first, last))) => (port(first)?, port(last)?),
            _ => (port(word)?, port(word)?),
        };
        match first <= last {
            true => Ok((first, last)),
            false => Err(self.wrong("the first port of a range is the lower one")),
        }
    }
}

fn family(six: bool) -> Node {
    match six {
        true => Node::Test(Test::Six),
        false => Node::Not(Box::new(Node::Test(Test::Six))),
    }
}

fn at_ends(ends: Ends, at: impl Fn(End) -> Node) -> Node {
    match ends {
        Ends::Source => at(End::Source),
        Ends::Destination => at(End::Destination),
        Ends::Either => either_end(at),
        Ends::Both => Node::All(vec![at(End::Source), at(End::Destination)]),
    }
}

/// `ADDRESS/BITS`, an address, or the first one to three numbers of an IPv4 network. Bits after the
/// network part are an error, as in `pcap-filter(7)`.
fn network(word: &str) -> Option<Network> {
    let (address, prefix) = match word.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix.parse::<u32>().ok()?)),
        None => (word, None),
    };
    let network = match address.parse::<IpAddr>() {
        Ok(address) => Network::host(address),
        Err(_) => beginning(address)?,
    };
    let prefix = prefix.unwrap_or(network.prefix);
    let (bits, width) = match network.address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let behind = bits.checked_shl(prefix).unwrap_or(0);
    (prefix <= width && behind == 0).then_some(Network { prefix, ..network })
}

/// A prefix such as `10`, `10.1` or `10.1.2`.
fn beginning(text: &str) -> Option<Network> {
    let mut octets = [0; 4];
    let numbers = text
        .split('.')
        .map(str::parse::<u8>)
        .collect::<Result<Vec<_>, _>>()
        .ok()?;
    octets.get_mut(..numbers.len())?.copy_from_slice(&numbers);
    Some(Network {
        address: IpAddr::V4(Ipv4Addr::from(octets)),
        prefix: 8 * u32::try_from(numbers.len()).ok()?,
    })
}

const EXPECTED: &str = "'host', 'net', 'port', 'src', 'dst', 'tcp', 'not' or '(' is expected";
const KEYWORDS: &[&str] = &[
    "and",
    "or",
    "not",
    "src",
    "dst",
    "host",
    "net",
    "port",
    "portrange",
    "tcp",
    "ip",
    "ip6",
];
/// Words of `pcap-filter(7)` for protocols that never carry a database's bytes.
const OTHER_PROTOCOLS: &[&str] = &[
    "udp", "icmp", "icmp6", "arp", "rarp", "sctp", "ether", "igmp", "esp", "ah", "vlan", "mpls",
];
const MAX_SHOWN_LEN: usize = 40;
/// Maximum nesting of brackets and negations.
const DEEPEST: usize = 100;
const MAX_CONDITIONS: usize = 1000;
