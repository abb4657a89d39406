//! Counts statements that end closely before responses, against the same with slightly shifted
//! times.
//!
//! A server's own statements precede its responses at a nearly constant distance: more than with
//! times shifted by a few window widths. Its work outside requests (after the reply, a pool's
//! pings, another program) does not change that. A program elsewhere has as many with shifted
//! times, however busy. Shifts are small because programs on the same processors are active at the
//! same times, to a millisecond.

use model::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// A request from arrival to the first byte of its response, or a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub from: Timestamp,
    pub to: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct Spans {
    spans: VecDeque<Span>,
    seen: u64,
}

impl Spans {
    pub(super) fn add(&mut self, span: Span) {
        if self.spans.len() >= MAX_SPANS {
            self.spans.pop_front();
        }
        // Facts are ordered by end: a response's by its last byte, not its first.
        let place = self.spans.partition_point(|other| other.to <= span.to);
        self.spans.insert(place, span);
        self.seen += 1;
    }

    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    pub(super) fn any_lasted_at(&self, at: Timestamp) -> bool {
        let ended_before = self.spans.partition_point(|span| span.to < at);
        self.spans.range(ended_before..).any(|span| span.from <= at)
    }

    fn first(&self) -> Option<Timestamp> {
        self.spans.front().map(|span| span.to)
    }

    fn last(&self) -> Option<Timestamp> {
        self.spans.back().map(|span| span.to)
    }

    fn ended_between(&self, after: Timestamp, by: Timestamp) -> impl Iterator<Item = &Span> {
        let place = |moment: Timestamp| self.spans.partition_point(|span| span.to <= moment);
        self.spans.range(place(after)..place(by).max(place(after)))
    }

    fn latest(&self) -> impl Iterator<Item = &Span> {
        self.spans.range(self.spans.len().saturating_sub(MAX_COMPARED)..)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Closeness {
    /// Responses with a statement of the client since the request.
    pub responses: u64,
    /// The time before a response with the largest excess of statements over chance.
    pub window: (Duration, Duration),
    /// Mean number of statements that end there.
    pub ends: f64,
    pub shifted: f64,
    /// Excess in the half of the responses with the smaller one.
    pub excess_of_half: f64,
    pub deviations: f64,
    /// Median time from the last statement to the response.
    pub gap: Duration,
}

impl Closeness {
    pub(super) fn is_its_own(&self) -> bool {
        let (responses, excess, deviations) = match self.window.0.is_zero() {
            true => (30, 0.25, 3.0),
            false => (60, 0.3, 4.5),
        };
        self.responses >= responses
            && self.excess() >= excess
            && self.deviations >= deviations
            && self.excess_of_half >= self.excess() * MIN_HALF_SHARE
    }

    pub(super) fn may_be_its_own(&self) -> bool {
        self.excess() >= 0.25 && self.deviations >= 3.0
    }

    pub(super) fn excess(&self) -> f64 {
        self.ends - self.shifted
    }
}

/// `None` if no response has a statement before it.
pub(super) fn compare(responses: &Spans, statements: &Spans) -> Option<Closeness> {
    // Where statements were dropped or not seen yet, a response has none before it.
    let known = statements.first()?..=statements.last()?.after(MAX_GAP);
    let mut gaps = Vec::new();
    let mut with_statement = Vec::new();
    for response in responses.latest().filter(|response| known.contains(&response.to)) {
        let mut since = statements.ended_between(response.from, response.to);
        if let Some(last) = since
            .by_ref()
            .filter(|statement| statement.from >= response.from)
            .last()
        {
            gaps.push(response.to.since(last.to));
            with_statement.push(*response);
        }
    }
    gaps.sort_unstable();
    let gap = *gaps.get(gaps.len() / 2)?;
    let statements: Vec<Span> = statements.spans.iter().copied().collect();
    let all = windows().map(|window| in_window(&with_statement, &statements, window, gap));
    all.max_by(|one, other| {
        let order = one.is_its_own().cmp(&other.is_its_own());
        order.then(one.deviations.total_cmp(&other.deviations))
    })
}

fn in_window(
    responses: &[Span],
    statements: &[Span],
    window: (Duration, Duration),
    gap: Duration,
) -> Closeness {
    let mut real = vec![0.0; responses.len()];
    add_ends(&mut real, 1.0, responses, statements, window, Shift::default());
    let mut shifted = vec![0.0; responses.len()];
    let part = 1.0 / (2 * SHIFTS.len()) as f64;
    for shift in shifts(window.1 - window.0) {
        add_ends(&mut shifted, part, responses, statements, window, shift);
    }
    let more: Vec<f64> = real
        .iter()
        .zip(&shifted)
        .map(|(real, shifted)| real - shifted)
        .collect();
    let halves = more.split_at(more.len() / 2);
    Closeness {
        responses: responses.len() as u64,
        window,
        ends: mean(&real),
        shifted: mean(&shifted),
        excess_of_half: mean(halves.0).min(mean(halves.1)),
        deviations: deviations(&more, mean(&shifted)),
        gap,
    }
}

/// Excess of statements over chance, `more` per response, in standard deviations; the smaller of
/// two:
///
/// 1. Against the scatter of random counts. Concurrent requests share statements: each counts half.
/// 2. Against the scatter between runs of responses: statements come in bursts, and two programs
///    may fall into step for a while. Weighted less, as it is an estimate from few.
fn deviations(more: &[f64], by_chance: f64) -> f64 {
    let (count, excess) = (more.len().max(1) as f64, mean(more));
    let of_number = excess / (by_chance.max(MIN_CHANCE) * 2.0 / count).sqrt();
    let runs: Vec<f64> = more.chunks_exact((more.len() / RUNS).max(1)).map(mean).collect();
    let middle = mean(&runs);
    let squares: f64 = runs.iter().map(|run| (run - middle).powi(2)).sum();
    let variance = squares / (runs.len().max(2) - 1) as f64 / runs.len().max(1) as f64;
    let of_runs = excess / variance.max(MIN_CHANCE * 2.0 / count).sqrt();
    of_number.min(of_runs * RUNS_COUNT)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Adds `part` per statement since each response's request that ends in the window before it. Both
/// are ordered by end, so one pass suffices.
fn add_ends(
    sums: &mut [f64],
    part: f64,
    responses: &[Span],
    statements: &[Span],
    (near, far): (Duration, Duration),
    shift: Shift,
) {
    let (mut first, mut end) = (0, 0);
    for (sum, response) in sums.iter_mut().zip(responses) {
        let (from, to) = (shift.apply(response.from), shift.apply(response.to));
        let ended_by = |place: usize, by: Timestamp| statements.get(place).is_some_and(|span| span.to <= by);
        while ended_by(first, to.before(far)) {
            first += 1;
        }
        end = end.max(first);
        while ended_by(end, to.before(near)) {
            end += 1;
        }
        let window = statements.get(first..end).unwrap_or_default();
        *sum += part * window.iter().filter(|statement| statement.from >= from).count() as f64;
    }
}

/// Windows before a response: adjacent, then at distances growing by 1.4, a narrow and a wide one
/// each, as a server's time for responses scatters.
fn windows() -> impl Iterator<Item = (Duration, Duration)> {
    let next_to_it = NEAREST.map(|far| (Duration::ZERO, far));
    let distances = std::iter::successors(Some(NEAREST[1]), |near| Some(near.mul_f64(GROWTH[0])));
    let distances = distances.take_while(|near| *near <= MAX_GAP);
    let further = distances.flat_map(|near| GROWTH.map(|times| (near, near.mul_f64(times))));
    next_to_it
        .into_iter()
        .chain(further.filter(|(_, far)| *far <= MAX_GAP))
}

#[derive(Debug, Clone, Copy, Default)]
struct Shift {
    by: Duration,
    is_back: bool,
}

impl Shift {
    fn apply(self, moment: Timestamp) -> Timestamp {
        match self.is_back {
            true => moment.before(self.by),
            false => moment.after(self.by),
        }
    }
}

fn shifts(width: Duration) -> impl Iterator<Item = Shift> {
    let width = width.max(NEAREST[1]);
    SHIFTS.iter().flat_map(move |times| {
        let by = width.mul_f64(*times);
        [false, true].map(|is_back| Shift { by, is_back })
    })
}

/// 64 kB per server and client; also the responses compared.
const MAX_SPANS: usize = 4096;
const MAX_COMPARED: usize = 512;
const NEAREST: [Duration; 2] = [Duration::from_micros(100), Duration::from_micros(300)];
/// Far end of a window divided by its near end.
const GROWTH: [f64; 2] = [1.4, 2.0];
const MAX_GAP: Duration = Duration::from_micros(6_500);
/// In window widths, outside the window and without rhythm.
const SHIFTS: [f64; 8] = [2.0, 2.6, 3.4, 4.4, 5.7, 7.4, 9.6, 12.5];
/// Minimum share of the excess in each half: programs do not stay in step.
const MIN_HALF_SHARE: f64 = 0.5;
/// Runs of responses that are compared, and the weight of their deviation.
const RUNS: usize = 30;
const RUNS_COUNT: f64 = 4.5 / 3.5;
/// Lower bound of chance.
const MIN_CHANCE: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    fn us(count: u64) -> Timestamp {
        Timestamp::from_nanos(1_000_000_000 + count * 1000)
    }

    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    }

    /// Pages of `clients` clients with four statements each and one after the reply, a heartbeat,
    /// and a job elsewhere that queries continuously.
    fn traffic(clients: u64, pages: u64) -> (Spans, Spans, Spans) {
        let (mut responses, mut own, mut other) = (Vec::new(), Vec::new(), Vec::new());
        let mut state = 7;
        for client in 0..clients {
            let mut now = client * 1_700;
            for _ in 0..pages {
                let from = now;
                for _ in 0..4 {
                    let took = 1_000 + random(&mut state, 3_000);
                    own.push((now + 200, now + 200 + took));
                    now += 200 + took;
                }
                now += 80 + random(&mut state, 60);
                responses.push((from, now));
                own.push((now + 300, now + 1_500));
                now += 2_000 + random(&mut state, 4_000);
            }
        }
        let end = responses.iter().map(|(_, to)| *to).max().expect("some");
        own.extend((0..end / 50_000).map(|beat| (beat * 50_000, beat * 50_000 + 900)));
        let mut now = 0;
        while now < end {
            let took = 400 + random(&mut state, 1_200);
            other.push((now, now + took));
            now += took + random(&mut state, 500);
        }
        let spans = |list: Vec<(u64, u64)>| {
            let mut spans = Spans::default();
            for (from, to) in list {
                spans.add(Span {
                    from: us(from),
                    to: us(to),
                });
            }
            spans
        };
        (spans(responses), spans(own), spans(other))
    }

    #[test]
    fn own_statements_stand_in_front_of_responses_and_others_do_not() {
        for clients in [1, 3, 16] {
            let (responses, own, other) = traffic(clients, 160 / clients);
            let own = compare(&responses, &own).expect("some");
            assert!(own.is_its_own(), "{clients} clients: {own:?}");
            let other = compare(&responses, &other).expect("some");
            assert!(!other.is_its_own(), "{clients} clients: {other:?}");
        }
    }

    /// Pages every 11 ms; bursts of another host's statements, the first `in_step` shortly before
    /// the response.
    fn in_step_for(in_step: u64, pages: u64) -> Closeness {
        let (mut responses, mut statements) = (Spans::default(), Spans::default());
        let mut state = 5;
        for page in 0..pages {
            let from = page * 11_000;
            let late = match page < in_step {
                true => random(&mut state, 200),
                false => random(&mut state, 10_000),
            };
            for statement in 0..3 {
                let to = from + 6_500 + late - 100 * statement;
                statements.add(Span {
                    from: us(to - 90),
                    to: us(to),
                });
            }
            responses.add(Span {
                from: us(from),
                to: us(from + 8_000),
            });
        }
        compare(&responses, &statements).expect("some")
    }

    #[test]
    fn programs_that_fell_into_step_for_a_while_are_not_one_host() {
        for (in_step, pages) in [(40, 40), (50, 100)] {
            let found = in_step_for(in_step, pages);
            assert!(!found.is_its_own(), "{in_step} of {pages}: {found:?}");
        }
        assert!(in_step_for(100, 100).is_its_own());
    }

    #[test]
    fn a_few_responses_prove_nothing() {
        let (responses, own, _) = traffic(1, 12);
        assert!(!compare(&responses, &own).expect("some").is_its_own());
    }

    #[test]
    fn statements_that_only_come_before_requests_are_not_theirs() {
        // A client queries its database, then the server: the statement ends just before the
        // request.
        let (mut responses, mut statements) = (Spans::default(), Spans::default());
        for page in 0..100 {
            let from = page * 5_000;
            statements.add(Span {
                from: us(from),
                to: us(from + 900),
            });
            responses.add(Span {
                from: us(from + 950),
                to: us(from + 1_100),
            });
        }
        assert!(compare(&responses, &statements).is_none_or(|found| !found.is_its_own()));
    }
}
