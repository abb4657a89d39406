//! Rewrites an operation as if it crossed a tunnel at one level: other byte counts, plus codec
//! time.
//!
//! The tunnel's connection (a lane) is already open: handshakes stay near the client, with their
//! measured times, and each operation inherits the lane's congestion window.
//!
//! How codec time joins a step (`docs/advise.md#the-codecs-time`):
//! - A burst waits for its first chunk to be compressed, and after arrival for its last chunk to be
//!   decompressed, which both count as server time of the step.
//! - The other chunks are compressed and decompressed while data travels. The longer of the two only
//!   spreads the bytes over that time, so a burst takes the longer of codec and network.

use crate::MAX_CHUNK_BYTES;
use model::{AtLevel, ConnectionId, Direction, Operation, OperationStep, PerDirection, Step, Timestamp};
use std::time::Duration;

/// `level` is an index into each exchange's list. `None` if an exchange that `moves` has no data
/// for it.
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
        let whole = PerDirection::new(step.exchange.request_bytes, step.exchange.reply_bytes);
        let exchange = &mut step.exchange;
        for part in std::iter::once(&mut exchange.first).chain(&mut exchange.more) {
            rewrite(part, whole, &at);
        }
        [exchange.request_bytes, exchange.reply_bytes] = at.tunnel_bytes.into_array();
    }
    Some(operation)
}

/// True if the connection of `step` moves and the exchange is not a handshake.
pub fn crosses(step: &OperationStep, moves: &dyn Fn(&OperationStep) -> bool) -> bool {
    moves(step) && !step.exchange.is_handshake()
}

pub const fn is_on_a_lane(step: &OperationStep) -> bool {
    step.exchange.connection.0 >= FIRST_LANE
}

fn rewrite(step: &mut Step, whole: PerDirection<u64>, at: &AtLevel) {
    let bytes = PerDirection::new(step.request_bytes, step.reply_bytes);
    let burst = |direction| Burst::new(bytes[direction], whole[direction], at, direction);
    let [request, reply] = Direction::ALL.map(burst);
    let inside_reply = step.server_inside_reply.max(reply.spread);
    step.server += inside_reply.saturating_sub(step.server_inside_reply) + request.waits + reply.waits;
    step.server_inside_reply = inside_reply;
    if step.server_side_rtt.is_none() {
        // The whole wait is unknown here; server time is part of it and grows by the same amount.
        let later = |at: Timestamp| at.after(request.waits + reply.waits);
        step.reply_started = step.reply_started.map(later);
        step.reply_ended = step.reply_ended.map(later);
    }
    step.client_inside_request = step.client_inside_request.max(request.spread);
    step.request_bytes = request.bytes;
    step.reply_bytes = reply.bytes;
}

struct Burst {
    bytes: u64,
    /// Compressing the first chunk and decompressing the last.
    waits: Duration,
    /// Time for the other chunks: compressing or decompressing, whichever is longer.
    spread: Duration,
}

impl Burst {
    fn new(payload: u64, whole: u64, at: &AtLevel, direction: Direction) -> Self {
        let share = if whole == 0 {
            0.0
        } else {
            payload as f64 / whole as f64
        };
        let one = (MAX_CHUNK_BYTES as f64 / payload.max(1) as f64).min(1.0);
        let compressing = at.compressing[direction].mul_f64(share);
        let turning_back = at.turning_back[direction].mul_f64(share);
        Self {
            bytes: ((at.tunnel_bytes[direction] as f64 * share).round() as u64).max(u64::from(payload > 0)),
            waits: (compressing + turning_back).mul_f64(one),
            spread: compressing.max(turning_back).mul_f64(1.0 - one),
        }
    }
}

/// Connections in captures count from 0.
const FIRST_LANE: u32 = 1 << 31;
