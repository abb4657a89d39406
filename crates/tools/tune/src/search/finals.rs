//! Alternates runs of the few remaining settings.

use super::ratio::Ratio;
use super::{FINAL, GOOD, MethodSetting, Search, Thoroughness, is_within};

impl Search {
    /// Settings of the last final as good as the recommended one by their jobs, fastest first.
    pub fn as_good(&self) -> Vec<MethodSetting> {
        let in_final = |chosen: &MethodSetting| self.finalists.contains(chosen);
        let Some(chosen) = self.recommended().filter(in_final) else {
            return Vec::new();
        };
        let others = self.still_in().into_iter().filter(|setting| *setting != chosen);
        let compared = others.filter_map(|setting| Some((self.ratio(setting, chosen)?, setting)));
        let mut good: Vec<(Ratio, MethodSetting)> =
            compared.filter(|(ratio, _)| ratio.is_as_good()).collect();
        good.sort_by(|(one, _), (other, _)| one.median.total_cmp(&other.median));
        good.into_iter().map(|(_, setting)| setting).collect()
    }

    pub(super) fn best_in_final(&self) -> Option<MethodSetting> {
        let stayed = self.still_in();
        let first = stayed
            .iter()
            .min_by_key(|setting| (self.time(**setting), **setting))
            .copied()?;
        let compared = stayed
            .into_iter()
            .filter_map(|setting| Some((self.ratio(setting, first)?.median, setting)));
        let best = compared.min_by(|(one, _), (other, _)| one.total_cmp(other));
        best.map(|(_, setting)| setting)
    }

    /// The smallest value of the winner's method within 5 % with certainty.
    pub(super) fn recommended_in_final(&self) -> Option<MethodSetting> {
        let best = self.best_in_final()?;
        let is_good = |setting: &MethodSetting| {
            let ratio = self.ratio(*setting, best);
            ratio.is_some_and(|ratio| ratio.is_surely_within(GOOD))
        };
        let stayed = self.still_in().into_iter();
        let smaller = stayed.filter(|setting| setting.method == best.method && setting.place < best.place);
        smaller.filter(is_good).min().or(Some(best))
    }

    /// Ratio of two finalists' times, over rounds with both.
    fn ratio(&self, one: MethodSetting, other: MethodSetting) -> Option<Ratio> {
        let [one, other] = [one, other].map(|setting| self.tries(setting));
        let rounds = one?.in_final.iter().zip(&other?.in_final);
        Ratio::from_pairs(
            rounds.flat_map(|(one, other)| one.iter().zip(other).map(|(one, other)| [*one, *other])),
        )
    }

    fn still_in(&self) -> Vec<MethodSetting> {
        let rounds = |setting: &MethodSetting| self.tries(*setting).map_or(0, |tries| tries.in_final.len());
        let most = self.finalists.iter().map(rounds).max().unwrap_or_default();
        let stayed = self.finalists.iter().copied();
        let stayed = stayed.filter(|setting| !self.is_closed(*setting) && rounds(setting) == most);
        stayed.collect()
    }

    /// Settings of the next round, forwards and backwards; empty at the end.
    pub(super) fn next_round(&self) -> Vec<MethodSetting> {
        let mut round = self.still_in();
        let runs = |setting: &MethodSetting| self.tries(*setting).map_or(0, |tries| tries.in_final.len());
        let done = round.first().map_or(0, runs);
        if done >= self.rounds {
            return Vec::new();
        }
        if self.thoroughness == Thoroughness::Search && done >= self.runs.min(MIN_RUNS) {
            let best = self.best_in_final();
            round.retain(|setting| !self.is_beaten(*setting, best));
        }
        if done % 2 == 1 {
            round.reverse();
        }
        round
    }

    /// True if a finalist needs no more runs: far from the best, or worse with certainty.
    fn is_beaten(&self, setting: MethodSetting, best: Option<MethodSetting>) -> bool {
        let best_time = best.and_then(|best| self.time(best));
        let ratio = best.and_then(|best| self.ratio(setting, best));
        !is_within(self.time(setting), best_time, FINAL)
            || ratio.is_some_and(|ratio| ratio.is_surely_beyond(GOOD))
    }

    /// True if a final with all finalists has taken place.
    pub(super) fn is_judged(&self) -> bool {
        let ran = |setting: &MethodSetting| {
            let tries = self.tries(*setting);
            tries.is_none_or(|tries| tries.closed || !tries.in_final.is_empty())
        };
        !self.finalists.is_empty() && self.finalists.iter().all(ran)
    }

    /// True if a finalist is not yet known to be inside or outside of 5 %.
    pub(super) fn is_in_doubt(&self) -> bool {
        let Some(best) = self.best_in_final().filter(|_| self.is_judged()) else {
            return false;
        };
        let unknown = |setting: MethodSetting| {
            let ratio = self.ratio(setting, best);
            ratio.is_some_and(|ratio| !ratio.is_surely_within(GOOD) && !ratio.is_surely_beyond(GOOD))
        };
        self.still_in().into_iter().any(unknown)
    }

    /// Starts a final, or another if the last one left settings to compare.
    pub(super) fn begin_final(&mut self) {
        let others = match self.is_judged() {
            true => self.challengers(),
            false => self.neighbours(),
        };
        if others.is_empty() && self.is_judged() {
            return;
        }
        let field = self.field_of_final(others);
        if field.len() < 2.min(self.settings().count()) {
            return;
        }
        self.rounds = self.runs;
        self.finalists = field;
        for setting in self.finalists.clone() {
            if let Some(tries) = self.tries_mut(setting) {
                tries.end_final();
            }
        }
    }

    fn field_of_final(&self, others: Vec<MethodSetting>) -> Vec<MethodSetting> {
        let first = [self.best(), self.recommended()];
        let is_first = |setting: &MethodSetting| first.contains(&Some(*setting));
        let mut field = self.in_question();
        field.extend(others);
        field.extend(first.into_iter().flatten());
        field.sort_unstable();
        field.dedup();
        field.extend(self.runners_up(&field));
        field.sort_by_key(|setting| {
            let low = self.low(*setting);
            (!is_first(setting), low.is_none(), low, *setting)
        });
        // Too many finalists for a few runs each would leave all undecided.
        let left = self.most().saturating_sub(self.taken);
        field.truncate(left / self.runs.min(MIN_RUNS));
        field.sort_unstable();
        field
    }

    /// Of each method near the best: its best value, its smallest good value and the one below.
    fn in_question(&self) -> Vec<MethodSetting> {
        let least = self.least();
        let mut question = Vec::new();
        for method in self.worthy() {
            let Some(best) = self.best_of(method) else {
                continue;
            };
            let bound = self.low(best);
            if !is_within(bound, least, FINAL) {
                continue;
            }
            let good = |setting: &MethodSetting| is_within(self.low(*setting), bound, GOOD);
            let smallest = self.of_method(method).find(good).unwrap_or(best);
            let below = self
                .of_method(method)
                .filter(|setting| setting.place < smallest.place && self.count(*setting) > 0)
                .max()
                .filter(|below| is_within(self.low(*below), bound, FINAL));
            question.extend([Some(best), Some(smallest), below].into_iter().flatten());
        }
        question
    }

    /// Neighbours of the best value: few runs decide the best, and neighbours are seldom much
    /// slower.
    fn neighbours(&self) -> Vec<MethodSetting> {
        let Some(best) = self.best() else {
            return Vec::new();
        };
        let Some(bound) = self.low(best) else {
            return Vec::new();
        };
        let near = self
            .of_method(best.method)
            .filter(|setting| setting.place.abs_diff(best.place) == 1 && !self.is_closed(*setting));
        near.filter(|setting| match self.low(*setting) {
            Some(time) => time <= bound.mul_f64(FINAL),
            None => !self.is_bad(*setting, bound),
        })
        .collect()
    }

    /// Settings outside the last final that look faster than its winner, or as good with a smaller
    /// value of the same method. Their runs are from another time, so they need a final.
    fn challengers(&self) -> Vec<MethodSetting> {
        let Some((best, chosen)) = self.best_in_final().zip(self.recommended_in_final()) else {
            return Vec::new();
        };
        let bound = self.time(best);
        let looks_better = |setting: &MethodSetting| {
            let is_smaller = setting.method == best.method && setting.place < chosen.place;
            let factor = if is_smaller { GOOD } else { 1.0 };
            !self.finalists.contains(setting) && is_within(self.time(*setting), bound, factor)
        };
        self.settings().filter(looks_better).collect()
    }

    /// A sole winner may owe its result to the machine's state, so runners-up fill the field.
    fn runners_up(&self, question: &[MethodSetting]) -> Vec<MethodSetting> {
        let mut others: Vec<MethodSetting> = self
            .settings()
            .filter(|setting| self.count(*setting) > 0 && !question.contains(setting))
            .filter(|setting| is_within(self.low(*setting), self.least(), super::FAR))
            .collect();
        others.sort_by_key(|setting| self.low(*setting));
        others.truncate(FIELD.saturating_sub(question.len()));
        others
    }
}

/// Minimum number of finalists, if available.
const FIELD: usize = 4;
/// Minimum of alternating runs, unless fewer were requested.
const MIN_RUNS: usize = 2;
