//! What a link does to packets, one impairment a file. A [`crate::Pipe`] is a chain of them, in this order.
//!
//! To add one: a file with its arithmetic, a variant and its row in [`for_direction`], and its setting in
//! [`crate::LinkDescription`].

pub mod delay;
pub mod draws;
pub mod loss;
pub mod outage;
pub mod rate;

use crate::LinkDescription;
use delay::Delay;
use loss::Loss;
use model::{Direction, Timestamp};
use outage::Outages;
use rate::TokenBucket;

/// One impairment of one direction of a link.
#[derive(Debug, Clone)]
pub enum Impairment {
    /// Times in which nothing passes.
    Outages(Outages),
    /// A rate, with the queue before it.
    Rate(TokenBucket),
    /// Packets lost at random.
    Loss(Loss),
    /// The travel time, varying or not.
    Delay(Delay),
}

/// Why a packet did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// The queue had no room for it.
    Queue,
    /// It was lost at random, as asked.
    Loss,
    /// The link was out.
    Outage,
}

impl Impairment {
    /// When a packet of `wire_bytes` that reaches this impairment at `at` leaves it.
    ///
    /// # Errors
    /// When it does not: why.
    pub fn pass(&mut self, at: Timestamp, wire_bytes: u32) -> Result<Timestamp, DropCause> {
        match self {
            Self::Outages(outages) => outages.pass(at),
            Self::Rate(bucket) => bucket.pass(at, wire_bytes),
            Self::Loss(loss) => loss.pass(at),
            Self::Delay(delay) => Ok(delay.pass(at)),
        }
    }
}

/// The impairments of this direction of `link`, in the order in which a packet meets them.
///
/// 1. An outage drops what would enter the queue. 2. The rate serialises, and its queue bounds what waits. 3.
///    A lost packet has taken its share of the rate. 4. The rest travels.
pub fn for_direction(link: &LinkDescription, direction: Direction) -> Vec<Impairment> {
    let rows = [
        link.outage
            .map(|outage| Impairment::Outages(Outages::new(outage))),
        link.rate[direction.index()]
            .map(|rate| Impairment::Rate(TokenBucket::new(rate, link.burst, link.queue))),
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
