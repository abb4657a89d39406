//! An operation as it would be through a tunnel at one level: other bytes, and the codec's time where it is
//! spent.
//!
//! The tunnel's connection (a lane) is up already: handshakes stay near the client, as they were measured,
//! and all that moves finds the lane's window as the operation before left it.
//!
//! How the codec's time joins a step (`docs/advise.md#the-codecs-time`):
//! 1. Nothing of a burst can travel before its first chunk is compressed, and its last chunk is decompressed
//!    after all has arrived: both are waits, of the step's server time.
//! 2. While a chunk travels the next is compressed, and those that have arrived are decompressed: compressing
//!    the others, or decompressing where that takes longer, only spreads the bytes over that time. A burst
//!    takes the longer of the two.

use model::{AtLevel, ConnectionId, Operation, OperationStep, Step, Timestamp};
use std::time::Duration;
use tunnel::MAX_CHUNK_BYTES;

/// The operation at the level that is number `level` of each exchange's; `None` if it is unknown what an
/// exchange that `moves` would become.
pub fn at_level(
    operation: &Operation,
    level: usize,
    moves: &dyn Fn(&OperationStep) -> bool,
) -> Option<Operation> {
    let mut operation = operation.clone();
    let mut lanes: Vec<ConnectionId> = Vec::new();
    for step in &mut operation.steps {
        if !crosses(step, moves) {
            continue;
        }
        let at = *step.exchange.levels.as_deref()?.get(level)?;
        let id = step.exchange.connection;
        let lane = lanes.iter().position(|lane| *lane == id).unwrap_or_else(|| {
            lanes.push(id);
            lanes.len() - 1
        });
        step.exchange.connection = ConnectionId(FIRST_LANE.saturating_add(lane as u32));
        let whole = [step.exchange.request_bytes, step.exchange.reply_bytes];
        let exchange = &mut step.exchange;
        for part in std::iter::once(&mut exchange.first).chain(&mut exchange.more) {
            rewrite(part, whole, &at);
        }
        [exchange.request_bytes, exchange.reply_bytes] = at.tunnel_bytes;
    }
    Some(operation)
}

/// Whether the exchange of `step` crosses the tunnel: its connection moves, and it is no handshake.
pub fn crosses(step: &OperationStep, moves: &dyn Fn(&OperationStep) -> bool) -> bool {
    moves(step) && !step.exchange.is_handshake()
}

/// Whether the exchange is on a lane, after [`at_level`].
pub const fn is_on_a_lane(step: &OperationStep) -> bool {
    step.exchange.connection.0 >= FIRST_LANE
}

/// Gives a step its part of the exchange's bytes and times.
fn rewrite(step: &mut Step, whole: [u64; 2], at: &AtLevel) {
    let bytes = [step.request_bytes, step.reply_bytes];
    let burst = |way: usize| Burst::new(bytes[way], whole[way], at, way);
    let (request, reply) = (burst(0), burst(1));
    let inside_reply = step.server_inside_reply.max(reply.spread);
    step.server += inside_reply.saturating_sub(step.server_inside_reply) + request.waits + reply.waits;
    step.server_inside_reply = inside_reply;
    if step.server_side_rtt.is_none() {
        // The whole wait is unknown then, and server time is a part of it: it becomes longer by the same
        // amount.
        let later = |at: Timestamp| at.after(request.waits + reply.waits);
        step.reply_started = step.reply_started.map(later);
        step.reply_ended = step.reply_ended.map(later);
    }
    step.client_inside_request = step.client_inside_request.max(request.spread);
    step.request_bytes = request.bytes;
    step.reply_bytes = reply.bytes;
}

/// One direction of a step.
struct Burst {
    bytes: u64,
    /// Compressing its first chunk, and decompressing its last.
    waits: Duration,
    /// The time over which its other chunks are compressed, or decompressed, whichever is longer.
    spread: Duration,
}

impl Burst {
    fn new(payload: u64, whole: u64, at: &AtLevel, way: usize) -> Self {
        let share = if whole == 0 {
            0.0
        } else {
            payload as f64 / whole as f64
        };
        let one = (MAX_CHUNK_BYTES as f64 / payload.max(1) as f64).min(1.0);
        let compressing = at.compressing[way].mul_f64(share);
        let turning_back = at.turning_back[way].mul_f64(share);
        Self {
            bytes: ((at.tunnel_bytes[way] as f64 * share).round() as u64).max(u64::from(payload > 0)),
            waits: (compressing + turning_back).mul_f64(one),
            spread: compressing.max(turning_back).mul_f64(1.0 - one),
        }
    }
}

/// Connections of captures are numbered from 0.
const FIRST_LANE: u32 = 1 << 31;
