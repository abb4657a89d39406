//! Errors in a link's text form.

use model::ParseQuantityError;
use thiserror::Error;

/// Why a text does not describe a link, and its correction.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The text is empty.
    #[error("the link is empty: give at least its round-trip time, such as rtt=40ms")]
    Empty,
    /// A word is not `key=value`.
    #[error("'{word}' is not a link setting: write key=value, such as rtt=40ms rate=10mbit")]
    NotASetting {
        /// The word as written.
        word: String,
    },
    /// The key is unknown.
    #[error(
        "'{key}' is not a link setting: known are rtt, rate, burst, queue, loss, jitter, outage, seed and mtu"
    )]
    UnknownKey {
        /// The key as written.
        key: String,
    },
    /// A key occurs twice.
    #[error("{key}= is given twice: give it once")]
    Twice {
        /// The key that occurs twice.
        key: &'static str,
    },
    /// The value is not a duration, rate or size.
    #[error("{key}=: {source}")]
    Quantity {
        /// The key of the value.
        key: &'static str,
        /// Fault of the value.
        source: ParseQuantityError,
    },
    /// The value is out of range.
    #[error("{key}={value} is out of range: {range}")]
    OutOfRange {
        /// The key of the value.
        key: &'static str,
        /// The value as written.
        value: String,
        /// Description of the allowed range.
        range: &'static str,
    },
    /// A word of tc without a counterpart.
    #[error(
        "tc's '{word}' has no counterpart in a link: known are netem's delay, distribution, loss, rate, seed, \
         and tbf's rate, burst, limit, latency"
    )]
    NotALink {
        /// The word as written.
        word: String,
    },
    /// A setting that tc does not have.
    #[error("tc has no {setting}: leave it out, or use longwire's own emulation")]
    NotInTc {
        /// The key of the setting.
        setting: &'static str,
    },
    /// A queue or burst on a link that never queues.
    #[error(
        "{key}= without rate= has no effect, because a link without a limit never queues: add rate=10mbit"
    )]
    WithoutRate {
        /// The key without effect.
        key: &'static str,
    },
    /// The deviation would make a packet arrive before it left.
    #[error(
        "jitter= is more than the one-way travel time ({most}): make it smaller, or rtt= larger, or write \
         jitter=...:normal, which is cut at zero"
    )]
    JitterAboveDelay {
        /// Half of the round-trip time.
        most: String,
    },
}
