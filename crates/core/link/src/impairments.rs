//! Impairments of a link, one per file.
//!
//! A new one also needs a variant and row in [`for_direction`], and a setting in
//! [`crate::LinkDescription`].

pub mod delay;
pub mod draws;
mod drop_cause;
pub mod loss;
pub mod outage;
pub mod rate;

pub use drop_cause::DropCause;

use crate::LinkDescription;
use delay::Delay;
use loss::Loss;
use model::{Direction, Timestamp};
use outage::Outages;
use rate::TokenBucket;

/// One impairment of one direction of a link.
#[derive(Debug, Clone)]
pub enum Impairment {
    /// Times in which all packets are dropped.
    Outages(Outages),
    /// A rate with a queue.
    Rate(TokenBucket),
    /// Packets lost at random.
    Loss(Loss),
    /// Constant or varying travel time.
    Delay(Delay),
}

impl Impairment {
    /// Departure of a packet that arrives at `at`.
    ///
    /// # Errors
    /// The reason for a drop.
    #[inline]
    pub fn pass(&mut self, at: Timestamp, wire_bytes: u32) -> Result<Timestamp, DropCause> {
        match self {
            Self::Outages(outages) => outages.pass(at),
            Self::Rate(bucket) => bucket.pass(at, wire_bytes),
            Self::Loss(loss) => loss.pass(at),
            Self::Delay(delay) => Ok(delay.pass(at)),
        }
    }
}

/// The impairments of this direction of `link`, in order.
///
/// 1. An outage drops packets before the queue.
/// 2. The rate serialises, and its queue limits waiting bytes.
/// 3. A lost packet has used its share of the rate.
/// 4. The remaining packets travel.
pub fn for_direction(link: &LinkDescription, direction: Direction) -> Vec<Impairment> {
    let rows = [
        link.outage
            .map(|outage| Impairment::Outages(Outages::new(outage))),
        link.rate[direction].map(|rate| Impairment::Rate(TokenBucket::new(rate, link.burst, link.queue))),
        link.loss
            .map(|share| Impairment::Loss(Loss::new(share, link.seed_of(direction)))),
        Some(Impairment::Delay(Delay::new(
            link.one_way(direction),
            link.jitter,
            link.seed_of(direction),
        ))),
    ];
    rows.into_iter().flatten().collect()
}
