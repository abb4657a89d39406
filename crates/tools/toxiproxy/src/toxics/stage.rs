//! One toxic on one direction of one connection.

use super::toxic::{Toxic, ToxicKind};
use link::Jitter;
use link::JitterDistribution;
use link::impairments::Impairment;
use link::impairments::delay::Delay;
use link::impairments::draws::Draws;
use link::impairments::rate::TokenBucket;
use model::{BitRate, Timestamp};
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passing {
    /// Bytes to be sent as one piece.
    Bytes(Vec<u8>),
    End(StreamEnd),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// A half-close, so the other direction continues.
    Finished,
    /// Closes both directions after sending earlier bytes.
    Closed,
    Reset,
}

#[derive(Debug)]
pub(crate) struct Stage {
    name: String,
    effect: Effect,
    waiting: VecDeque<Waiting>,
    held_bytes: usize,
    /// Due time of the last piece, since pieces never overtake.
    last_due: Timestamp,
    alarm: Option<(Timestamp, StreamEnd)>,
    /// Payload bytes counted by a limit on this connection; changes of the toxic do not reset it.
    passed_bytes: u64,
}

#[derive(Debug)]
struct Waiting {
    entered: Timestamp,
    due: Timestamp,
    passing: Passing,
}

#[derive(Debug)]
enum Effect {
    /// No effect, also for connections excluded by toxicity.
    Pass,
    Delay(Impairment),
    /// A rate of `link`, and the maximum piece; `None` for a rate of 0.
    Rate(Option<(Impairment, usize)>),
    DelayEnd(Duration),
    /// Drops bytes, until removing the toxic closes the connection.
    Drop,
    /// Drops bytes and resets some time after the first input at `since`.
    Reset {
        after: Duration,
        since: Option<Timestamp>,
    },
    Slice {
        average: usize,
        variation: usize,
        pause: Duration,
    },
    /// Closes after this many bytes.
    Limit(u64),
}

impl Effect {
    fn new(toxic: &Toxic, draws: &mut Draws) -> Self {
        let [first, second, third] = toxic.values;
        let size = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        match toxic.kind {
            ToxicKind::Noop => Self::Pass,
            ToxicKind::Latency => Self::Delay(Impairment::Delay(delay(first, second, draws.draw()))),
            ToxicKind::Bandwidth => Self::Rate(rate(first)),
            ToxicKind::SlowClose => Self::DelayEnd(Duration::from_millis(first)),
            ToxicKind::Timeout => Self::Drop,
            ToxicKind::ResetPeer => Self::Reset {
                after: Duration::from_millis(first),
                since: None,
            },
            ToxicKind::Slicer => Self::Slice {
                average: size(first),
                variation: size(second),
                pause: Duration::from_micros(third),
            },
            ToxicKind::LimitData => Self::Limit(first),
        }
    }
}

fn delay(latency: u64, jitter: u64, seed: u64) -> Delay {
    let jitter = (jitter > 0).then(|| Jitter {
        size: Duration::from_millis(jitter),
        distribution: JitterDistribution::Uniform,
    });
    Delay::new(Duration::from_millis(latency), jitter, seed)
}

/// The rate, and the bytes of one millisecond: smaller pieces only cost wake-ups.
fn rate(kilobytes: u64) -> Option<(Impairment, usize)> {
    let rate = BitRate::from_bits_per_second(kilobytes.saturating_mul(8_000))?;
    let piece = usize::try_from(kilobytes)
        .unwrap_or(usize::MAX)
        .clamp(MIN_PIECE_BYTES, MAX_PIECE_BYTES);
    Some((Impairment::Rate(TokenBucket::new(rate, None, None)), piece))
}

impl Stage {
    pub(crate) fn new(toxic: &Toxic, draws: &mut Draws, at: Timestamp) -> Self {
        let mut stage = Self {
            name: toxic.name.clone(),
            effect: Effect::Pass,
            waiting: VecDeque::new(),
            held_bytes: 0,
            last_due: at,
            alarm: None,
            passed_bytes: 0,
        };
        stage.apply(at, toxic, draws);
        stage
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn change(&mut self, at: Timestamp, toxic: &Toxic, draws: &mut Draws) {
        let held = std::mem::take(&mut self.waiting);
        let reset_since = if let Effect::Reset { since, .. } = self.effect {
            since
        } else {
            None
        };
        (self.held_bytes, self.last_due, self.alarm) = (0, at, None);
        self.apply(at, toxic, draws);
        if let Some(since) = reset_since {
            self.reset_from(since);
        }
        for waiting in held {
            // A rate gives no credit for earlier time.
            let keeps_time = matches!(self.effect, Effect::Delay(_));
            let entered = if keeps_time { waiting.entered } else { at };
            self.accept(entered, waiting.passing, draws);
        }
    }

    fn apply(&mut self, at: Timestamp, toxic: &Toxic, draws: &mut Draws) {
        let concerned = draws.draw_fraction() < toxic.toxicity;
        self.effect = match concerned {
            true => Effect::new(toxic, draws),
            false => Effect::Pass,
        };
        let [timeout, ..] = toxic.values;
        if matches!(self.effect, Effect::Drop) && timeout > 0 {
            self.alarm = Some((at.after(Duration::from_millis(timeout)), StreamEnd::Closed));
        }
    }

    /// A reset caused at `since` happens even after changes of the toxic, because bytes are
    /// missing.
    fn reset_from(&mut self, since: Timestamp) {
        let after = if let Effect::Reset { after, .. } = self.effect {
            after
        } else {
            Duration::ZERO
        };
        self.effect = Effect::Reset {
            after,
            since: Some(since),
        };
        self.alarm = Some((since.after(after), StreamEnd::Reset));
    }

    pub(crate) fn accept(&mut self, at: Timestamp, passing: Passing, draws: &mut Draws) {
        match passing {
            Passing::Bytes(bytes) => self.accept_bytes(at, bytes, draws),
            Passing::End(ending) => self.accept_end(at, ending),
        }
    }

    fn accept_bytes(&mut self, at: Timestamp, mut bytes: Vec<u8>, draws: &mut Draws) {
        match &mut self.effect {
            Effect::Pass | Effect::DelayEnd(_) => self.buffer_passing(at, at, Passing::Bytes(bytes)),
            Effect::Delay(delay) => {
                let due = delay.pass(at, 0).unwrap_or(at);
                self.buffer_passing(at, due, Passing::Bytes(bytes));
            }
            Effect::Rate(_) => self.serialise(at, bytes),
            Effect::Drop => {}
            Effect::Reset { since, .. } => {
                let since = *since.get_or_insert(at);
                self.reset_from(since);
            }
            Effect::Slice {
                average,
                variation,
                pause,
            } => {
                let (sizes, pause) = (slices(bytes.len(), *average, *variation, draws), *pause);
                for size in sizes {
                    let rest = bytes.split_off(size.min(bytes.len()));
                    let due = at.max(self.last_due);
                    self.buffer_passing(at, due, Passing::Bytes(std::mem::replace(&mut bytes, rest)));
                    self.last_due = due.after(pause);
                }
            }
            Effect::Limit(limit) => {
                let left = usize::try_from(limit.saturating_sub(self.passed_bytes)).unwrap_or(usize::MAX);
                let reached = bytes.len() >= left;
                bytes.truncate(left);
                self.passed_bytes += bytes.len() as u64;
                if !bytes.is_empty() {
                    self.buffer_passing(at, at, Passing::Bytes(bytes));
                }
                if reached {
                    self.buffer_passing(at, at, Passing::End(StreamEnd::Closed));
                }
            }
        }
    }

    /// Queues bytes for a rate, in pieces of a millisecond.
    fn serialise(&mut self, at: Timestamp, mut bytes: Vec<u8>) {
        while !bytes.is_empty() {
            let Effect::Rate(Some((rate, piece))) = &mut self.effect else {
                return self.buffer_passing(at, NEVER, Passing::Bytes(bytes));
            };
            let rest = bytes.split_off((*piece).min(bytes.len()));
            let piece = std::mem::replace(&mut bytes, rest);
            let due = rate
                .pass(at, u32::try_from(piece.len()).unwrap_or(u32::MAX))
                .unwrap_or(at);
            self.buffer_passing(at, due, Passing::Bytes(piece));
        }
    }

    fn accept_end(&mut self, at: Timestamp, ending: StreamEnd) {
        let due = match &mut self.effect {
            Effect::Pass | Effect::Rate(_) | Effect::Drop | Effect::Slice { .. } | Effect::Limit(_) => at,
            Effect::Delay(delay) => delay.pass(at, 0).unwrap_or(at),
            Effect::DelayEnd(after) if ending == StreamEnd::Finished => at.after(*after),
            Effect::DelayEnd(_) => at,
            Effect::Reset { since, .. } => {
                let since = *since.get_or_insert(at);
                return self.reset_from(since);
            }
        };
        self.buffer_passing(at, due, Passing::End(ending));
    }

    fn buffer_passing(&mut self, entered: Timestamp, due: Timestamp, passing: Passing) {
        if let Passing::Bytes(bytes) = &passing {
            self.held_bytes += bytes.len();
        }
        self.last_due = self.last_due.max(due);
        let due = self.last_due;
        self.waiting.push_back(Waiting {
            entered,
            due,
            passing,
        });
    }

    /// The next output at `at`, with its due time.
    pub(crate) fn release(&mut self, at: Timestamp) -> Option<(Timestamp, Passing)> {
        if let Some((due, ending)) = self.alarm.take_if(|(due, _)| *due <= at) {
            return Some((due, Passing::End(ending)));
        }
        let waiting = self.waiting.pop_front_if(|waiting| waiting.due <= at)?;
        if let Passing::Bytes(bytes) = &waiting.passing {
            self.held_bytes -= bytes.len();
        }
        Some((waiting.due, waiting.passing))
    }

    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        let first = self.waiting.front().map(|waiting| waiting.due);
        let alarm = self.alarm.map(|(due, _)| due);
        first.into_iter().chain(alarm).min().filter(|due| *due < NEVER)
    }

    pub(crate) fn has_room(&self, generous: bool) -> bool {
        let most = match generous && matches!(self.effect, Effect::Delay(_)) {
            true => MAX_DELAYED_BYTES,
            false => MAX_BUFFERED_BYTES,
        };
        self.held_bytes < most
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Pieces that continue when the toxic is removed.
    pub(crate) fn into_held(self) -> Vec<Passing> {
        match self.effect {
            Effect::Drop => vec![Passing::End(StreamEnd::Closed)],
            Effect::Reset { since: Some(_), .. } => vec![Passing::End(StreamEnd::Reset)],
            Effect::Pass
            | Effect::Delay(_)
            | Effect::Rate(_)
            | Effect::DelayEnd(_)
            | Effect::Reset { .. }
            | Effect::Slice { .. }
            | Effect::Limit(_) => self.waiting.into_iter().map(|waiting| waiting.passing).collect(),
        }
    }
}

/// Slice sizes of `length` bytes: recursive halves, each cut varied by up to `variation`, until a
/// slice is at most `average` + `variation`. One piece if `average` is 0.
fn slices(length: usize, average: usize, variation: usize, draws: &mut Draws) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut left = vec![length];
    while let Some(size) = left.pop() {
        if average == 0 || size <= average.saturating_add(variation) || size < 2 {
            sizes.push(size);
            continue;
        }
        let deviation = (2.0 * draws.draw_fraction() - 1.0) * variation as f64;
        let cut = (size / 2)
            .saturating_add_signed(deviation as isize)
            .clamp(1, size - 1);
        left.extend([size - cut, cut]);
    }
    sizes
}

const NEVER: Timestamp = Timestamp::from_nanos(u64::MAX);

/// Buffered bytes of a toxic before the preceding toxic must wait.
const MAX_BUFFERED_BYTES: usize = 64 * 1024;

/// For a delay, the bytes in flight at 100 MB/s and 300 ms.
const MAX_DELAYED_BYTES: usize = 32 * 1024 * 1024;

/// Payload of a full packet.
const MIN_PIECE_BYTES: usize = 1448;
const MAX_PIECE_BYTES: usize = 64 * 1024;
