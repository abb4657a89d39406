//! Compresses payload at every level to determine the size of each exchange in a tunnel.
//!
//! Call [`CompressionMeter::segment`] for payload before [`CompressionMeter::fact`] for the facts
//! that follow from it. Facts come out in order, with their exchanges' levels, when a batch is full,
//! at [`CompressionMeter::flush`] and at [`CompressionMeter::finish`].
//!
//! Bytes become chunks as follows:
//! 1. Bytes of one direction of a connection are collected up to [`tunnel::MAX_CHUNK_BYTES`], until the
//!    other direction sends, or until an exchange ends. A lane's end reads such chunks while the lane has no
//!    room.
//! 2. Chunks use one context per direction and level, shared by all connections, in the order in which
//!    they end.
//! 3. Bytes of connecting and logging in, the first [`UNKNOWN_LOGIN`] of an unknown protocol, chunks below
//!    [`TINY`] and those of poorly compressible connections are stored.

use super::codec::LevelCodec;
use super::direction_payload::{Chunk, CompressedChunk, Cost, DirectionPayload, Span};
use crate::fact_channel::Posted;
use crate::moved::{self, ConnectionChoice};
use analysis::fact::{Fact, FactSink};
use anyhow::Result;
use model::{
    AtLevel, ByteCount, ConnectionId, ConnectionMap, Direction, Endpoint, Exchange, PerDirection, Phase,
    Protocol, Segment, Share, Warning, WarningKind,
};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tunnel::lane::TINY;
use tunnel::lane::compressibility::Compressibility;
use tunnel::{CompressionLevel, MAX_CHUNK_BYTES};

#[derive(Debug, Clone)]
pub struct CompressionPlan {
    pub levels: Vec<CompressionLevel>,
    pub moved: Vec<ConnectionChoice>,
    pub how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// At the end, [`PASSES`] times unless that takes longer than [`LONG`]; the median time of each
    /// chunk counts. Payload is kept up to a maximum, the rest is not processed.
    Passes {
        most_bytes: u64,
    },
    Stream,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompressionOutcome {
    pub payload_bytes: u64,
    /// Payload bytes that passed but are missing in the capture.
    pub missing_bytes: u64,
    pub beyond_bytes: u64,
    /// For each level the spread of processor time over the passes, as a share of the median;
    /// `None` after one pass.
    pub noise: Vec<Option<Share>>,
}

impl CompressionOutcome {
    /// Warns of traffic that was not compressed.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut warn = |bytes: u64, kind, what: &str| {
            if bytes > 0 {
                let text = format!("{} of payload {what}", ByteCount::from_bytes(bytes));
                warnings.push(Warning::new(kind, text));
            }
        };
        warn(
            self.missing_bytes,
            WarningKind::PayloadMissing,
            "passed and were not kept: exchanges with them are left out",
        );
        warn(
            self.beyond_bytes,
            WarningKind::LeftOut,
            "were not compressed, because enough had been: exchanges with them are left out",
        );
        warnings
    }
}

/// Compresses payload and adds the compressed sizes to exchanges.
pub struct CompressionMeter {
    compressing: CompressionPlan,
    connections: ConnectionMap<CompressibleConnection>,
    batch: Vec<Waited>,
    batch_bytes: u64,
    waiting: VecDeque<Waiting>,
    lanes: Vec<LaneCodecs>,
    outcome: CompressionOutcome,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Bytes and facts wait for the passes. There are enough bytes, or `check_at` facts more, when
    /// chunks that are not complete are looked for.
    Collecting { check_at: usize },
    /// No byte is compressed any more: facts pass.
    Done,
}

type Waited = (ConnectionId, Direction, Chunk);

#[derive(Default)]
struct CompressibleConnection {
    ways: PerDirection<DirectionPayload>,
    server: Option<Endpoint>,
    protocol: Option<Protocol>,
    last: Option<Direction>,
}

enum Waiting {
    Exchange(Box<Exchange>, Protocol, PerDirection<Span>),
    Other(Fact),
}

#[derive(Default)]
struct LaneCodecs {
    codecs: PerDirection<LevelCodec>,
    worth: ConnectionMap<PerDirection<Compressibility>>,
}

impl CompressionMeter {
    pub fn new(compressing: CompressionPlan) -> Self {
        Self {
            lanes: compressing.levels.iter().map(|_| LaneCodecs::default()).collect(),
            compressing,
            connections: ConnectionMap::default(),
            batch: Vec::new(),
            batch_bytes: 0,
            waiting: VecDeque::new(),
            outcome: CompressionOutcome::default(),
            stage: Stage::Collecting { check_at: 0 },
        }
    }

    pub fn segment(&mut self, id: ConnectionId, segment: &Segment<'_>) {
        let connection = self.connections.entry(id).or_default();
        let direction = segment.direction;
        if connection.last.is_some_and(|last| last != direction) {
            let ended = connection.ways[direction.reverse()].close();
            self.batch_bytes += bytes_of(&ended);
            self.batch
                .extend(ended.map(|chunk| (id, direction.reverse(), chunk)));
        }
        connection.last = Some(direction);
        let way = &mut connection.ways[direction];
        let seen = segment.payload.len() as u64;
        let (batch, waits) = (&mut self.batch, &mut self.batch_bytes);
        if self.stage == Stage::Done || is_full(&self.compressing, *waits) {
            self.outcome.beyond_bytes += seen;
            way.skip(segment.at, seen);
        } else {
            way.payload(segment.at, segment.payload, MAX_CHUNK_BYTES, &mut |chunk| {
                *waits += chunk.payload.len() as u64;
                batch.push((id, direction, chunk));
            });
        }
        if segment.unseen > 0 {
            let ended = way.close();
            *waits += bytes_of(&ended);
            batch.extend(ended.map(|chunk| (id, direction, chunk)));
            way.skip(segment.at, segment.unseen);
            self.outcome.missing_bytes += segment.unseen;
        }
    }

    pub fn fact(&mut self, fact: Fact, out: &mut FactSink<'_>) -> Result<()> {
        match fact {
            Fact::Exchange { exchange, protocol } => self.exchange(exchange, protocol),
            Fact::Opened {
                connection, server, ..
            } => {
                self.connections.entry(connection).or_default().server = Some(server);
                self.waiting.push_back(Waiting::Other(fact));
            }
            fact => self.waiting.push_back(Waiting::Other(fact)),
        }
        let is_due = match (self.compressing.how, self.stage) {
            (How::Stream, _) => self.batch_bytes >= BATCH,
            (How::Passes { .. }, Stage::Collecting { check_at }) => {
                is_full(&self.compressing, self.batch_bytes)
                    && self.waiting.len() >= check_at
                    && self.has_enough()
            }
            (How::Passes { .. }, Stage::Done) => true,
        };
        if is_due {
            self.flush(out)?;
        }
        Ok(())
    }

    /// Whether no chunk is incomplete. After [`MAX_INCOMPLETE`] facts, the incomplete ones are given
    /// up.
    fn has_enough(&mut self) -> bool {
        let waits = |connection: &CompressibleConnection| connection.ways.iter().any(DirectionPayload::waits);
        let late = self.waiting.len() >= MAX_INCOMPLETE;
        if !late && self.connections.values().any(waits) {
            let check_at = self.waiting.len() + CHECK_EVERY;
            self.stage = Stage::Collecting { check_at };
            return false;
        }
        for connection in self.connections.values_mut() {
            connection.ways.iter_mut().for_each(|way| drop(way.close()));
        }
        self.stage = Stage::Done;
        true
    }

    /// [`How::Stream`] emits posted facts immediately.
    pub fn process_facts(&mut self, posted: Vec<Posted>, out: &mut FactSink<'_>) -> Result<()> {
        for posted in posted {
            match posted {
                Posted::Fact(fact) => self.fact(fact, out)?,
                Posted::Payload(payload) => self.segment(payload.connection, &payload.segment()),
            }
        }
        match self.compressing.how {
            How::Stream => self.flush(out),
            How::Passes { .. } => Ok(()),
        }
    }

    pub fn flush(&mut self, out: &mut FactSink<'_>) -> Result<()> {
        self.compress()?;
        while let Some(waiting) = self.waiting.pop_front() {
            out(match waiting {
                Waiting::Other(fact) => {
                    if let Fact::Closed(outcome) = &fact {
                        self.connections.remove(&outcome.id);
                        for lane in &mut self.lanes {
                            lane.worth.remove(&outcome.id);
                        }
                    }
                    fact
                }
                Waiting::Exchange(exchange, protocol, spans) => self.compressed(exchange, protocol, &spans),
            });
        }
        Ok(())
    }

    /// Emits the rest and returns the totals.
    ///
    /// # Errors
    /// If a codec fails.
    pub fn finish(mut self, out: &mut FactSink<'_>) -> Result<CompressionOutcome> {
        self.flush(out)?;
        Ok(self.outcome)
    }

    fn exchange(&mut self, exchange: Box<Exchange>, protocol: Protocol) {
        let id = exchange.connection;
        let connection = self.connections.entry(id).or_default();
        if protocol != Protocol::Unknown || connection.protocol.is_none() {
            connection.protocol = Some(protocol);
        }
        for direction in Direction::ALL {
            let ended = connection.ways[direction].close();
            self.batch_bytes += bytes_of(&ended);
            self.batch.extend(ended.map(|chunk| (id, direction, chunk)));
        }
        let begins = PerDirection::new(Some(exchange.first.request_started), exchange.first.reply_started);
        let bytes = PerDirection::new(exchange.request_bytes, exchange.reply_bytes);
        let spans = PerDirection::from_fn(|direction| {
            connection.ways[direction].take_span(begins[direction], bytes[direction])
        });
        if matches!(exchange.phase, Phase::Connect | Phase::Tls | Phase::Login) {
            for (way, span) in connection.ways.iter_mut().zip(&spans) {
                way.was_login(span);
            }
        }
        self.waiting
            .push_back(Waiting::Exchange(exchange, protocol, spans));
    }

    fn compressed(
        &mut self,
        mut exchange: Box<Exchange>,
        protocol: Protocol,
        spans: &PerDirection<Span>,
    ) -> Fact {
        if let Some(connection) = self.connections.get_mut(&exchange.connection) {
            let moves = connection.moves(&self.compressing.moved);
            let levels = self.compressing.levels.iter().enumerate();
            let levels = levels.map(|(index, level)| {
                let cost = |direction| connection.ways[direction].cost(&spans[direction], index);
                let request = cost(Direction::ClientToServer)?;
                Some(at_level(
                    *level,
                    PerDirection::new(request, cost(Direction::ServerToClient)?),
                ))
            });
            exchange.levels = levels.collect::<Option<Arc<[AtLevel]>>>().filter(|_| moves);
            for (way, span) in connection.ways.iter_mut().zip(spans) {
                way.forget_before(span.end);
            }
        }
        Fact::Exchange { exchange, protocol }
    }

    fn compress(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let stored: Vec<bool> = batch
            .iter()
            .map(|(id, direction, chunk)| self.is_stored(*id, *direction, chunk))
            .collect();
        let mut costs: Vec<Vec<Cost>> = vec![Vec::with_capacity(self.compressing.levels.len()); batch.len()];
        self.outcome.noise.clear();
        for (level, lane) in self.compressing.levels.iter().zip(&mut self.lanes) {
            let passes = match self.compressing.how {
                How::Passes { .. } => afresh(lane, *level, &batch, &stored)?,
                How::Stream => vec![lane.pass(*level, &batch, &stored)?],
            };
            self.outcome.noise.push(noise(&passes));
            for (number, costs) in costs.iter_mut().enumerate() {
                costs.extend(median(&passes, number));
            }
        }
        for ((id, direction, chunk), costs) in batch.into_iter().zip(costs) {
            self.outcome.payload_bytes += chunk.payload.len() as u64;
            if let Some(connection) = self.connections.get_mut(&id) {
                let span = chunk.span;
                connection.ways[direction].done(CompressedChunk { span, costs });
            }
        }
        Ok(())
    }

    fn is_stored(&self, id: ConnectionId, direction: Direction, chunk: &Chunk) -> bool {
        let start = chunk.span.start;
        self.connections.get(&id).is_none_or(|connection| {
            let unknown = !connection.protocol.is_some_and(Protocol::is_database);
            connection.ways[direction].is_login(start)
                || (unknown && start < UNKNOWN_LOGIN)
                || !connection.moves(&self.compressing.moved)
        })
    }
}

impl CompressibleConnection {
    fn moves(&self, choices: &[ConnectionChoice]) -> bool {
        let protocol = self.protocol.unwrap_or(Protocol::Unknown);
        moved::chosen(choices, protocol, self.server.as_ref())
    }
}

impl LaneCodecs {
    fn pass(&mut self, level: CompressionLevel, batch: &[Waited], stored: &[bool]) -> Result<Vec<Cost>> {
        let chunks = batch.iter().zip(stored);
        let costs = chunks.map(|((id, direction, chunk), stored)| {
            let worth = &mut self.worth.entry(*id).or_default()[*direction];
            let tries =
                !stored && chunk.payload.len() >= TINY && level != CompressionLevel::OFF && worth.tries();
            let passed = self.codecs[*direction].pass(&chunk.payload, level, !tries)?;
            worth.went(tries, chunk.payload.len(), passed.bytes);
            Ok(passed.cost)
        });
        costs.collect()
    }
}

/// Each pass starts with new contexts.
fn afresh(
    lane: &mut LaneCodecs,
    level: CompressionLevel,
    batch: &[Waited],
    stored: &[bool],
) -> Result<Vec<Vec<Cost>>> {
    let mut passes: Vec<Vec<Cost>> = Vec::with_capacity(PASSES);
    while passes.len() < PASSES && passes.first().is_none_or(|first| sum(first) <= LONG) {
        *lane = LaneCodecs::default();
        passes.push(lane.pass(level, batch, stored)?);
    }
    *lane = LaneCodecs::default();
    Ok(passes)
}

fn is_full(compressing: &CompressionPlan, bytes: u64) -> bool {
    matches!(compressing.how, How::Passes { most_bytes } if bytes >= most_bytes)
}

fn bytes_of(chunk: &Option<Chunk>) -> u64 {
    chunk.as_ref().map_or(0, |chunk| chunk.payload.len() as u64)
}

/// The median times of chunk `number` over the passes; its size is the same in all.
fn median(passes: &[Vec<Cost>], number: usize) -> Option<Cost> {
    let costs: Vec<&Cost> = passes.iter().filter_map(|pass| pass.get(number)).collect();
    let middle = |times: fn(&Cost) -> f64| {
        model::median_number(costs.iter().map(|cost| times(cost))).unwrap_or_default()
    };
    Some(Cost {
        compressing: middle(|cost| cost.compressing),
        turning_back: middle(|cost| cost.turning_back),
        ..**costs.first()?
    })
}

fn noise(passes: &[Vec<Cost>]) -> Option<Share> {
    let sums: Vec<Duration> = passes.iter().map(|pass| sum(pass)).collect();
    let (least, most) = (sums.iter().min()?, sums.iter().max()?);
    let middle = model::median(sums.iter().copied()).filter(|_| sums.len() > 1)?;
    Share::from_parts(most.saturating_sub(*least), middle)
}

fn sum(pass: &[Cost]) -> Duration {
    let nanos: f64 = pass
        .iter()
        .flat_map(|cost| [cost.compressing, cost.turning_back])
        .sum();
    Duration::from_nanos(nanos as u64)
}

fn at_level(level: CompressionLevel, costs: PerDirection<Cost>) -> AtLevel {
    let span = |nanos: f64| Duration::from_nanos(nanos.round() as u64);
    AtLevel {
        level: level.number(),
        tunnel_bytes: costs.map(|cost| cost.tunnel_bytes.round() as u64),
        compressing: costs.map(|cost| span(cost.compressing)),
        turning_back: costs.map(|cost| span(cost.turning_back)),
    }
}

pub const PASSES: usize = 3;

/// A pass that took longer is not repeated.
pub const LONG: Duration = Duration::from_secs(2);

/// Bytes each way that may be the login of an unknown protocol.
const UNKNOWN_LOGIN: u64 = 16 * 1024;

const BATCH: u64 = 4 << 20;

const CHECK_EVERY: usize = 4096;

const MAX_INCOMPLETE: usize = 400_000;
