//! Whether senders space out what they send, as BBR does: the model sends as cubic does, so the bounds allow
//! for the difference.

use link::LinkDescription;
use model::{Exchange, Step};
use std::time::Duration;

/// How senders of the measurement, and so of the target, send several packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Senders {
    /// As their replies show.
    #[default]
    AsMeasured,
    /// Spaced out: their system says so.
    Paced,
}

/// What the replies that were measured show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PacedReplies {
    /// Replies that would show it: of 4 to 10 packets, over a round trip of 1 ms or more, without a pause of
    /// their server.
    pub replies: u64,
    /// Of these, those that came as far apart as BBR sends them.
    pub paced: u64,
}

impl PacedReplies {
    /// Takes an exchange.
    pub(crate) fn learn(&mut self, exchange: &Exchange) {
        for is_paced in exchange.steps().filter_map(is_paced) {
            self.replies += 1;
            self.paced += u64::from(is_paced);
        }
    }

    /// Whether the senders are taken to space out. Not all replies are: after a rest, what a rest of credit
    /// allows leaves at once.
    pub fn are_paced(&self) -> bool {
        self.paced >= MIN_PACED && self.paced * 5 >= self.replies
    }
}

/// What senders gain whose windows do not fall while little is sent: BBR's, and those of a system with
/// `tcp_slow_start_after_idle` off. Without distance nothing shows it: windows do not matter there.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct KeptWindows {
    round_trips: f64,
    bytes: [u64; 2],
}

impl KeptWindows {
    /// Takes the steps of an exchange on a moved connection that was opened before its operation.
    pub(crate) fn learn<'a>(&mut self, steps: impl Iterator<Item = &'a Step>) {
        for step in steps {
            for (way, bytes) in [step.request_bytes, step.reply_bytes].into_iter().enumerate() {
                let rounds = later_rounds(bytes);
                self.round_trips += f64::from(rounds);
                self.bytes[way] += if rounds > 0 { bytes } else { 0 };
            }
        }
    }

    /// Seconds of an operation in which windows grow on that link, and what sending the same takes at its
    /// rate.
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

/// Round trips after the first that this many bytes take from a sender that begins with ten packets and
/// doubles them.
fn later_rounds(bytes: u64) -> u32 {
    let windows = packets(bytes).div_ceil(INITIAL_WINDOW);
    (u64::BITS - windows.leading_zeros()).saturating_sub(1)
}

/// Whether a reply came spaced out as BBR sends; `None` where it would not show.
fn is_paced(step: &Step) -> Option<bool> {
    let rtt = step.client_side_rtt? + step.server_side_rtt?;
    let spread = step.reply_ended?.since(step.reply_started?);
    let packets = packets(step.reply_bytes);
    let shows = (MIN_PACKETS..=INITIAL_WINDOW).contains(&packets)
        && rtt >= MIN_RTT
        && step.recovery.is_zero()
        && step.server_inside_reply.is_zero();
    // The round trip that the sender goes by may be longer than the shortest.
    let paced = rtt.as_secs_f64() * round_trips(step.reply_bytes);
    shows.then(|| (0.4..=3.0).contains(&(spread.as_secs_f64() / paced)))
}

/// Round trips by which pacing makes the first round of this many bytes longer.
///
/// BBR begins with a rate of 2.885 initial windows of ten packets a round trip (Linux
/// `bbr_init_pacing_rate_from_rtt`), does not fall below it while it starts up, and lets two packets leave at
/// once.
fn round_trips(bytes: u64) -> f64 {
    packets(bytes).min(INITIAL_WINDOW).saturating_sub(AT_ONCE) as f64 / (STARTUP_GAIN * INITIAL_WINDOW as f64)
}

/// The same of all requests and replies of an exchange.
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
/// With fewer packets the spread is that of any two.
const MIN_PACKETS: u64 = 4;
/// Below it what hosts take is as long as pacing.
const MIN_RTT: Duration = Duration::from_millis(1);
const MIN_PACED: u64 = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Margin, Timestamp};

    /// A reply of so many bytes that takes `spread_us` to come, over 10 ms.
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
        // Measured: 1.76 ms of 10 ms, of 9 kB from a PostgreSQL whose system sends by bbr.
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
