//! Which setting to run next, and which to recommend: calculations on the times so far, without clock or
//! database.
//!
//! The values of a knob are taken as a series in which a value is about twice the one before, and the time
//! over them as a valley: what a round trip costs shrinks with the value, what a batch takes in memory grows.
//! So a few values that lie far apart show which ways are worth a closer look, halving finds the smallest
//! value that is good, and only the few that are left in question run as often as was asked.
//!
//! 1. Scan: for each way its largest value, the middle and a small one; over a link, the one with the best
//!    estimate.
//! 2. Second look: a way that came out up to four times slower than the best has its best value run again.
//! 3. Refine: in ways that are not clearly worse, halve between the smallest good value and the largest bad
//!    one below.
//! 4. Final: the best, the smallest good value and the one below it, of each such way, and the values next to
//!    the best, in turn, job by job, forwards and backwards; a setting that is clearly worse leaves. Only
//!    runs of one final decide, by the ratios of jobs next to each other, so that a machine that gets slower
//!    or faster does so for all. Where 5 % is in doubt, each runs twice as often. When the final leaves
//!    another value in question, that meets the best in a final of its own.
//!
//! The shortest run of each setting determines which ones meet in a final: disturbances make a run longer,
//! never shorter. All of it takes at most a quarter of the runs of a full sweep, and at least one run a way.

mod explore;
mod finals;
mod ratio;
#[cfg(test)]
mod tests;

use model::median;
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
    /// Those of the last final, by the ratios of their jobs.
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
    /// Runs in that final, each with its jobs.
    in_final: Vec<Vec<Duration>>,
    /// The time it is expected to take; `None` if that is unknown.
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

    /// Notes the time that a setting is expected to take. Once there is any estimate, only settings expected
    /// to be good are run.
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

    /// Notes a run, by the times of its jobs.
    pub fn ran(&mut self, setting: MethodSetting, jobs: Vec<Duration>) {
        self.taken += 1;
        let in_final = self.finalists.contains(&setting);
        if let Some(tries) = self.tries_mut(setting) {
            match in_final {
                true => tries.in_final.push(jobs),
                false => tries.before.extend(median(jobs.iter().copied())),
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

    /// What to run next, several in turn; nothing when enough is known, or no more is to be spent.
    pub fn next_settings(&mut self) -> Vec<MethodSetting> {
        if self.thoroughness == Thoroughness::FullSweep {
            self.finalists = self
                .settings()
                .filter(|setting| !self.is_closed(*setting))
                .collect();
            self.rounds = self.runs;
            return self.next_round();
        }
        if let Some(setting) = self.unscanned() {
            return vec![setting];
        }
        let left = self.most().saturating_sub(self.taken);
        if left == 0 {
            return Vec::new();
        }
        let mut round = self.next_round();
        if round.is_empty() {
            if let Some(setting) = self.second_look().or_else(|| self.refinement()) {
                return vec![setting];
            }
            match self.rounds == self.runs && self.is_in_doubt() {
                true => self.rounds *= 2,
                false => self.begin_final(),
            }
            round = self.next_round();
        }
        // In part of a round, not all would be compared.
        if round.len() > left { Vec::new() } else { round }
    }

    /// The setting with the shortest time: of the last final, once all its settings ran in it. Where the
    /// report would show something better than what that final recommends, of all: a recommendation never
    /// stands next to a better one.
    fn best(&self) -> Option<MethodSetting> {
        self.best_among(self.field())
    }

    /// The smallest value within 5 % of the best, in the best's way; of a final, the smallest that surely is.
    pub fn recommended(&self) -> Option<MethodSetting> {
        self.recommended_among(self.field())
    }

    /// Which settings are compared.
    fn field(&self) -> Field {
        match self.is_judged() {
            true if !self.is_outdone() => Field::Final,
            true => Field::All,
            false => Field::Seen,
        }
    }

    /// Whether the report would show something better than what the last final recommends.
    fn is_outdone(&self) -> bool {
        let chosen = self.recommended_in_final();
        let time = chosen.and_then(|chosen| self.reported(chosen));
        !is_within(time, self.least_reported(), GOOD)
    }

    /// The time by which settings are compared that were not all in one final.
    fn time_in(&self, field: Field, setting: MethodSetting) -> Option<Duration> {
        match field {
            Field::Final | Field::Seen => self.time(setting),
            Field::All => self.reported(setting),
        }
    }

    fn best_among(&self, field: Field) -> Option<MethodSetting> {
        if field == Field::Final {
            return self.best_in_final();
        }
        let timed = |setting: MethodSetting| Some((self.time_in(field, setting)?, setting));
        let best = self.settings().filter_map(timed).min();
        best.map(|(_, setting)| setting)
    }

    fn recommended_among(&self, field: Field) -> Option<MethodSetting> {
        if field == Field::Final {
            return self.recommended_in_final();
        }
        let best = self.best_among(field)?;
        let bound = self.time_in(field, best);
        self.of_way(best.way)
            .find(|setting| is_within(self.time_in(field, *setting), bound, GOOD))
    }

    /// The runs that count of a setting: those of its last final, else all.
    pub fn counted(&self, setting: MethodSetting) -> Vec<Duration> {
        self.tries(setting)
            .map_or_else(Vec::new, |tries| match tries.in_final.is_empty() {
                true => tries.before.clone(),
                false => tries.final_times().collect(),
            })
    }

    /// The time of a setting: the median of its runs in a final, before that its shortest run;
    /// absent before the first.
    pub fn time(&self, setting: MethodSetting) -> Option<Duration> {
        let times: Vec<Duration> = self.tries(setting)?.final_times().collect();
        median(times).or_else(|| self.low(setting))
    }

    /// The reported median of a setting's runs that count.
    pub fn reported(&self, setting: MethodSetting) -> Option<Duration> {
        median(self.counted(setting))
    }

    /// The minimum of the reported medians.
    pub fn least_reported(&self) -> Option<Duration> {
        self.settings().filter_map(|setting| self.reported(setting)).min()
    }

    /// The shortest run of a setting; `None` before the first.
    fn low(&self, setting: MethodSetting) -> Option<Duration> {
        let tries = self.tries(setting)?;
        tries.before.iter().copied().chain(tries.final_times()).min()
    }

    /// The setting of a way with the shortest run; `None` if none was run.
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

    /// The maximum number of runs: a quarter of a full sweep, but at least enough to look at everything that
    /// has to be inspected.
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

    /// Whether it is out of the race.
    pub fn is_closed(&self, setting: MethodSetting) -> bool {
        self.tries(setting).is_none_or(|tries| tries.closed)
    }
}

impl Tries {
    /// The time of each run in the last final.
    fn final_times(&self) -> impl Iterator<Item = Duration> {
        self.in_final
            .iter()
            .filter_map(|jobs| median(jobs.iter().copied()))
    }

    /// Another final begins.
    fn end_final(&mut self) {
        let times: Vec<Duration> = self.final_times().collect();
        self.before.extend(times);
        self.in_final.clear();
    }
}

fn is_within(time: Option<Duration>, of: Option<Duration>, factor: f64) -> bool {
    time.zip(of).is_some_and(|(time, of)| time <= of.mul_f64(factor))
}

/// Within this of the best a setting is as good.
pub const GOOD: f64 = 1.05;
/// A way that is beyond this is not run again: no machine varies that much for one run.
const FAR: f64 = 4.0;
/// Settings beyond this take no part in the finals.
const FINAL: f64 = 1.25;
