//! Which setting to run next, and which to recommend: calculations on the times so far, without clock or database.
//!
//! The values of a knob are taken as a series in which a value is about twice the one before, and the time over them as a
//! valley: what a turn costs shrinks with the value, what a batch takes in memory grows. So a few values that lie far apart
//! show which ways are worth a closer look, halving finds the smallest value that is good, and only the few that are left in
//! question run as often as was asked.
//!
//! 1. Scan: for each way its largest value, the middle and a small one; over a link, the one with the best estimate.
//! 2. Second look: a way that came out up to four times slower than the best has its best value run again.
//! 3. Refine: in ways that are not clearly worse, halve between the smallest good value and the largest bad one below.
//! 4. Final: the best, the smallest good value and the one below it, of each such way, in turn, forwards and backwards; a setting
//!    that is clearly worse leaves. Only runs of one final decide, by their medians, so that a machine that gets slower or faster
//!    does so for all. Where 5 % is in doubt, each runs twice as often. When the final puts another value in question, that
//!    meets the best in a final of its own.
//!
//! The shortest run of each setting determines which ones meet in a final: disturbances make a run longer, never shorter.
//! All of it takes at most a quarter of the runs of a full sweep, and at least one run a way.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// One way with one of its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodSetting {
    /// Number of the way.
    pub way: usize,
    /// Place of the value among the knob's values; 0 for a way that has none.
    pub place: usize,
}

/// How thorough to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thoroughness {
    /// Look for the best.
    Search,
    /// Run everything.
    FullSweep,
}

/// One job at one distance.
#[derive(Debug, Clone)]
pub struct Search {
    /// Per way, per value.
    ways: Vec<Vec<Tries>>,
    runs: usize,
    thoroughness: Thoroughness,
    taken: usize,
    /// The settings in the final; empty before it.
    finalists: Vec<MethodSetting>,
    /// Runs of each of them in it.
    rounds: usize,
}

/// Which settings are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Those of the last final, by their medians in it.
    Final,
    /// All that ran, by the minimum of their runs: before a final.
    Seen,
    /// All that ran, by the medians that are reported.
    All,
}

/// What is known of a setting.
#[derive(Debug, Clone, Default)]
struct Tries {
    /// Runs before the last final it was in.
    before: Vec<Duration>,
    /// Runs in that final.
    in_final: Vec<Duration>,
    /// The time it is expected to take; absent where that is unknown.
    guess: Option<Duration>,
    /// It failed, or takes too long to be run.
    closed: bool,
}

impl Search {
    /// For ways with this many values each; each setting in question is run `runs` times.
    pub fn new(values: &[usize], runs: u32, thoroughness: Thoroughness) -> Self {
        Self {
            ways: values
                .iter()
                .map(|&count| vec![Tries::default(); count])
                .collect(),
            runs: runs.max(1) as usize,
            thoroughness,
            taken: 0,
            finalists: Vec::new(),
            rounds: 0,
        }
    }

    /// Notes the time that a setting is expected to take. Once there is any estimate, only settings expected to be good are run.
    pub fn expect(&mut self, setting: MethodSetting, guess: Duration) {
        if let Some(tries) = self.tries_mut(setting) {
            tries.guess = Some(guess);
        }
    }

    /// Takes a setting out of the race: it failed, or takes too long.
    pub fn close(&mut self, setting: MethodSetting) {
        if let Some(tries) = self.tries_mut(setting) {
            tries.closed = true;
        }
    }

    /// Notes a run.
    pub fn ran(&mut self, setting: MethodSetting, time: Duration) {
        self.taken += 1;
        let in_final = self.finalists.contains(&setting);
        if let Some(tries) = self.tries_mut(setting) {
            match in_final {
                true => tries.in_final.push(time),
                false => tries.before.push(time),
            }
        }
    }

    /// Runs that all ways with all values would take.
    pub fn full_sweep(&self) -> usize {
        self.ways.iter().map(Vec::len).sum::<usize>() * self.runs
    }

    /// Runs so far.
    pub const fn taken(&self) -> usize {
        self.taken
    }

    /// What to run next; absent when enough is known, or no more is to be spent.
    pub fn next_setting(&mut self) -> Option<MethodSetting> {
        if self.thoroughness == Thoroughness::FullSweep {
            self.finalists = self
                .settings()
                .filter(|setting| !self.is_closed(*setting))
                .collect();
            self.rounds = self.runs;
            return self.next_in_final();
        }
        if let Some(setting) = self.unscanned() {
            return Some(setting);
        }
        if self.taken >= self.most() {
            return None;
        }
        if let Some(setting) = self.next_in_final() {
            return Some(setting);
        }
        if let Some(setting) = self.second_look().or_else(|| self.refinement()) {
            return Some(setting);
        }
        if self.is_in_doubt() && self.rounds == self.runs {
            self.rounds *= 2;
        } else {
            self.begin_final();
        }
        self.next_in_final()
    }

    /// The setting with the shortest time: of the last final, once all its settings ran in it. Where no runs are left and a
    /// setting outside that final still looks better than its winner, of all: a recommendation never stands next to a better one.
    pub fn best(&self) -> Option<MethodSetting> {
        self.best_among(self.field())
    }

    /// The smallest value within 5 % of the best, in the best's way.
    pub fn recommended(&self) -> Option<MethodSetting> {
        self.recommended_among(self.field())
    }

    /// Which settings are compared.
    fn field(&self) -> Field {
        let another_final = self.most().saturating_sub(self.taken) >= 2 * self.runs.min(FEWEST);
        match self.is_judged() {
            true if another_final || !self.is_outdone() => Field::Final,
            true => Field::All,
            false => Field::Seen,
        }
    }

    /// Whether the report would show something better than the winner of the last final, or as good and smaller.
    fn is_outdone(&self) -> bool {
        let final_one = self.recommended_among(Field::Final);
        final_one != self.recommended_among(Field::All)
    }

    /// The time by which a setting is compared.
    fn time_in(&self, field: Field, setting: MethodSetting) -> Option<Duration> {
        match field {
            Field::Final | Field::Seen => self.time(setting),
            Field::All => self.reported(setting),
        }
    }

    fn best_among(&self, field: Field) -> Option<MethodSetting> {
        let timed = |setting: MethodSetting| Some((self.time_in(field, setting)?, setting));
        let best = match field {
            Field::Final => self.finalists.iter().copied().filter_map(timed).min(),
            Field::Seen | Field::All => self.settings().filter_map(timed).min(),
        };
        best.map(|(_, setting)| setting)
    }

    fn recommended_among(&self, field: Field) -> Option<MethodSetting> {
        let best = self.best_among(field)?;
        let bound = self.time_in(field, best);
        self.of_way(best.way)
            .filter(|setting| field != Field::Final || self.finalists.contains(setting))
            .find(|setting| is_within(self.time_in(field, *setting), bound, GOOD))
    }

    /// The runs that count of a setting: those of its last final, else all.
    pub fn counted(&self, setting: MethodSetting) -> &[Duration] {
        self.tries(setting)
            .map_or(&[], |tries| match tries.in_final.is_empty() {
                true => &tries.before,
                false => &tries.in_final,
            })
    }

    /// The time of a setting: the median of its runs in a final (of an even number the lower one), before that its shortest run;
    /// absent before the first.
    pub fn time(&self, setting: MethodSetting) -> Option<Duration> {
        let tries = self.tries(setting)?;
        median(&tries.in_final).or_else(|| self.low(setting))
    }

    /// The reported median of a setting's runs that count.
    pub fn reported(&self, setting: MethodSetting) -> Option<Duration> {
        median(self.counted(setting))
    }

    /// The shortest run of a setting; absent before the first.
    fn low(&self, setting: MethodSetting) -> Option<Duration> {
        let tries = self.tries(setting)?;
        tries.before.iter().chain(&tries.in_final).min().copied()
    }

    /// The setting of a way with the shortest run; absent when none was run.
    pub fn best_of(&self, way: usize) -> Option<MethodSetting> {
        self.of_way(way)
            .filter_map(|setting| Some((self.low(setting)?, setting)))
            .min()
            .map(|(_, setting)| setting)
    }

    /// The best setting of a way by its expected time.
    pub fn best_guess_of(&self, way: usize) -> Option<MethodSetting> {
        let open = self.of_way(way).filter_map(|setting| {
            let tries = self.tries(setting)?;
            Some((tries.guess?, setting))
        });
        open.min().map(|(_, setting)| setting)
    }

    /// The maximum number of runs: a quarter of a full sweep, but at least enough to look at everything that has to be looked at.
    pub fn most(&self) -> usize {
        match self.thoroughness {
            Thoroughness::Search => (self.full_sweep() / 4).max(self.ways.len() + 1),
            Thoroughness::FullSweep => self.full_sweep(),
        }
    }

    /// Whether there is nothing to run at all.
    pub fn is_closed_wholly(&self) -> bool {
        self.settings().all(|setting| self.is_closed(setting))
    }

    fn unscanned(&self) -> Option<MethodSetting> {
        let points: Vec<Vec<MethodSetting>> = (0..self.ways.len()).map(|way| self.scan_points(way)).collect();
        let deepest = points.iter().map(Vec::len).max().unwrap_or_default();
        // All ways once before any a second time: the largest values first, which take the shortest time.
        (0..deepest)
            .flat_map(|depth| points.iter().filter_map(move |points| points.get(depth)))
            .copied()
            .find(|setting| !self.is_closed(*setting) && self.count(*setting) == 0)
    }

    /// The settings of a way that are run whatever the results of other ways.
    fn scan_points(&self, way: usize) -> Vec<MethodSetting> {
        let at = |place| MethodSetting { way, place };
        if let Some(best) = self.best_guess_of(way) {
            let overall = self.settings().filter_map(|setting| self.guess(setting)).min();
            let near = is_within(self.guess(best), overall, WORTH_A_LOOK);
            let good = |setting: &MethodSetting| is_within(self.guess(*setting), self.guess(best), GOOD);
            let smallest = self.of_way(way).find(good).unwrap_or(best);
            return if near { vec![smallest, best] } else { Vec::new() };
        }
        match self.ways.get(way).map_or(0, Vec::len) {
            0 => Vec::new(),
            1 => vec![at(0)],
            2 => vec![at(1), at(0)],
            count => vec![at(count - 1), at(count / 2), at(count / 4)],
        }
    }

    /// A run that happened to be slow is no reason to drop a way.
    fn second_look(&self) -> Option<MethodSetting> {
        let overall = self.least();
        (0..self.ways.len()).find_map(|way| {
            let best = self.best_of(way)?;
            let time = self.low(best);
            let doubtful = !is_within(time, overall, WORTH_A_LOOK) && is_within(time, overall, FAR);
            (doubtful && self.count(best) == 1 && self.runs > 1).then_some(best)
        })
    }

    fn refinement(&self) -> Option<MethodSetting> {
        self.worthy().into_iter().find_map(|way| self.refine(way))
    }

    /// Ways that are not clearly worse than the best, and the winner's in any case.
    fn worthy(&self) -> Vec<usize> {
        let overall = self.least();
        let winner = self.best().map(|best| best.way);
        let near = |way: &usize| {
            let best = self.best_of(*way).and_then(|best| self.low(best));
            Some(*way) == winner || is_within(best, overall, WORTH_A_LOOK)
        };
        (0..self.ways.len()).filter(near).collect()
    }

    /// The most informative setting of a way: half-way between the smallest good one and the largest bad one below; then between
    /// the best and a bad one above.
    fn refine(&self, way: usize) -> Option<MethodSetting> {
        let best = self.best_of(way)?;
        let bound = self.low(best)?;
        let good = self
            .of_way(way)
            .find(|setting| is_within(self.low(*setting), Some(bound), GOOD))?;
        let floor = self
            .of_way(way)
            .filter(|setting| setting.place < good.place && self.is_bad(*setting, bound))
            .map(|setting| setting.place + 1)
            .max()
            .unwrap_or(0);
        let below = self.open_between(way, floor, good.place);
        below.or_else(|| {
            let above = self
                .of_way(way)
                .find(|setting| setting.place > best.place && self.count(*setting) > 0);
            let flat = above.is_some_and(|above| is_within(self.low(above), Some(bound), GOOD));
            let end = above.map_or(usize::MAX, |above| above.place);
            (!flat)
                .then(|| self.open_between(way, best.place + 1, end))
                .flatten()
        })
    }

    /// The middle of the places from `from` on and before `to` that can be run and were not.
    fn open_between(&self, way: usize, from: usize, to: usize) -> Option<MethodSetting> {
        let open: Vec<MethodSetting> = self
            .of_way(way)
            .filter(|setting| (from..to).contains(&setting.place))
            .filter(|setting| self.count(*setting) == 0 && !self.is_closed(*setting))
            .collect();
        open.get(open.len() / 2).copied()
    }

    /// Whether a setting is known to be worse than good, or surely expected to be.
    fn is_bad(&self, setting: MethodSetting, best: Duration) -> bool {
        match self.low(setting) {
            Some(time) => time > best.mul_f64(GOOD),
            None => {
                self.is_closed(setting)
                    || self
                        .guess(setting)
                        .is_some_and(|guess| guess > best.mul_f64(SURELY))
            }
        }
    }

    /// Of each way that is near the best: its best, its smallest good value, and the one below that.
    fn in_question(&self) -> Vec<MethodSetting> {
        let least = self.least();
        let mut question = Vec::new();
        for way in self.worthy() {
            let Some(best) = self.best_of(way) else { continue };
            let bound = self.low(best);
            if !is_within(bound, least, FINAL) {
                continue;
            }
            let good = |setting: &MethodSetting| is_within(self.low(*setting), bound, GOOD);
            let smallest = self.of_way(way).find(good).unwrap_or(best);
            let below = self
                .of_way(way)
                .filter(|setting| setting.place < smallest.place && self.count(*setting) > 0)
                .max()
                .filter(|below| is_within(self.low(*below), bound, FINAL));
            question.extend([Some(best), Some(smallest), below].into_iter().flatten());
        }
        question.sort_unstable();
        question.dedup();
        question
    }

    /// The settings in question are compared in a final, unless they all were already.
    fn begin_final(&mut self) {
        let mut question = self.in_question();
        question.extend(self.challengers());
        if question.iter().all(|setting| self.finalists.contains(setting)) && self.is_judged() {
            return;
        }
        let first = [self.best(), self.recommended()];
        let is_first = |setting: &MethodSetting| first.contains(&Some(*setting));
        question.extend(first.into_iter().flatten());
        question.sort_unstable();
        question.dedup();
        question.extend(self.runners_up(&question));
        question.sort_by_key(|setting| (!is_first(setting), self.low(*setting), *setting));
        // More than can be run a few times would leave all of them undecided.
        let left = self.most().saturating_sub(self.taken);
        let few = self.runs.min(FEWEST);
        question.truncate(left / few);
        question.sort_unstable();
        if question.len() < 2.min(self.settings().count()) {
            return;
        }
        self.rounds = self.runs;
        self.finalists = question;
        for setting in self.finalists.clone() {
            if let Some(tries) = self.tries_mut(setting) {
                let last = std::mem::take(&mut tries.in_final);
                tries.before.extend(last);
            }
        }
    }

    /// Settings that were not in the last final and look better than its winner, or as good with a smaller value of the same
    /// way: their runs are from another time.
    fn challengers(&self) -> Vec<MethodSetting> {
        let best = self.best_among(Field::Final);
        let chosen = self.recommended_among(Field::Final);
        let Some((best, chosen)) = best.zip(chosen).filter(|_| self.is_judged()) else {
            return Vec::new();
        };
        let bound = self.time(best);
        let looks_better = |setting: &MethodSetting| {
            let is_smaller = setting.way == best.way && setting.place < chosen.place;
            let factor = if is_smaller { GOOD } else { 1.0 };
            !self.finalists.contains(setting) && is_within(self.time(*setting), bound, factor)
        };
        self.settings().filter(looks_better).collect()
    }

    /// Settings that fill the field: one that wins alone may have won because of the machine's state at the time.
    fn runners_up(&self, question: &[MethodSetting]) -> Vec<MethodSetting> {
        let mut others: Vec<MethodSetting> = self
            .settings()
            .filter(|setting| self.count(*setting) > 0 && !question.contains(setting))
            .filter(|setting| is_within(self.low(*setting), self.least(), FAR))
            .collect();
        others.sort_by_key(|setting| self.low(*setting));
        others.truncate(FIELD.saturating_sub(question.len()));
        others
    }

    /// The finalist with the fewest runs in it, as long as rounds are left: in turn, forwards and backwards.
    fn next_in_final(&self) -> Option<MethodSetting> {
        let runs = |setting: &MethodSetting| self.tries(*setting).map_or(0, |tries| tries.in_final.len());
        let few = self.runs.min(FEWEST);
        let least = self
            .finalists
            .iter()
            .filter_map(|setting| self.time(*setting))
            .min();
        let is_in = |setting: &MethodSetting| {
            let undecided = runs(setting) < few || is_within(self.time(*setting), least, FINAL);
            let all = self.thoroughness == Thoroughness::FullSweep;
            !self.is_closed(*setting) && (all || undecided)
        };
        let open = || self.finalists.iter().filter(|setting| is_in(setting));
        let fewest = open().map(runs).min()?;
        let mut next = open().filter(|setting| runs(setting) == fewest);
        let next = match fewest % 2 {
            0 => next.next(),
            _ => next.next_back(),
        };
        next.copied().filter(|_| fewest < self.rounds)
    }

    /// Whether there was a final in which all finalists ran.
    fn is_judged(&self) -> bool {
        let ran = |setting: &MethodSetting| {
            let tries = self.tries(*setting);
            tries.is_none_or(|tries| tries.closed || !tries.in_final.is_empty())
        };
        !self.finalists.is_empty() && self.finalists.iter().all(ran)
    }

    /// Whether a finalist is on either side of 5 % by less than runs scatter.
    fn is_in_doubt(&self) -> bool {
        let best = self.best().filter(|_| self.is_judged());
        let close = |setting: &MethodSetting| {
            let near =
                |factor: f64| is_within(self.time(*setting), best.and_then(|best| self.time(best)), factor);
            best.is_some_and(|best| setting.way == best.way && setting.place < best.place)
                && near(DOUBT[1])
                && !near(DOUBT[0])
        };
        self.finalists.iter().any(close)
    }

    fn least(&self) -> Option<Duration> {
        self.settings().filter_map(|setting| self.low(setting)).min()
    }

    fn settings(&self) -> impl Iterator<Item = MethodSetting> {
        (0..self.ways.len()).flat_map(|way| self.of_way(way))
    }

    fn of_way(&self, way: usize) -> impl Iterator<Item = MethodSetting> + use<> {
        let count = self.ways.get(way).map_or(0, Vec::len);
        (0..count).map(move |place| MethodSetting { way, place })
    }

    fn tries(&self, setting: MethodSetting) -> Option<&Tries> {
        self.ways.get(setting.way)?.get(setting.place)
    }

    fn tries_mut(&mut self, setting: MethodSetting) -> Option<&mut Tries> {
        self.ways.get_mut(setting.way)?.get_mut(setting.place)
    }

    fn count(&self, setting: MethodSetting) -> usize {
        self.tries(setting)
            .map_or(0, |tries| tries.before.len() + tries.in_final.len())
    }

    /// The time it is expected to take.
    pub fn guess(&self, setting: MethodSetting) -> Option<Duration> {
        self.tries(setting)?.guess
    }

    fn is_closed(&self, setting: MethodSetting) -> bool {
        self.tries(setting).is_none_or(|tries| tries.closed)
    }
}

/// Of an even number the lower one.
fn median(times: &[Duration]) -> Option<Duration> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len().checked_sub(1)? / 2).copied()
}

fn is_within(time: Option<Duration>, of: Option<Duration>, factor: f64) -> bool {
    time.zip(of).is_some_and(|(time, of)| time <= of.mul_f64(factor))
}

/// Within this of the best a setting is as good.
pub const GOOD: f64 = 1.05;
/// A way that is within this of the best is examined more closely.
const WORTH_A_LOOK: f64 = 1.5;
/// A way that is beyond this is not run again: no machine varies that much for one run.
const FAR: f64 = 4.0;
/// Settings beyond this take no part in the finals.
const FINAL: f64 = 1.25;
/// A setting expected to take more than this of the best is not good, however wrong the expectation may be.
const SURELY: f64 = 1.6;
/// Minimum number of settings in a final, if there are that many.
const FIELD: usize = 4;
/// Fewer runs in turn decide nothing, unless fewer were requested.
const FEWEST: usize = 2;
/// Between these, twice as many runs determine whether a setting is good.
const DOUBT: [f64; 2] = [1.025, 1.08];
