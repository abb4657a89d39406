//! Measures points in random order, so that background load does not bias one end of a sweep. The
//! order is determined by a seed.

/// A permutation of `0..count`.
pub fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut state = seed;
    let mut order: Vec<usize> = (0..count).collect();
    // Fisher-Yates shuffle.
    for last in (1..count).rev() {
        let other = (next(&mut state) % (last as u64 + 1)) as usize;
        order.swap(last, other);
    }
    order
}

/// Next number of SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_order_and_each_number_once() {
        let order = shuffled(20, 7);
        assert_eq!(order, shuffled(20, 7));
        assert_ne!(order, shuffled(20, 8));
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
        assert!(shuffled(0, 1).is_empty());
    }
}
