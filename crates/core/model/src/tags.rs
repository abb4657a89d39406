//! Identifiers and names of requests.

use crate::serde_units::from_text;
use crate::{Evidence, Share};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Identifies a request across services.
///
/// The trace-id of a `traceparent` (W3C Trace Context, section 3.2.2.3), or a hash of another
/// identifier, equal in all runs. Misleads if a program reuses an identifier, or forwards a
/// client's unchecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u128);

impl RequestId {
    /// The trace-id of a `traceparent` (version, 32 hexadecimal digits, 16 more, flags); `None` if
    /// invalid or zero.
    pub fn of_traceparent(text: &[u8]) -> Option<Self> {
        let mut parts = text.split(|&byte| byte == b'-');
        let (version, trace, parent) = (parts.next()?, parts.next()?, parts.next()?);
        let is_hexadecimal = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
        if version.len() != 2 || trace.len() != 32 || parent.len() != 16 || !is_hexadecimal(parent) {
            return None;
        }
        let number = u128::from_str_radix(std::str::from_utf8(trace).ok()?, 16).ok()?;
        (number != 0).then_some(Self(number))
    }

    /// Hash of another identifier (FNV-1a, 128 bits); `None` if empty or longer than
    /// [`RequestId::MAX_LEN`].
    pub fn of_text(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        if text.is_empty() || text.len() > Self::MAX_LEN {
            return None;
        }
        let hash = text.iter().fold(FNV_BASIS, |hash, &byte| {
            (hash ^ u128::from(byte)).wrapping_mul(FNV_PRIME)
        });
        Some(Self(hash))
    }

    /// Maximum bytes of an identifier.
    pub const MAX_LEN: usize = 256;
}

const FNV_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Span of an exchange: the parent-id of a `traceparent` (W3C Trace Context, section 3.2.2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(pub u64);

impl SpanId {
    /// From a `traceparent`, if valid and not zero.
    pub fn of_traceparent(text: &[u8]) -> Option<Self> {
        RequestId::of_traceparent(text)?;
        let parent = std::str::from_utf8(text.split(|&byte| byte == b'-').nth(2)?).ok()?;
        let number = u64::from_str_radix(parent, 16).ok()?;
        (number != 0).then_some(Self(number))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl Serialize for SpanId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SpanId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "span_id", |text| {
            u64::from_str_radix(text, 16).ok().map(Self)
        })
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "request_id", |text| {
            u128::from_str_radix(text, 16).ok().map(Self)
        })
    }
}

/// Names and identifier from a statement's comment (sqlcommenter's keys) or an HTTP head, without
/// values or users.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tags {
    /// The request it belongs to.
    #[serde(rename = "request_id", skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// Span from a `traceparent`; `request` is its trace then.
    #[serde(rename = "span_id", skip_serializing_if = "Option::is_none")]
    pub span: Option<SpanId>,
    /// Pattern of the path or other entry point (`route`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<Arc<str>>,
    /// The controller or view (`controller`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<Arc<str>>,
    /// Method of the controller (`action`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Arc<str>>,
    /// The application (`application`) by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<Arc<str>>,
    /// Framework, usually with its version (`framework`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framework: Option<Arc<str>>,
    /// Driver or library (`db_driver`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub db_driver: Option<Arc<str>>,
}

impl Tags {
    /// The route, otherwise controller and action.
    pub fn operation_name(&self) -> Option<Arc<str>> {
        match (&self.route, &self.controller, &self.action) {
            (Some(route), ..) => Some(route.clone()),
            (None, Some(controller), Some(action)) => Some(Arc::from(format!("{controller}#{action}"))),
            (None, Some(only), None) | (None, None, Some(only)) => Some(only.clone()),
            (None, None, None) => None,
        }
    }

    /// Whether no tag is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How an exchange was assigned, surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assigned {
    /// It carries the request's identifier.
    Identifier,
    /// It shared a transaction with a proven exchange.
    Transaction,
    /// No other request in flight could have caused it.
    Only,
    /// A guess among several requests, by order and times.
    Order,
}

impl Assigned {
    /// All kinds in this order.
    pub const ALL: [Self; 4] = [Self::Identifier, Self::Transaction, Self::Only, Self::Order];

    /// Name in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identifier => "identifier",
            Self::Transaction => "transaction",
            Self::Only => "only",
            Self::Order => "order",
        }
    }

    /// Whether it is proven, not guessed.
    pub const fn is_proof(self) -> bool {
        !matches!(self, Self::Order)
    }
}

/// Numbers of exchanges by kind of assignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "AssignmentKeys", into = "AssignmentKeys")]
pub struct Assignments {
    counts: [u64; Assigned::ALL.len()],
    /// Guesses with a probability, and the sum of probabilities in thousandths.
    likely: [u64; 2],
}

/// In records, without probabilities.
#[derive(Serialize, Deserialize)]
struct AssignmentKeys {
    identifier: u64,
    transaction: u64,
    only: u64,
    order: u64,
}

impl From<Assignments> for AssignmentKeys {
    fn from(assignments: Assignments) -> Self {
        let [identifier, transaction, only, order] = assignments.counts;
        Self {
            identifier,
            transaction,
            only,
            order,
        }
    }
}

impl From<AssignmentKeys> for Assignments {
    fn from(keys: AssignmentKeys) -> Self {
        Self {
            counts: [keys.identifier, keys.transaction, keys.only, keys.order],
            likely: [0; 2],
        }
    }
}

impl FromIterator<(Assigned, u64)> for Assignments {
    fn from_iter<I: IntoIterator<Item = (Assigned, u64)>>(counts: I) -> Self {
        let mut assignments = Self::default();
        for (assigned, count) in counts {
            assignments.counts[assigned as usize] += count;
        }
        assignments
    }
}

impl Assignments {
    /// Counts an exchange, a guess with its probability.
    pub fn add(&mut self, assigned: Assigned, probability: Option<Share>) {
        self.counts[assigned as usize] += 1;
        if let Some(probability) = probability {
            self.likely[0] += 1;
            self.likely[1] += (probability.as_fraction() * 1e3).round() as u64;
        }
    }

    /// Expected share of right guesses, if enough have a probability.
    pub fn likely_right(&self) -> Option<Share> {
        let rated = Share::of_counts(self.likely[0], self.count(Assigned::Order))?;
        let is_known = rated.as_fraction() >= Evidence::ENOUGH;
        Share::of_counts(self.likely[1], self.likely[0] * 1_000).filter(|_| is_known)
    }

    /// Number of exchanges assigned this way.
    pub fn count(&self, assigned: Assigned) -> u64 {
        self.counts[assigned as usize]
    }

    /// Numbers of guessed and of all exchanges.
    pub fn guessed(&self) -> (u64, u64) {
        (self.count(Assigned::Order), self.counts.iter().sum())
    }

    /// The share of guesses, if any exchanges.
    pub fn share_guessed(&self) -> Option<Share> {
        let (guessed, all) = self.guessed();
        Share::of_counts(guessed, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_its_trace() {
        let text = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let found = RequestId::of_traceparent(text).map(|id| id.to_string());
        assert_eq!(found.as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
        let span = SpanId::of_traceparent(text).map(|id| id.to_string());
        assert_eq!(span.as_deref(), Some("b7ad6b7169203331"));
        for bad in [
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b71692033-01",
            "",
            "---",
        ] {
            assert_eq!(RequestId::of_traceparent(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn other_identifiers_are_hashed_unless_they_are_too_long() {
        assert_eq!(RequestId::of_text(b" a-1 "), RequestId::of_text(b"a-1"));
        assert_ne!(RequestId::of_text(b"a-1"), RequestId::of_text(b"a-2"));
        assert_eq!(RequestId::of_text(b"  "), None);
        assert_eq!(RequestId::of_text(&vec![b'x'; 1 << 20]), None);
    }
}
