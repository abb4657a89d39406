//! Chooses the next setting to run and the one to recommend, without clock or database.
//!
//! Values of a parameter double, and time over them has one minimum: round-trip cost falls, memory
//! cost of a batch grows. So a few widely spaced values rank the methods, bisection finds the
//! smallest good value, and only the remaining candidates run as often as requested.
//!
//! - The scan runs each method's largest, middle and one small value; over a link, the best estimate.
//! - A second look repeats the best value of methods up to four times slower than the best.
//! - Refinement bisects, in methods not clearly worse, between the smallest good value and the next bad one.
//! - A final compares each remaining method's best value, its smallest good value and the one below; also
//!   the neighbours of the best. Settings alternate job by job, forwards and backwards, and clearly worse
//!   ones drop out. Only ratios of adjacent jobs decide, so that machine drift affects all alike. If 5 %
//!   is in doubt, runs are doubled. A new candidate meets the winner in another final.
//!
//! A setting's shortest run decides on its admission, as disturbances only lengthen runs. The total is
//! at most a quarter of a full sweep, with at least one run per method.

mod explore;
mod finals;
mod ratio;
#[cfg(test)]
mod tests;

use model::median;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MethodSetting {
    pub method: usize,
    /// Index of the value; 0 for a method without a parameter.
    pub place: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thoroughness {
    Search,
    FullSweep,
}

#[derive(Debug, Clone)]
pub struct Search {
    /// Per method and value.
    methods: Vec<Vec<Tries>>,
    runs: usize,
    thoroughness: Thoroughness,
    taken: usize,
    finalists: Vec<MethodSetting>,
    rounds: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// The last final, by ratios of jobs.
    Final,
    /// All runs before a final, by minimum.
    Seen,
    /// All runs, by reported median.
    All,
}

#[derive(Debug, Clone, Default)]
struct Tries {
    /// Before the last final it was in.
    before: Vec<Duration>,
    /// In that final, by run and job.
    in_final: Vec<Vec<Duration>>,
    /// `None` if no estimate exists.
    guess: Option<Duration>,
    /// It failed or is too slow.
    closed: bool,
}

impl Search {
    /// `values` has the number of values of each method.
    pub fn new(values: &[usize], runs: u32, thoroughness: Thoroughness) -> Self {
        Self {
            methods: values
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

    /// Sets the expected time of a setting. Once any estimate exists, only settings expected to be
    /// good are run.
    pub fn expect(&mut self, setting: MethodSetting, guess: Duration) {
        if let Some(tries) = self.tries_mut(setting) {
            tries.guess = Some(guess);
        }
    }

    /// Excludes a setting that failed or is too slow.
    pub fn close(&mut self, setting: MethodSetting) {
        if let Some(tries) = self.tries_mut(setting) {
            tries.closed = true;
        }
    }

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

    /// Number of runs of all methods with all values.
    pub fn full_sweep(&self) -> usize {
        self.methods.iter().map(Vec::len).sum::<usize>() * self.runs
    }

    pub const fn taken(&self) -> usize {
        self.taken
    }

    /// Settings to run next, alternating; empty at the end or when the budget is spent.
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
        // A partial round would not compare all settings.
        if round.len() > left { Vec::new() } else { round }
    }

    /// The fastest setting of the last complete final. If the report would show a faster one than
    /// that final recommends, the fastest of all: the report never shows a recommendation next to a
    /// better setting.
    fn best(&self) -> Option<MethodSetting> {
        self.best_among(self.field())
    }

    /// The smallest value of the winner's method within 5 % of the best; for a final, the smallest
    /// that is so with certainty.
    pub fn recommended(&self) -> Option<MethodSetting> {
        self.recommended_among(self.field())
    }

    fn field(&self) -> Field {
        match self.is_judged() {
            true if !self.is_outdone() => Field::Final,
            true => Field::All,
            false => Field::Seen,
        }
    }

    /// True if the report would show a faster setting than the last final recommends.
    fn is_outdone(&self) -> bool {
        let chosen = self.recommended_in_final();
        let time = chosen.and_then(|chosen| self.reported(chosen));
        !is_within(time, self.least_reported(), GOOD)
    }

    /// Time used to compare settings that did not share a final.
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
        self.of_method(best.method)
            .find(|setting| is_within(self.time_in(field, *setting), bound, GOOD))
    }

    /// Runs in the setting's last final, else all.
    pub fn counted(&self, setting: MethodSetting) -> Vec<Duration> {
        self.tries(setting)
            .map_or_else(Vec::new, |tries| match tries.in_final.is_empty() {
                true => tries.before.clone(),
                false => tries.final_times().collect(),
            })
    }

    /// Median of its runs in a final, or before that its shortest run.
    pub fn time(&self, setting: MethodSetting) -> Option<Duration> {
        let times: Vec<Duration> = self.tries(setting)?.final_times().collect();
        median(times).or_else(|| self.low(setting))
    }

    pub fn reported(&self, setting: MethodSetting) -> Option<Duration> {
        median(self.counted(setting))
    }

    pub fn least_reported(&self) -> Option<Duration> {
        self.settings().filter_map(|setting| self.reported(setting)).min()
    }

    /// `None` before the first run.
    fn low(&self, setting: MethodSetting) -> Option<Duration> {
        let tries = self.tries(setting)?;
        tries.before.iter().copied().chain(tries.final_times()).min()
    }

    /// The method's setting with the shortest run.
    pub fn best_of(&self, method: usize) -> Option<MethodSetting> {
        self.of_method(method)
            .filter_map(|setting| Some((self.low(setting)?, setting)))
            .min()
            .map(|(_, setting)| setting)
    }

    pub fn best_guess_of(&self, method: usize) -> Option<MethodSetting> {
        let open = self.of_method(method).filter_map(|setting| {
            let tries = self.tries(setting)?;
            Some((tries.guess?, setting))
        });
        open.min().map(|(_, setting)| setting)
    }

    /// A quarter of a full sweep, but enough for all mandatory runs.
    pub fn most(&self) -> usize {
        match self.thoroughness {
            Thoroughness::Search => (self.full_sweep() / 4).max(self.methods.len() + 1),
            Thoroughness::FullSweep => self.full_sweep(),
        }
    }

    pub fn is_closed_wholly(&self) -> bool {
        self.settings().all(|setting| self.is_closed(setting))
    }

    fn least(&self) -> Option<Duration> {
        self.settings().filter_map(|setting| self.low(setting)).min()
    }

    fn settings(&self) -> impl Iterator<Item = MethodSetting> {
        (0..self.methods.len()).flat_map(|method| self.of_method(method))
    }

    fn of_method(&self, method: usize) -> impl Iterator<Item = MethodSetting> + use<> {
        let count = self.methods.get(method).map_or(0, Vec::len);
        (0..count).map(move |place| MethodSetting { method, place })
    }

    fn tries(&self, setting: MethodSetting) -> Option<&Tries> {
        self.methods.get(setting.method)?.get(setting.place)
    }

    fn tries_mut(&mut self, setting: MethodSetting) -> Option<&mut Tries> {
        self.methods.get_mut(setting.method)?.get_mut(setting.place)
    }

    fn count(&self, setting: MethodSetting) -> usize {
        self.tries(setting)
            .map_or(0, |tries| tries.before.len() + tries.in_final.len())
    }

    pub fn guess(&self, setting: MethodSetting) -> Option<Duration> {
        self.tries(setting)?.guess
    }

    pub fn is_closed(&self, setting: MethodSetting) -> bool {
        self.tries(setting).is_none_or(|tries| tries.closed)
    }
}

impl Tries {
    fn final_times(&self) -> impl Iterator<Item = Duration> {
        self.in_final
            .iter()
            .filter_map(|jobs| median(jobs.iter().copied()))
    }

    fn end_final(&mut self) {
        let times: Vec<Duration> = self.final_times().collect();
        self.before.extend(times);
        self.in_final.clear();
    }
}

fn is_within(time: Option<Duration>, of: Option<Duration>, factor: f64) -> bool {
    time.zip(of).is_some_and(|(time, of)| time <= of.mul_f64(factor))
}

/// A setting within this factor of the best is good.
pub const GOOD: f64 = 1.05;
/// A method beyond this factor is not repeated: no machine varies that much in one run.
const FAR: f64 = 4.0;
/// Settings beyond this factor do not enter finals.
const FINAL: f64 = 1.25;
