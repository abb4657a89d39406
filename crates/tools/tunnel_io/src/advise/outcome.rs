//! Computes advice from traffic with known compressed sizes.

use super::source::Traffic;
use analysis::fact::Fact;
use analysis::operations::rule::Rule;
use analysis::operations::{Grouped, Operations};
use anyhow::{Context, Result};
use model::{
    Advice, AtLevel, BitRate, BreakEven, Exchange, LevelAdvice, Operation, OperationStep, PerDirection,
    Phase, Price, Share, Timestamp, Warning, WarningKind, counted,
};
use pipeline::moved::{ConnectionChoice, MovedConnections};
use std::cmp::Reverse;
use std::time::Duration;
use tunnel::Codec;
use tunnel::advise::compare::{self, LevelDurations};
use tunnel::advise::rewrite;

#[derive(Debug, Clone)]
pub struct AdviceRequest {
    pub source: String,
    pub levels: Vec<tunnel::CompressionLevel>,
    pub rates: Vec<BitRate>,
    /// Round-trip time of the links; `None` means that of the traffic.
    pub rtt: Option<Duration>,
    pub price: Option<Price>,
    /// `None` means HTTP requests if there are any, else transactions.
    pub rule: Option<Rule>,
    pub moved: Vec<ConnectionChoice>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdviseError {
    #[error("{0} holds no exchange of a database connection")]
    NoExchanges(String),
    #[error("all database connections in {0} are encrypted: encrypted bytes cannot be made fewer")]
    Encrypted(String),
    #[error("{0} is a recording that does not say how small its exchanges would become")]
    NoLevels(String),
    #[error("{missing} of {of} exchanges in {source_name} lack payload: the capture was cut")]
    Cut {
        source_name: String,
        missing: u64,
        of: u64,
    },
}

impl AdviseError {
    pub fn hint(&self) -> String {
        match self {
            Self::NoExchanges(_) => {
                "name the connections that would go through the tunnel with --on, such as --on http or --on 10.0.0.2:1521"
            }
            Self::Encrypted(_) => {
                "leave encryption to the tunnel (sslmode=disable between client and near end) and capture such a run, or give the server \
                 as TARGET"
            }
            Self::NoLevels(_) => "make it with `watch --compressed-sizes -o FILE`, or `read --compressed-sizes --json --exchanges` from a capture",
            Self::Cut { .. } => "capture whole packets: tcpdump -s 0",
        }
        .to_owned()
    }
}

/// # Errors
/// [`AdviseError`] if the traffic is insufficient.
pub fn advise(traffic: Traffic, asked: &AdviceRequest) -> Result<(Advice, Vec<Warning>)> {
    let made = traffic.made;
    let noise = traffic
        .compressed
        .as_ref()
        .map(|compressed| compressed.noise.clone());
    let mut warnings = traffic.warnings.clone();
    let seen = Seen::new(traffic, asked);
    let levels = seen.levels(asked)?;
    warnings.extend(seen.incomplete());
    let moves = |step: &OperationStep| seen.moved.moves(step);
    let rtt = asked.rtt.or_else(|| seen.round_trip());
    if rtt.is_none() {
        let text = "no round-trip time was measured: 0 is assumed, see --rtt";
        warnings.push(Warning::new(WarningKind::RoundTripUnknown, text));
    }
    let rtt = rtt.unwrap_or_default();
    let replayed = sample(&seen.operations);
    let at =
        |(index, _): &(usize, tunnel::CompressionLevel)| LevelDurations::new(&replayed, *index, rtt, &moves);
    let priced = price(&levels.iter().map(at).collect::<Vec<_>>(), &asked.rates)?;
    let noise = noise.unwrap_or_default();
    let advice = levels
        .iter()
        .zip(priced)
        .map(|((index, level), (durations, break_even))| LevelAdvice {
            level: level.number(),
            codec: codec(*level),
            tunnel_bytes: sum(seen.at(*index).map(|at| at.tunnel_bytes)),
            processor: seen.processor(*index),
            noise: noise
                .get(*index)
                .copied()
                .flatten()
                .filter(|_| level.number() > 0),
            durations,
            break_even,
        });
    let advice = Advice {
        source: asked.source.clone(),
        operations: seen.operations.len() as u64,
        replayed: replayed.len() as u64,
        exchanges: seen.crossing().count() as u64,
        turns: seen.crossing().map(|exchange| u64::from(exchange.turns)).sum(),
        payload_bytes: seen.payload(),
        span: (!made).then(|| seen.span()),
        rtt,
        rtt_asked: asked.rtt.is_some(),
        rates: asked.rates.clone(),
        levels: advice.collect(),
        price: asked.price,
    };
    warnings.extend(told(&advice));
    Ok((advice, warnings))
}

/// Groups facts into operations. In generated traffic, an operation is one run of its script with
/// any number of transactions, which the wire does not show.
struct Runs {
    operations: Operations,
    rule: Rule,
    /// In reverse order, or empty if unknown.
    begins: Vec<Timestamp>,
    /// If the starts of runs are known, login and disconnect belong to no run.
    by_run: bool,
    in_run: bool,
    opened: Vec<Fact>,
}

impl Runs {
    fn new(traffic: &Traffic, asked: &AdviceRequest) -> Self {
        let by_run = asked.rule.is_none() && !traffic.has_http() && !traffic.begins.is_empty();
        let rule = if by_run {
            Rule::Whole
        } else {
            asked.rule.unwrap_or_default()
        };
        let mut begins = if by_run {
            traffic.begins.clone()
        } else {
            Vec::new()
        };
        begins.sort_unstable_by_key(|at| Reverse(*at));
        Self {
            operations: Operations::new(rule),
            rule,
            by_run,
            in_run: !by_run,
            begins,
            opened: Vec::new(),
        }
    }

    fn fact(&mut self, fact: Fact, out: &mut dyn FnMut(Grouped)) {
        match &fact {
            Fact::Exchange { exchange, .. } => {
                self.begin(exchange.at, out);
                if !self.in_run || (self.by_run && exchange.phase == Phase::Close) {
                    return;
                }
            }
            Fact::Opened { .. } => self.opened.push(fact.clone()),
            _ => {}
        }
        self.operations.fact(fact, out);
    }

    fn begin(&mut self, at: Timestamp, out: &mut dyn FnMut(Grouped)) {
        let mut begun = false;
        while self.begins.last().is_some_and(|next| *next <= at) {
            self.begins.pop();
            begun = true;
            self.in_run = true;
        }
        if begun {
            let mut next = Operations::new(self.rule);
            self.opened
                .iter()
                .for_each(|opened| next.fact(opened.clone(), out));
            std::mem::replace(&mut self.operations, next).finish(out);
        }
    }
}

fn sum(parts: impl Iterator<Item = PerDirection<u64>>) -> PerDirection<u64> {
    parts.fold(PerDirection::default(), |sum, part| {
        sum.zip(part).map(|(sum, part)| sum + part)
    })
}

struct Seen {
    source: String,
    moved: MovedConnections,
    /// Operations with compressed sizes known for all crossing exchanges.
    operations: Vec<Operation>,
    all: u64,
    exchanges: u64,
    /// Those without compressed sizes.
    unsized_exchanges: u64,
    /// Connections that would cross.
    connections: u64,
    encrypted_connections: u64,
    recording: bool,
    known: Vec<u8>,
}

impl Seen {
    fn new(traffic: Traffic, asked: &AdviceRequest) -> Self {
        let mut seen = Self {
            source: asked.source.clone(),
            moved: MovedConnections::new(asked.moved.clone()),
            operations: Vec::new(),
            all: 0,
            exchanges: 0,
            unsized_exchanges: 0,
            connections: 0,
            encrypted_connections: 0,
            recording: traffic.compressed.is_none(),
            known: Vec::new(),
        };
        let mut runs = Runs::new(&traffic, asked);
        for fact in traffic.facts {
            match &fact {
                Fact::Opened {
                    connection, server, ..
                } => seen.moved.opened(*connection, *server),
                Fact::Closed(outcome)
                    if seen.moved.moves_connection(outcome.id, outcome.decoding.protocol) =>
                {
                    seen.connections += 1;
                    seen.encrypted_connections += u64::from(outcome.decoding.encrypted);
                }
                Fact::Closed(_)
                | Fact::Started { .. }
                | Fact::Begun { .. }
                | Fact::Left { .. }
                | Fact::Exchange { .. } => {}
            }
            runs.fact(fact, &mut |grouped| seen.process_grouped(grouped));
        }
        runs.operations
            .finish(&mut |grouped| seen.process_grouped(grouped));
        seen
    }

    fn process_grouped(&mut self, grouped: Grouped) {
        let Grouped::Operation(operation) = grouped else {
            return;
        };
        let moved = self.moved.clone();
        let moves = |step: &OperationStep| moved.moves(step);
        let crossing = operation
            .steps
            .iter()
            .filter(|step| rewrite::crosses(step, &moves));
        let crossing: Vec<&Exchange> = crossing.map(|step| &step.exchange).collect();
        if !crossing.iter().any(|exchange| exchange.phase == Phase::Work) {
            return;
        }
        self.all += 1;
        self.exchanges += crossing.len() as u64;
        if self.known.is_empty() {
            let first = crossing.iter().find_map(|exchange| exchange.levels.as_deref());
            self.known = numbers(first.unwrap_or_default());
        }
        let known = &self.known;
        let knows = |exchange: &&&Exchange| {
            let levels = exchange.levels.as_deref().unwrap_or_default();
            !known.is_empty() && numbers(levels) == *known
        };
        let knowing = crossing.iter().filter(knows).count();
        self.unsized_exchanges += (crossing.len() - knowing) as u64;
        if knowing == crossing.len() {
            self.operations.push(operation);
        }
    }

    /// The requested levels with data, including off, each with its index in the exchanges' lists.
    fn levels(&self, asked: &AdviceRequest) -> Result<Vec<(usize, tunnel::CompressionLevel)>> {
        let (connections, encrypted) = (self.connections, self.encrypted_connections);
        if self.operations.is_empty() || (connections > 0 && encrypted == connections) {
            return Err(self.nothing().into());
        }
        let known = self
            .known
            .iter()
            .enumerate()
            .filter_map(|(index, number)| Some((index, tunnel::CompressionLevel::from_number(*number)?)));
        let levels: Vec<_> = known
            .filter(|(_, level)| *level == tunnel::CompressionLevel::OFF || asked.levels.contains(level))
            .collect();
        Ok(levels)
    }

    fn nothing(&self) -> AdviseError {
        let source = self.source.clone();
        let (connections, encrypted) = (self.connections, self.encrypted_connections);
        let (of, missing) = (self.exchanges, self.unsized_exchanges);
        match () {
            () if connections > 0 && encrypted == connections => AdviseError::Encrypted(source),
            () if of == 0 => AdviseError::NoExchanges(source),
            () if self.recording => AdviseError::NoLevels(source),
            () => AdviseError::Cut {
                source_name: source,
                missing,
                of,
            },
        }
    }

    fn incomplete(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let left_out = self.all - self.operations.len() as u64;
        if left_out > 0 {
            let text = format!(
                "{left_out} of {} operations are left out: not all of their bytes were compressed",
                self.all
            );
            warnings.push(Warning::new(WarningKind::LeftOut, text));
        }
        let (connections, encrypted) = (self.connections, self.encrypted_connections);
        if encrypted > 0 {
            let text = format!(
                "{} encrypted, of {connections}: a tunnel cannot make their bytes fewer",
                counted(encrypted, "connection is", "connections are")
            );
            warnings.push(Warning::new(WarningKind::NoEffect, text));
        }
        warnings
    }

    fn crossing(&self) -> impl Iterator<Item = &Exchange> {
        let steps = self.operations.iter().flat_map(|operation| &operation.steps);
        steps
            .filter(|step| rewrite::crosses(step, &|step| self.moved.moves(step)))
            .map(|step| &step.exchange)
    }

    fn payload(&self) -> PerDirection<u64> {
        sum(self
            .crossing()
            .map(|exchange| PerDirection::new(exchange.request_bytes, exchange.reply_bytes)))
    }

    fn at(&self, index: usize) -> impl Iterator<Item = &AtLevel> {
        self.crossing()
            .filter_map(move |exchange| exchange.levels.as_deref()?.get(index))
    }

    fn processor(&self, index: usize) -> [Duration; 2] {
        self.at(index)
            .fold([Duration::ZERO; 2], |[compressing, turning_back], at| {
                [
                    compressing + at.compressing.iter().sum::<Duration>(),
                    turning_back + at.turning_back.iter().sum::<Duration>(),
                ]
            })
    }

    fn round_trip(&self) -> Option<Duration> {
        let sides = self.crossing().filter_map(|exchange| {
            let (client, server) = (exchange.first.client_side_rtt, exchange.first.server_side_rtt);
            (client.is_some() || server.is_some())
                .then(|| client.unwrap_or_default() + server.unwrap_or_default())
        });
        model::median(sides)
    }

    fn span(&self) -> Duration {
        let begin = self.operations.iter().map(|operation| operation.at).min();
        let end = self
            .operations
            .iter()
            .map(|operation| operation.at.after(operation.duration))
            .max();
        begin
            .zip(end)
            .map_or(Duration::ZERO, |(begin, end)| end.since(begin))
    }
}

fn numbers(levels: &[AtLevel]) -> Vec<u8> {
    levels.iter().map(|at| at.level).collect()
}

/// An even sample, which bounds the cost of the replay.
fn sample(operations: &[Operation]) -> Vec<Operation> {
    let packets = |operation: &Operation| {
        let steps = operation.steps.iter().map(|step| &step.exchange);
        let packets =
            steps.map(|exchange| 2 + (exchange.request_bytes + exchange.reply_bytes) / BYTES_A_PACKET);
        packets.sum::<u64>()
    };
    let all: u64 = operations.iter().map(packets).sum();
    let every = usize::try_from(all.div_ceil(MAX_PACKETS))
        .unwrap_or(usize::MAX)
        .max(1);
    operations.iter().step_by(every).cloned().collect()
}

/// Mean durations at each rate and break-even rate, for each level, with off first.
fn price(levels: &[LevelDurations], rates: &[BitRate]) -> Result<Vec<(Vec<Duration>, Option<BreakEven>)>> {
    std::thread::scope(|scope| {
        let off = levels.first();
        let threads = levels.iter().enumerate().map(|(index, level)| {
            std::thread::Builder::new()
                .name("predict".to_owned())
                .spawn_scoped(scope, move || {
                    let break_even = off
                        .filter(|_| index > 0)
                        .and_then(|off| compare::break_even(off, level));
                    (level.durations(rates), break_even)
                })
                .context("could not start a thread for predictions")
        });
        let threads = threads.collect::<Result<Vec<_>>>()?;
        let joined = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        Ok(joined.collect())
    })
}

fn codec(level: tunnel::CompressionLevel) -> String {
    match level.codec() {
        Codec::Off => "off".to_owned(),
        Codec::Zstd(settings) => format!("zstd {}", settings.effort),
    }
}

fn told(advice: &Advice) -> Option<Warning> {
    let noise = advice.levels.iter().filter_map(|level| level.noise);
    let noise = noise.map(Share::as_fraction).fold(0.0, f64::max);
    (noise > NOISY).then(|| {
        let text = format!(
            "processor time varied by up to {:.0} % between passes: break-even rates are no more certain than that; try on a quieter machine",
            noise * 100.0
        );
        Warning::new(WarningKind::MachineBusy, text)
    })
}

/// Total over all replayed operations: simulation costs about 1 ms per thousand packets.
const MAX_PACKETS: u64 = 20_000;
const BYTES_A_PACKET: u64 = 1448;
/// Above 10 %, the promised accuracy of break-even rates (15 %) does not hold.
const NOISY: f64 = 0.10;
