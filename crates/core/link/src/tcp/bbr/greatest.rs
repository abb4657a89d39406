//! Maximum over the last rounds, from three candidates (`minmax_running_max`).

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Greatest {
    /// Round and value, greatest first.
    candidates: [(u64, u64); 3],
}

impl Greatest {
    pub(super) const fn value(&self) -> u64 {
        self.candidates[0].1
    }

    pub(super) fn add(&mut self, round: u64, value: u64) {
        let new = (round, value);
        let [first, second, third] = self.candidates;
        if value >= first.1 || round - third.0 > ROUNDS {
            self.candidates = [new; 3];
            return;
        }
        if value >= second.1 {
            self.candidates = [first, new, new];
        } else if value >= third.1 {
            self.candidates[2] = new;
        }
        self.forget(new);
    }

    fn forget(&mut self, new: (u64, u64)) {
        let [first, second, third] = self.candidates;
        let age = new.0 - first.0;
        if age > ROUNDS {
            self.candidates = if new.0 - second.0 > ROUNDS {
                [third, new, new]
            } else {
                [second, third, new]
            };
        } else if second.0 == first.0 && age > ROUNDS / 4 {
            self.candidates = [first, new, new];
        } else if third.0 == second.0 && age > ROUNDS / 2 {
            self.candidates[2] = new;
        }
    }
}

const ROUNDS: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_is_forgotten_after_ten_rounds() {
        let mut greatest = Greatest::default();
        greatest.add(1, 100);
        (2..=11).for_each(|round| greatest.add(round, 50 - round));
        assert_eq!(greatest.value(), 100);
        greatest.add(12, 30);
        assert!((30..=48).contains(&greatest.value()), "{}", greatest.value());
        greatest.add(13, 70);
        assert_eq!(greatest.value(), 70);
    }
}
