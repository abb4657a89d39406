//! The assumed distance of the database, changed by `+` and `-`.

use link::LinkDescription;
use std::time::Duration;

/// Extra round-trip time of the column "+10 ms".
pub const COST_RTT: Duration = Duration::from_millis(10);

const STEPS_MS: [u64; 10] = [1, 2, 5, 10, 20, 40, 80, 120, 160, 320];

/// `None` for the measured distance.
pub(crate) type Distance = Option<LinkDescription>;

/// `measured` is the measured round-trip time.
pub(crate) fn further(now: Distance, measured: Duration) -> Distance {
    let from = rtt(now, measured);
    let next = steps().find(|step| *step > from);
    let passes = |next: Option<Duration>| next.is_none_or(|next| next >= measured);
    if is_plain(now) && from < measured && passes(next) {
        return None;
    }
    match next {
        Some(next) => at(now, next),
        None => now,
    }
}

pub(crate) fn nearer(now: Distance, measured: Duration) -> Distance {
    let from = rtt(now, measured);
    let next = steps().filter(|step| *step < from).last();
    let passes = |next: Option<Duration>| next.is_none_or(|next| next <= measured);
    if is_plain(now) && from > measured && passes(next) {
        return None;
    }
    match next {
        Some(next) => at(now, next),
        None => now,
    }
}

fn steps() -> impl Iterator<Item = Duration> {
    STEPS_MS.into_iter().map(Duration::from_millis)
}

fn rtt(now: Distance, measured: Duration) -> Duration {
    now.map_or(measured, |link| link.rtt)
}

/// Keeps the other settings of a typed link.
fn at(now: Distance, rtt: Duration) -> Distance {
    Some(match now {
        Some(link) => LinkDescription { rtt, ..link },
        None => LinkDescription::with_rtt(rtt),
    })
}

/// Whether only the round-trip time is set, so that a step may return to the measured distance.
fn is_plain(now: Distance) -> bool {
    now.is_none_or(|link| link == LinkDescription::with_rtt(link.rtt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(measured_us: u64, keys: &str) -> Vec<Option<u64>> {
        let measured = Duration::from_micros(measured_us);
        let mut now = None;
        let steps = keys.chars().map(|key| {
            now = match key {
                '+' => further(now, measured),
                _ => nearer(now, measured),
            };
            now.map(|link| link.rtt.as_millis() as u64)
        });
        steps.collect()
    }

    #[test]
    fn steps_lead_away_and_back() {
        assert_eq!(
            walk(80, "++++-----"),
            [
                Some(1),
                Some(2),
                Some(5),
                Some(10),
                Some(5),
                Some(2),
                Some(1),
                None,
                None
            ]
        );
    }

    #[test]
    fn what_is_far_can_be_brought_nearer() {
        assert_eq!(
            walk(25_000, "--+++-"),
            [Some(20), Some(10), Some(20), None, Some(40), None]
        );
        assert_eq!(walk(10_000, "-++"), [Some(5), None, Some(20)]);
    }

    #[test]
    fn the_last_step_is_the_last() {
        assert_eq!(walk(80, "+++++++++++").last(), Some(&Some(320)));
    }

    #[test]
    fn a_typed_link_keeps_its_rate() {
        let typed: LinkDescription = "rtt=40ms rate=10mbit".parse().expect("a link");
        let further = further(Some(typed), Duration::from_micros(80)).expect("a link");
        assert_eq!(
            (further.rtt, further.rate),
            (Duration::from_millis(80), typed.rate)
        );
        let near = LinkDescription {
            rtt: Duration::from_millis(1),
            ..typed
        };
        assert_eq!(nearer(Some(near), Duration::from_micros(80)), Some(near));
    }
}
