//! Detects paced senders such as BBR, which are replayed as such.

use link::LinkDescription;
use model::{Exchange, PerDirection, Step};
use std::time::Duration;

/// How senders of the measurement, and so of the target, send several packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Senders {
    #[default]
    AsMeasured,
    Paced,
}

/// Pacing seen in the measured replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacedReplies {
    /// Replies that can show pacing: 4 to 10 packets, rtt of 1 ms or more, no pause of the server.
    pub replies: u64,
    /// Of these, replies spread out as by BBR.
    pub paced: u64,
}

impl PacedReplies {
    pub(crate) fn learn(&mut self, exchange: &Exchange) {
        for is_paced in exchange.steps().filter_map(is_paced) {
            self.replies += 1;
            self.paced += u64::from(is_paced);
        }
    }

    /// Whether senders pace. Not every reply shows it, as remaining credit leaves at once after
    /// idle time.
    pub const fn are_paced(&self) -> bool {
        self.paced >= MIN_PACED && self.paced * 5 >= self.replies
    }
}

/// Time saved by senders that keep their windows while idle: BBR, and systems with
/// `tcp_slow_start_after_idle` off. A measurement without distance cannot show it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeptWindows {
    round_trips: f64,
    bytes: PerDirection<u64>,
}

impl KeptWindows {
    /// Adds the steps of an exchange on a moved connection opened before the operation.
    pub(crate) fn learn<'a>(&mut self, steps: impl Iterator<Item = &'a Step>) {
        for step in steps {
            for (sum, bytes) in self.bytes.iter_mut().zip([step.request_bytes, step.reply_bytes]) {
                let rounds = later_rounds(bytes);
                self.round_trips += f64::from(rounds);
                *sum += if rounds > 0 { bytes } else { 0 };
            }
        }
    }

    /// Seconds per operation in which windows grow on the link, and transfer of the same bytes at
    /// its rate.
    pub(crate) fn seconds(&self, link: &LinkDescription, operations: u64) -> [f64; 2] {
        let rates = link.rate.iter().zip(self.bytes);
        let at_rate = rates.filter_map(|(rate, bytes)| Some(rate.as_ref()?.time_for(bytes).as_secs_f64()));
        let each = |sum: f64| sum / operations.max(1) as f64;
        [
            each(self.round_trips * link.rtt.as_secs_f64()),
            each(at_rate.sum()),
        ]
    }
}

/// Round trips after the first for a sender that starts with ten packets and doubles.
fn later_rounds(bytes: u64) -> u32 {
    let windows = packets(bytes).div_ceil(INITIAL_WINDOW);
    (u64::BITS - windows.leading_zeros()).saturating_sub(1)
}

/// Whether a reply was paced like BBR; `None` if it cannot show that.
fn is_paced(step: &Step) -> Option<bool> {
    let rtt = step.client_side_rtt? + step.server_side_rtt?;
    let spread = step.reply_ended?.since(step.reply_started?);
    let packets = packets(step.reply_bytes);
    let shows = (MIN_PACKETS..=INITIAL_WINDOW).contains(&packets)
        && rtt >= MIN_RTT
        && step.recovery.is_zero()
        && step.server_inside_reply.is_zero();
    // The sender's round-trip estimate may exceed the minimum.
    let paced = rtt.as_secs_f64() * round_trips(step.reply_bytes);
    shows.then(|| (0.4..=3.0).contains(&(spread.as_secs_f64() / paced)))
}

/// Round trips that pacing adds to the first round of a message.
///
/// BBR starts at 2.885 initial windows of ten packets per round trip (Linux
/// `bbr_init_pacing_rate_from_rtt`), stays at or above that during startup, and sends two packets
/// at once.
fn round_trips(bytes: u64) -> f64 {
    packets(bytes).min(INITIAL_WINDOW).saturating_sub(AT_ONCE) as f64 / (STARTUP_GAIN * INITIAL_WINDOW as f64)
}

pub(crate) fn paced_round_trips(exchange: &Exchange) -> f64 {
    let of_step = |step: &Step| round_trips(step.request_bytes) + round_trips(step.reply_bytes);
    exchange.steps().map(of_step).sum()
}

fn packets(bytes: u64) -> u64 {
    bytes.div_ceil(PACKET_BYTES)
}

/// Payload of a full packet of Ethernet with timestamps.
const PACKET_BYTES: u64 = 1_448;
const INITIAL_WINDOW: u64 = 10;
const AT_ONCE: u64 = 2;
const STARTUP_GAIN: f64 = 2.885;
/// Fewer packets show no distinct spread.
const MIN_PACKETS: u64 = 4;
/// Below this, host delays are as long as pacing.
const MIN_RTT: Duration = Duration::from_millis(1);
const MIN_PACED: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Margin, Timestamp};

    /// A reply that arrives over `spread_us`, with an rtt of 10 ms.
    fn step(reply_bytes: u64, spread_us: u64) -> Step {
        let at = Timestamp::from_nanos(1_000_000_000);
        let came = at.after(Duration::from_millis(10));
        Step {
            request_started: at,
            request_ended: at,
            reply_started: Some(came),
            reply_ended: Some(came.after(Duration::from_micros(spread_us))),
            request_bytes: 60,
            reply_bytes,
            turn: true,
            client_inside_request: Duration::ZERO,
            server: Duration::ZERO,
            server_margin: Margin::default(),
            server_inside_reply: Duration::ZERO,
            client_side_rtt: Some(Duration::ZERO),
            server_side_rtt: Some(Duration::from_millis(10)),
            recovery: Duration::ZERO,
        }
    }

    #[test]
    fn nine_kilobytes_leave_bbr_over_a_sixth_of_the_round_trip() {
        // Measured: 1.76 ms of 10 ms for 9 kB from PostgreSQL on a system with bbr.
        assert!((round_trips(9_030) - 0.173).abs() < 0.001);
        assert!((round_trips(1_000_000) - round_trips(14_480)).abs() < 1e-9);
        assert!(round_trips(2_896).abs() < 1e-9);
    }

    #[test]
    fn windows_that_do_not_fall_save_the_rounds_in_which_they_grow() {
        assert_eq!(
            [0, 14_480, 14_481, 43_440, 59_900].map(later_rounds),
            [0, 0, 1, 1, 2]
        );
        let mut kept = KeptWindows::default();
        kept.learn([step(59_900, 100), step(9_000, 100)].iter());
        let link = |text: &str| text.parse::<LinkDescription>().expect("a link");
        assert_eq!(kept.seconds(&link("rtt=40ms"), 2), [0.04, 0.0]);
        let [_, at_rate] = kept.seconds(&link("rtt=40ms rate=10mbit"), 2);
        assert!((at_rate - 0.024).abs() < 0.001, "{at_rate}");
    }

    #[test]
    fn replies_show_whether_they_are_spaced_out() {
        assert_eq!(is_paced(&step(9_030, 1_760)), Some(true));
        assert_eq!(is_paced(&step(9_030, 10)), Some(false), "all at once");
        assert_eq!(is_paced(&step(9_030, 9_000)), Some(false), "slower than any");
        assert_eq!(is_paced(&step(4_000, 300)), None, "too few packets");
        assert_eq!(is_paced(&step(40_000, 9_000)), None, "more than a first window");
        let computing = Step {
            server_inside_reply: Duration::from_millis(1),
            ..step(9_030, 1_760)
        };
        assert_eq!(is_paced(&computing), None, "its server paused");
    }

    #[test]
    fn a_fifth_of_the_replies_must_come_spaced_out() {
        let of = |replies, paced| PacedReplies { replies, paced }.are_paced();
        assert!(of(10, 4) && !of(21, 4) && !of(3, 3));
    }
}
