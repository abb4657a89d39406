//! The most spans at once.

use model::Timestamp;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    pub height: u32,
    /// How often it was reached.
    pub times: usize,
}

impl Peak {
    /// A span ends before another that begins at that moment.
    pub fn of_spans(spans: impl Iterator<Item = (Timestamp, Timestamp)>) -> Self {
        let mut changes: Vec<(Timestamp, i32)> = spans.flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
        changes.sort_unstable();
        let (mut now, mut most, mut times) = (0_i32, 0, 0);
        for (_, change) in changes {
            now += change;
            if now > most {
                (most, times) = (now, 0);
            }
            times += usize::from(now == most && change > 0);
        }
        Self {
            height: u32::try_from(most).unwrap_or_default(),
            times,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_do_not_overlap() {
        let spans = [(0, 10), (10, 20), (5, 10), (12, 15)];
        let at = Timestamp::from_nanos;
        let peak = Peak::of_spans(spans.into_iter().map(|(from, to)| (at(from), at(to))));
        assert_eq!((peak.height, peak.times), (2, 2));
        assert_eq!(Peak::of_spans(std::iter::empty()), Peak::default());
    }
}
