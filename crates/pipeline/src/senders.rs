//! How what sends on this system sends, and what is said about it.

use model::{Warning, WarningKind};
use predict::{CONGESTION_CONTROL, Predicted, Senders};
use std::io::Read;

/// As the system's default says; as their replies show where that cannot be read, or sends as the model does.
pub fn of_this_system() -> Senders {
    match congestion_control() {
        Some(name) if name.starts_with(PACED) => Senders::Paced,
        _ => Senders::AsMeasured,
    }
}

/// The congestion control of new connections in this network namespace.
fn congestion_control() -> Option<String> {
    let mut name = String::new();
    let file = std::fs::File::open("/proc/sys/net/ipv4/tcp_congestion_control").ok()?;
    file.take(MAX_NAME_LEN).read_to_string(&mut name).ok()?;
    Some(name.trim().to_owned())
}

/// That predictions have wider bounds, because not all senders send as the model does.
pub(crate) fn warning(senders: Senders, predicted: &Predicted) -> Option<Warning> {
    let replies = &predicted.paced_replies;
    let seen = if predicted.paced_round_trips < MIN_PACED_ROUND_TRIPS {
        return None;
    } else if senders == Senders::Paced {
        format!("this system sends by {PACED} (net.ipv4.tcp_congestion_control)")
    } else if replies.are_paced() {
        format!(
            "{} of {} replies of 4 to 10 packets came spaced out over the round trip, as {PACED} sends, or as a slow link passes them on",
            replies.paced, replies.replies
        )
    } else {
        return None;
    };
    let text = format!(
        "{seen}; predictions assume {CONGESTION_CONTROL}, which is faster with messages of several packets: bounds are wider by the delay that {PACED} adds (docs/prediction.md, Senders)"
    );
    Some(Warning::new(WarningKind::PacedSenders, text))
}

/// Round trips that pacing adds to an operation; what it adds to less is lost among other things.
const MIN_PACED_ROUND_TRIPS: f64 = 0.02;
/// The congestion control that paces.
const PACED: &str = "bbr";
/// Bytes of a name in Linux (TCP_CA_NAME_MAX), and its end of line.
const MAX_NAME_LEN: u64 = 17;
