//! Congestion control of this system's senders, and its effect on predictions.

use model::{Warning, WarningKind};
use predict::{CONGESTION_CONTROL, Predicted, Senders};
use std::io::Read;

/// The system's default. The replies decide if it cannot be read, or sends like the model.
pub fn of_this_system() -> Senders {
    match congestion_control() {
        Some(name) if name.starts_with(PACED) => Senders::Paced,
        _ => Senders::AsMeasured,
    }
}

fn congestion_control() -> Option<String> {
    let mut name = String::new();
    let file = std::fs::File::open("/proc/sys/net/ipv4/tcp_congestion_control").ok()?;
    file.take(MAX_NAME_LEN).read_to_string(&mut name).ok()?;
    Some(name.trim().to_owned())
}

/// Warns that senders are replayed with BBR.
pub(crate) fn warning(senders: Senders, predicted: &Predicted) -> Option<Warning> {
    let replies = &predicted.paced_replies;
    let seen = if predicted.paced_round_trips < MIN_PACED_ROUND_TRIPS {
        return None;
    } else if senders == Senders::Paced {
        format!("this system sends by {PACED} (net.ipv4.tcp_congestion_control)")
    } else if replies.are_paced() {
        format!(
            "{} of {} replies of 4 to 10 packets were spaced out over the round trip, as by {PACED} or a slow link",
            replies.paced, replies.replies
        )
    } else {
        return None;
    };
    let text = format!(
        "{seen}. Predictions let both ends send by {PACED}; {CONGESTION_CONTROL} is faster with messages of several packets, which `low` \
         allows for (docs/prediction.md, Senders)"
    );
    Some(Warning::new(WarningKind::PacedSenders, text))
}

/// Minimum round trips per operation that pacing adds to be noticed.
const MIN_PACED_ROUND_TRIPS: f64 = 0.02;
const PACED: &str = "bbr";
/// Maximum name in Linux (TCP_CA_NAME_MAX), with its line feed.
const MAX_NAME_LEN: u64 = 17;
