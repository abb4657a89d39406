//! Figures that are known between bounds.

use std::time::Duration;

/// How much shorter or longer a span may be than its figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Margin {
    /// How much shorter it may be.
    pub below: Duration,
    /// How much longer it may be.
    pub above: Duration,
}

impl Margin {
    /// Whether the figure is exact.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Shortest and longest values of `figure`.
    pub fn around(&self, figure: Duration) -> [Duration; 2] {
        [
            figure.saturating_sub(self.below),
            figure.saturating_add(self.above),
        ]
    }

    /// Margin of `figure` within these bounds.
    pub fn between(figure: Duration, [shortest, longest]: [Duration; 2]) -> Self {
        Self {
            below: figure.saturating_sub(shortest),
            above: longest.saturating_sub(figure),
        }
    }

    /// [`Margin::around`], unless the figure is exact.
    pub fn bounds(&self, figure: Duration) -> [Option<Duration>; 2] {
        self.around(figure)
            .map(|bound| (!self.is_none()).then_some(bound))
    }

    /// Margin of `figure` within [`Margin::bounds`].
    pub fn within_bounds(figure: Duration, bounds: [Option<Duration>; 2]) -> Self {
        match bounds {
            [Some(shortest), Some(longest)] => Self::between(figure, [shortest, longest]),
            _ => Self::default(),
        }
    }

    /// Adds the margin of another summand.
    pub fn add(&mut self, other: Self) {
        self.below = self.below.saturating_add(other.below);
        self.above = self.above.saturating_add(other.above);
    }

    /// Margin of the `part` of a figure that counts.
    #[must_use]
    pub fn within(self, part: Duration) -> Self {
        Self {
            below: self.below.min(part),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_bounds_around_it_and_sums_add_them() {
        let us = Duration::from_micros;
        let mut margin = Margin::between(us(300), [us(100), us(350)]);
        assert_eq!(margin.around(us(300)), [us(100), us(350)]);
        margin.add(Margin {
            below: us(20),
            above: us(0),
        });
        assert_eq!(margin.around(us(500)), [us(280), us(550)]);
        assert!(!margin.is_none() && Margin::default().is_none());
        assert_eq!(margin.within(us(50)).around(us(50)), [us(0), us(100)]);
    }
}
