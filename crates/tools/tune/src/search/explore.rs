//! Finds the methods near the best, and the smallest good value of each, before the final.

use super::{FAR, GOOD, MethodSetting, Search, is_within};
use std::time::Duration;

impl Search {
    pub(super) fn unscanned(&self) -> Option<MethodSetting> {
        let points: Vec<Vec<MethodSetting>> = (0..self.methods.len())
            .map(|method| self.scan_points(method))
            .collect();
        let deepest = points.iter().map(Vec::len).max().unwrap_or_default();
        // Each method once before any repeats, starting with the largest values, which are fastest.
        (0..deepest)
            .flat_map(|depth| points.iter().filter_map(move |points| points.get(depth)))
            .copied()
            .find(|setting| !self.is_closed(*setting) && self.count(*setting) == 0)
    }

    /// Settings of a method that are run regardless of other methods.
    fn scan_points(&self, method: usize) -> Vec<MethodSetting> {
        let at = |place| MethodSetting { method, place };
        if let Some(best) = self.best_guess_of(method) {
            let overall = self.settings().filter_map(|setting| self.guess(setting)).min();
            let near = is_within(self.guess(best), overall, EXPLORE_RATIO);
            let good = |setting: &MethodSetting| is_within(self.guess(*setting), self.guess(best), GOOD);
            let smallest = self.of_method(method).find(good).unwrap_or(best);
            return if near { vec![smallest, best] } else { Vec::new() };
        }
        match self.methods.get(method).map_or(0, Vec::len) {
            0 => Vec::new(),
            1 => vec![at(0)],
            2 => vec![at(1), at(0)],
            count => vec![at(count - 1), at(count / 2), at(count / 4)],
        }
    }

    /// One slow run is not enough to drop a method.
    pub(super) fn second_look(&self) -> Option<MethodSetting> {
        let overall = self.least();
        (0..self.methods.len()).find_map(|method| {
            let best = self.best_of(method)?;
            let time = self.low(best);
            let doubtful = !is_within(time, overall, EXPLORE_RATIO) && is_within(time, overall, FAR);
            (doubtful && self.count(best) == 1 && self.runs > 1).then_some(best)
        })
    }

    pub(super) fn refinement(&self) -> Option<MethodSetting> {
        self.worthy().into_iter().find_map(|method| self.refine(method))
    }

    /// Ways not clearly worse than the best, always including the winner's.
    pub(super) fn worthy(&self) -> Vec<usize> {
        let overall = self.least();
        let winner = self.best().map(|best| best.method);
        let near = |method: &usize| {
            let best = self.best_of(*method).and_then(|best| self.low(best));
            Some(*method) == winner || is_within(best, overall, EXPLORE_RATIO)
        };
        (0..self.methods.len()).filter(near).collect()
    }

    /// The most informative setting: half-way between the smallest good value and the largest bad
    /// one below; then between the best and a bad one above.
    fn refine(&self, method: usize) -> Option<MethodSetting> {
        let best = self.best_of(method)?;
        let bound = self.low(best)?;
        let good = self
            .of_method(method)
            .find(|setting| is_within(self.low(*setting), Some(bound), GOOD))?;
        let floor = self
            .of_method(method)
            .filter(|setting| setting.place < good.place && self.is_bad(*setting, bound))
            .map(|setting| setting.place + 1)
            .max()
            .unwrap_or(0);
        let below = self.open_between(method, floor, good.place);
        below.or_else(|| {
            let above = self
                .of_method(method)
                .find(|setting| setting.place > best.place && self.count(*setting) > 0);
            let flat = above.is_some_and(|above| is_within(self.low(above), Some(bound), GOOD));
            let end = above.map_or(usize::MAX, |above| above.place);
            (!flat)
                .then(|| self.open_between(method, best.place + 1, end))
                .flatten()
        })
    }

    /// The middle of the untried places in `from..to`.
    fn open_between(&self, method: usize, from: usize, to: usize) -> Option<MethodSetting> {
        let open: Vec<MethodSetting> = self
            .of_method(method)
            .filter(|setting| (from..to).contains(&setting.place))
            .filter(|setting| self.count(*setting) == 0 && !self.is_closed(*setting))
            .collect();
        open.get(open.len() / 2).copied()
    }

    /// Measured as worse than good, or expected to be with certainty.
    pub(super) fn is_bad(&self, setting: MethodSetting, best: Duration) -> bool {
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
}

/// Ways within this factor of the best are refined.
const EXPLORE_RATIO: f64 = 1.5;
/// Settings with an expected time beyond this factor of the best are bad, even if the estimate is
/// poor.
const SURELY: f64 = 1.6;
