//! The most spans at once.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    pub height: u32,
    /// How often it was reached.
    pub times: usize,
}

impl Peak {
    /// A span ends before another that begins at that moment.
    pub fn of_spans(spans: impl Iterator<Item = (u64, u64)>) -> Self {
        let mut changes: Vec<(u64, i32)> = spans.flat_map(|(from, to)| [(from, 1), (to, -1)]).collect();
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
        let peak = Peak::of_spans([(0, 10), (10, 20), (5, 10), (12, 15)].into_iter());
        assert_eq!((peak.height, peak.times), (2, 2));
        assert_eq!(Peak::of_spans(std::iter::empty()), Peak::default());
    }
}
