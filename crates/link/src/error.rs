//! What can be wrong with a link's text form.

use model::ParseQuantityError;
use thiserror::Error;

/// Why a text does not describe a link. Each says what is wrong and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LinkError {
    /// Nothing was given.
    #[error("the link is empty: give at least its round-trip time, such as rtt=40ms")]
    Empty,
    /// A word is not `key=value`.
    #[error("'{word}' is not a link setting: write key=value, such as rtt=40ms rate=10mbit")]
    NotASetting {
        /// The word.
        word: String,
    },
    /// A key longwire does not know.
    #[error(
        "'{key}' is not a link setting: known are rtt, rate, burst, queue, loss, jitter, outage, seed and mtu"
    )]
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A key given twice.
    #[error("{key}= is given twice: give it once")]
    Twice {
        /// The key.
        key: &'static str,
    },
    /// A value that is not a duration, rate or size.
    #[error("{key}=: {source}")]
    Quantity {
        /// The key.
        key: &'static str,
        /// What is wrong with the value.
        source: ParseQuantityError,
    },
    /// A value that no link can have.
    #[error("{key}={value} is out of range: {range}")]
    OutOfRange {
        /// The key.
        key: &'static str,
        /// The value as written.
        value: String,
        /// What is allowed.
        range: &'static str,
    },
    /// A queue or burst on a link that never queues.
    #[error(
        "{key}= without rate= has no effect, because a link without a limit never queues: add rate=10mbit"
    )]
    WithoutRate {
        /// The key.
        key: &'static str,
    },
    /// A deviation that would make a packet arrive before it left.
    #[error(
        "jitter= is more than the one-way travel time ({most}): make it smaller, or rtt= larger, or write \
         jitter=...:normal, which is cut at zero"
    )]
    JitterAboveDelay {
        /// Half of the round trip.
        most: String,
    },
}
