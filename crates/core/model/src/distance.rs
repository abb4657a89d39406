//! The distances that longwire chooses itself: one set for all commands and pages.

use std::time::Duration;

/// Default round-trip times of predictions: the next region, the next continent, the other side of
/// the world.
pub const DEFAULT_RTTS: [Duration; 3] = [
    Duration::from_millis(10),
    DEFAULT_PRICE_RTT,
    Duration::from_millis(120),
];

/// Default round-trip time at which findings are priced and changes are reported.
pub const DEFAULT_PRICE_RTT: Duration = Duration::from_millis(40);
