//! Nodes from measured steps.

use super::{Bytes, Crossing, Dependencies, Measured, PlanConnection, PlanNode};
use model::{Nanos, Phase, Step};
use std::time::Duration;

pub(super) fn node(
    step: &Step,
    connection: PlanConnection,
    crossing: Crossing,
    dependencies: Dependencies,
    client_before: Nanos,
) -> PlanNode {
    PlanNode {
        connection,
        phase: Phase::Work,
        crossing,
        has_reply: step.reply_started.is_some(),
        bytes: Bytes {
            request: step.request_bytes,
            reply: step.reply_bytes,
        },
        measured: times(step, crossing, client_before),
        dependencies,
        locks: None,
        ends_transaction: false,
        by_server: false,
        pool: None,
        keeps_connection: true,
        to_web_server: false,
        on_stream: false,
    }
}

fn times(step: &Step, crossing: Crossing, client_before: Nanos) -> Measured {
    let inside = step.server_inside_reply.min(step.server);
    let moved_unknown = crossing == Crossing::Moved && step.server_side_rtt.is_none();
    let unknown = if moved_unknown {
        measured_wait(step).saturating_sub(step.server - inside)
    } else {
        Duration::ZERO
    };
    Measured {
        client_before,
        client_inside: nanos(step.client_inside_request),
        server_before: nanos(step.server - inside),
        server_inside: nanos(inside.saturating_sub(worked_meanwhile(step))),
        pooler: Nanos::ZERO,
        behind_pooler: Nanos::ZERO,
        held_back: match crossing {
            Crossing::Moved | Crossing::Measured { .. } => held_back(step),
            Crossing::Handshake => [Nanos::ZERO; 2],
        },
        computed_at: [
            step.request_started,
            step.reply_started.unwrap_or(step.request_ended),
        ],
        rested: [Nanos::ZERO; 2],
        round_trip: nanos(
            step.client_side_rtt.unwrap_or_default() + step.server_side_rtt.unwrap_or_default(),
        ),
        unknown: nanos(unknown),
    }
}

/// How long before the request's end the reply began: the server works on a stream of statements
/// while the client still sends, so this time is within the request.
fn worked_meanwhile(step: &Step) -> Duration {
    step.reply_started
        .map_or(Duration::ZERO, |started| step.request_ended.since(started))
}

/// How long the rest of a small request and a small reply was held back until the first part was
/// acknowledged (Nagle's algorithm with delayed acknowledgements: 40 ms on Linux, up to 200 ms
/// elsewhere). Unknown for large messages and for waits that a slow link explains.
fn held_back(step: &Step) -> [Nanos; 2] {
    let of = |span: Duration, inside: Duration, bytes: u64| {
        let pause = span.saturating_sub(inside + step.recovery);
        let on_slowest = || Duration::from_secs_f64(bytes as f64 / SLOWEST_LINK);
        let is_held_back = bytes <= FIRST_WINDOW && pause >= MIN_DELAYED_ACK && pause >= on_slowest();
        if is_held_back { nanos(pause) } else { Nanos::ZERO }
    };
    let reply = step.reply_started.zip(step.reply_ended);
    let reply = reply.map_or(Duration::ZERO, |(started, ended)| ended.since(started));
    [
        of(
            step.request_ended.since(step.request_started),
            step.client_inside_request,
            step.request_bytes,
        ),
        of(reply, step.server_inside_reply, step.reply_bytes),
    ]
}

/// Bytes in flight without an acknowledgement: ten packets (RFC 6928).
pub(super) const FIRST_WINDOW: u64 = 14_600;

/// Minimum delay of acknowledgements, less early timers.
const MIN_DELAYED_ACK: Duration = Duration::from_millis(30);

/// 500 kbit/s, in bytes per second.
const SLOWEST_LINK: f64 = 62_500.0;

/// Whether a large reply arrived at just under 64 KiB per round trip, as without window scaling. n
/// bursts span n - 1 round trips.
pub(super) fn is_limited_by_window(step: &Step) -> bool {
    let rtt = step.client_side_rtt.unwrap_or_default() + step.server_side_rtt.unwrap_or_default();
    let (Some(started), Some(ended)) = (step.reply_started, step.reply_ended) else {
        return false;
    };
    let span = ended
        .since(started)
        .saturating_sub(step.server_inside_reply + step.recovery);
    if rtt < MIN_LIMITING_RTT || span < MIN_ROUNDS * rtt {
        return false;
    }
    let bursts = span.as_secs_f64() / rtt.as_secs_f64() + 1.0;
    LIMITED.contains(&(step.reply_bytes as f64 / bursts))
}

/// The largest window without scaling (RFC 9293 section 3.1).
pub(super) const UNSCALED_WINDOW: u64 = 65_535;

/// Bytes per round trip that show it: full packets leave a part unused, and the first bursts are
/// smaller.
const LIMITED: std::ops::RangeInclusive<f64> = 50_000.0..=66_000.0;

/// Below this, a link would be the limit as well.
const MIN_LIMITING_RTT: Duration = Duration::from_millis(2);

const MIN_ROUNDS: u32 = 4;

fn measured_wait(step: &Step) -> Duration {
    step.reply_started
        .map_or(Duration::ZERO, |started| started.since(step.request_ended))
}

/// Times of a step that stays. Keeps the observed request and reply, and adds half a round trip to
/// each side. A wait beyond server time and round trip (a pipelined request behind another) stays
/// with the reply, unless the reply waited for other steps (`nested`).
pub(super) fn measured(step: &Step, nested: bool) -> Crossing {
    let client_side = step.client_side_rtt.unwrap_or_default();
    let server_side = step.server_side_rtt.unwrap_or_default();
    let half = (client_side + server_side) / 2;
    let before = step.server.saturating_sub(step.server_inside_reply);
    let request_span = step.request_ended.since(step.request_started);
    // The client waits for an event: more time than the request took.
    let awaited = step.client_inside_request.saturating_sub(request_span);
    let unexplained = if nested {
        Duration::ZERO
    } else {
        measured_wait(step).saturating_sub(server_side + before + awaited)
    };
    let reply_span = match (step.reply_started, step.reply_ended) {
        (Some(started), Some(ended)) => ended.since(started).saturating_sub(step.server_inside_reply),
        _ => Duration::ZERO,
    };
    Crossing::Measured {
        request: nanos(request_span.saturating_sub(step.client_inside_request) + half),
        reply: nanos(unexplained + reply_span + client_side + server_side - half),
        round_trip: nanos(client_side + server_side),
        recovery: nanos(step.recovery),
    }
}

/// Client time between two steps of one exchange: from the first's reply (or request, without one)
/// to the second's request, less the way to the client and back.
pub(super) fn pause_between(previous: &Step, next: &Step) -> Nanos {
    let pause = match previous.reply_ended {
        Some(ended) => next
            .request_started
            .since(ended)
            .saturating_sub(next.client_side_rtt.unwrap_or_default()),
        None => next.request_started.since(previous.request_ended),
    };
    nanos(pause)
}

/// At most a year, so that sums of a few hundred never overflow.
pub fn nanos(span: Duration) -> Nanos {
    Nanos::from(span).min(YEAR)
}

const YEAR: Nanos = Nanos::from_millis(365 * 86_400 * 1000);
