//! Computes advice from traffic with known compressed sizes.

use super::kept::{Kept, Sums};
use super::source::{self, Origin, Traffic};
use analysis::fact::Fact;
use analysis::operations::rule::Rule;
use analysis::operations::{Grouped, Operations};
use anyhow::{Context, Result};
use model::{
    Advice, AtLevel, BitRate, BreakEven, Exchange, LevelAdvice, Operation, OperationStep, Phase, Price,
    Share, Timestamp, Warning, WarningKind, counted,
};
use pipeline::keys::RunKeys;
use pipeline::moved::{ConnectionChoice, MovedConnections};
use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
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
    let mut seen = Seen::new(asked, Runs::of_generated(&traffic, asked));
    traffic.facts.into_iter().for_each(|fact| seen.fact(fact));
    conclude(seen.finish(), traffic.origin, asked)
}

/// Holds no more than the bytes that are compressed and a sample of the operations, however long
/// the files are.
///
/// # Errors
/// If a file cannot be read; [`AdviseError`] if the traffic is insufficient.
pub fn advise_files(
    files: &[PathBuf],
    keys: Arc<RunKeys>,
    asked: &AdviceRequest,
) -> Result<(Advice, Vec<Warning>)> {
    let mut seen = Seen::new(asked, Runs::new(asked.rule.unwrap_or_default()));
    let origin = source::read_files(files, keys, asked, &mut |fact| seen.fact(fact))?;
    conclude(seen.finish(), origin, asked)
}

fn conclude(mut seen: Seen, origin: Origin, asked: &AdviceRequest) -> Result<(Advice, Vec<Warning>)> {
    seen.recording = origin.compressed.is_none();
    let noise = origin.compressed.map(|compressed| compressed.noise);
    let mut warnings = origin.warnings;
    let levels = seen.levels(asked)?;
    warnings.extend(seen.incomplete());
    let moves = |step: &OperationStep| seen.moved.moves(step);
    let rtt = asked.rtt.or_else(|| seen.sums.round_trip());
    if rtt.is_none() {
        let text = "no round-trip time was measured: 0 is assumed, see --rtt";
        warnings.push(Warning::new(WarningKind::RoundTripUnknown, text));
    }
    let rtt = rtt.unwrap_or_default();
    let replayed = seen.sample();
    let indexes: Vec<usize> = levels.iter().map(|(index, _)| *index).collect();
    let priced = price(
        &indexes,
        &|index| LevelDurations::new(&replayed, index, rtt, &moves),
        &asked.rates,
    )?;
    let noise = noise.unwrap_or_default();
    let advice = levels
        .iter()
        .zip(priced)
        .map(|((index, level), (durations, break_even))| LevelAdvice {
            level: level.number(),
            codec: codec(*level),
            tunnel_bytes: seen.sums.at(*index).tunnel_bytes,
            processor: seen.sums.at(*index).processor,
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
        operations: seen.sums.operations,
        replayed: replayed.len() as u64,
        exchanges: seen.sums.exchanges,
        turns: seen.sums.turns,
        payload_bytes: seen.sums.payload_bytes,
        span: (!origin.made).then(|| seen.sums.span()),
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
    fn new(rule: Rule) -> Self {
        Self {
            operations: Operations::new(rule),
            rule,
            begins: Vec::new(),
            by_run: false,
            in_run: true,
            opened: Vec::new(),
        }
    }

    fn of_generated(traffic: &Traffic, asked: &AdviceRequest) -> Self {
        let by_run = asked.rule.is_none() && !traffic.has_http() && !traffic.begins.is_empty();
        if !by_run {
            return Self::new(asked.rule.unwrap_or_default());
        }
        let mut begins = traffic.begins.clone();
        begins.sort_unstable_by_key(|at| Reverse(*at));
        Self {
            by_run,
            in_run: false,
            begins,
            ..Self::new(Rule::Whole)
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
            Fact::Opened { .. } if self.by_run => self.opened.push(fact.clone()),
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

struct Seen {
    source: String,
    moved: MovedConnections,
    /// `None` while it is in use.
    runs: Option<Runs>,
    /// Of operations with compressed sizes known for all crossing exchanges.
    kept: Kept,
    sums: Sums,
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
    fn new(asked: &AdviceRequest, runs: Runs) -> Self {
        Self {
            source: asked.source.clone(),
            moved: MovedConnections::new(asked.moved.clone()),
            runs: Some(runs),
            kept: Kept::default(),
            sums: Sums::default(),
            all: 0,
            exchanges: 0,
            unsized_exchanges: 0,
            connections: 0,
            encrypted_connections: 0,
            recording: false,
            known: Vec::new(),
        }
    }

    fn fact(&mut self, fact: Fact) {
        match &fact {
            Fact::Opened {
                connection, server, ..
            } => self.moved.opened(*connection, *server),
            Fact::Closed(outcome) if self.moved.moves_connection(outcome.id, outcome.decoding.protocol) => {
                self.connections += 1;
                self.encrypted_connections += u64::from(outcome.decoding.encrypted);
            }
            Fact::Closed(_)
            | Fact::Started { .. }
            | Fact::Begun { .. }
            | Fact::Left { .. }
            | Fact::Exchange { .. } => {}
        }
        if let Some(mut runs) = self.runs.take() {
            runs.fact(fact, &mut |grouped| self.process_grouped(grouped));
            self.runs = Some(runs);
        }
    }

    fn finish(mut self) -> Self {
        if let Some(runs) = self.runs.take() {
            runs.operations
                .finish(&mut |grouped| self.process_grouped(grouped));
        }
        self
    }

    /// An even sample, which bounds the cost of the replay.
    fn sample(&self) -> Vec<Operation> {
        let every = usize::try_from(self.sums.packets.div_ceil(MAX_PACKETS)).unwrap_or(usize::MAX);
        self.kept.sample(every.max(1))
    }

    fn process_grouped(&mut self, grouped: Grouped) {
        let Grouped::Operation(operation) = grouped else {
            return;
        };
        let moved = &self.moved;
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
            self.sums.add(&operation, &crossing);
            self.kept.add(operation);
        }
    }

    /// The requested levels with data, including off, each with its index in the exchanges' lists.
    fn levels(&self, asked: &AdviceRequest) -> Result<Vec<(usize, tunnel::CompressionLevel)>> {
        let (connections, encrypted) = (self.connections, self.encrypted_connections);
        if self.sums.operations == 0 || (connections > 0 && encrypted == connections) {
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
        let left_out = self.all - self.sums.operations;
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
}

fn numbers(levels: &[AtLevel]) -> Vec<u8> {
    levels.iter().map(|at| at.level).collect()
}

/// Mean durations at each rate and break-even rate, for each level, with off first. A thread for
/// each core, because each needs memory for its predictions.
fn price(
    levels: &[usize],
    at: &(dyn Fn(usize) -> LevelDurations + Sync),
    rates: &[BitRate],
) -> Result<Vec<Priced>> {
    let off = levels.first().map(|index| at(*index));
    let priced: Vec<OnceLock<Priced>> = levels.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let number = next.fetch_add(1, Ordering::Relaxed)
            && let (Some(index), Some(place)) = (levels.get(number), priced.get(number))
        {
            let level = at(*index);
            let off = off.as_ref().filter(|_| number > 0);
            let break_even = off.and_then(|off| compare::break_even(off, &level));
            place.set((level.durations(rates), break_even)).ok();
        }
    };
    std::thread::scope(|scope| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores.min(levels.len()) {
            std::thread::Builder::new()
                .name("predict".to_owned())
                .spawn_scoped(scope, work)
                .context("could not start a thread for predictions")?;
        }
        anyhow::Ok(())
    })?;
    Ok(priced.into_iter().filter_map(OnceLock::into_inner).collect())
}

type Priced = (Vec<Duration>, Option<BreakEven>);

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
/// Above 10 %, the promised accuracy of break-even rates (15 %) does not hold.
const NOISY: f64 = 0.10;
