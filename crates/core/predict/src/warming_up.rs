//! Operations that get faster while they are recorded: compilers warm up, caches fill.

use model::Nanos;

#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub computing: Nanos,
    pub round_trips: u64,
}

/// How many of the first operations, in recorded order, computed longer than the rest, for as many
/// round trips; at most half. Pettitt's test: a change in the ranks. Noise of one sequence in a thousand
/// looks so.
pub fn cold(operations: &[Measured]) -> usize {
    let computing: Vec<Nanos> = operations.iter().map(|one| one.computing).collect();
    let count = computing.len() as f64;
    let mut change = (0.0, 0);
    let mut sum = 0.0;
    for (place, rank) in ranks(&computing).into_iter().enumerate() {
        let before = (place + 1) as f64;
        sum += rank;
        let slower = 2.0 * sum - before * (count + 1.0);
        if slower > change.0 {
            change = (slower, place + 1);
        }
    }
    let (slower, cold) = change;
    let noise = (-6.0 * slower * slower / (count.powi(3) + count.powi(2))).exp();
    let [before, after] = [&operations[..cold], &operations[cold..]];
    let computing = [before, after].map(|part| median(part.iter().map(|one| one.computing)).as_f64());
    let round_trips = [before, after].map(|part| median(part.iter().map(|one| one.round_trips)));
    let is_faster = computing[0] >= MIN_RATIO * computing[1] && round_trips[0] == round_trips[1];
    if noise <= MAX_NOISE && is_faster && 2 * cold <= operations.len() {
        cold
    } else {
        0
    }
}

/// Ranks from 1, of equal values their mean.
fn ranks(values: &[Nanos]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|place| values[*place]);
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|one, other| values[*one] == values[*other]) {
        let rank = below as f64 + (equal.len() + 1) as f64 / 2.0;
        equal.iter().for_each(|place| ranks[*place] = rank);
        below += equal.len();
    }
    ranks
}

fn median<T: Ord + Copy + Default>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Operations of a name that are examined.
pub const EXAMINED: usize = 400;
const MAX_NOISE: f64 = 0.001;
/// A smaller difference is left in.
const MIN_RATIO: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(lengths: impl IntoIterator<Item = u64>) -> Vec<Measured> {
        let of_length = |length| Measured {
            computing: Nanos::new(length),
            round_trips: 3,
        };
        lengths.into_iter().map(of_length).collect()
    }

    /// Durations that scatter by a third.
    fn scattered(count: u64, around: u64) -> impl Iterator<Item = u64> {
        (0..count).map(move |number| around + number * 7_919 % 31 * around / 90)
    }

    #[test]
    fn the_first_are_cold_until_they_get_no_faster() {
        let mut warming = sequence(scattered(40, 3_000).chain(scattered(80, 2_000)));
        assert_eq!(cold(&warming), 40);
        warming[..40].iter_mut().for_each(|one| one.round_trips = 5);
        assert_eq!(cold(&warming), 0, "other work");
        let mostly = sequence(scattered(80, 3_000).chain(scattered(40, 2_000)));
        assert_eq!(cold(&mostly), 0);
        let always = sequence(scattered(120, 2_000));
        assert_eq!(cold(&always), 0);
    }

    #[test]
    fn who_gets_slower_or_hardly_faster_is_not_cold() {
        let slower = sequence(scattered(60, 2_000).chain(scattered(60, 3_000)));
        assert_eq!(cold(&slower), 0);
        let hardly = sequence((0..120).map(|number| if number < 40 { 1_050 } else { 1_000 }));
        assert_eq!(cold(&hardly), 0);
    }

    #[test]
    fn a_few_show_nothing() {
        assert_eq!(cold(&[]), 0);
        assert_eq!(cold(&sequence((0..16).map(|number| 100 - number))), 0);
        assert_eq!(
            cold(&sequence([9_000].into_iter().chain(scattered(79, 2_000)))),
            0
        );
        assert_eq!(cold(&sequence([5; 100])), 0);
    }
}
