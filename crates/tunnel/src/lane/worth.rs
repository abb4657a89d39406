//! Whether compressing a stream makes it smaller.

/// Leaves out chunks of a stream whose last ones hardly became smaller: twice as many each time, up to a limit.
#[derive(Debug, Default)]
pub(super) struct Worth {
    /// Chunks that go as they are before the next is tried.
    left_out: u32,
    /// How many were left out last.
    last: u32,
}

impl Worth {
    /// Whether to compress the next chunk.
    pub fn tries(&mut self) -> bool {
        let tries = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        tries
    }

    /// A chunk was compressed.
    pub fn tried(&mut self, before: usize, after: usize) {
        let smaller =
            after.saturating_mul(LEAST_GAIN_DIVISOR) <= before.saturating_mul(LEAST_GAIN_DIVISOR - 1);
        self.last = if smaller {
            0
        } else {
            (self.last * 2).clamp(1, MOST_LEFT_OUT)
        };
        self.left_out = self.last;
    }
}

/// A chunk must become smaller by one part in so many.
const LEAST_GAIN_DIVISOR: usize = 16;
/// One chunk of so many is tried where none becomes smaller: 2 MiB apart.
const MOST_LEFT_OUT: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_do_not_become_smaller_are_tried_ever_more_seldom_and_again_once_one_does() {
        let mut worth = Worth::default();
        let tried = (0..1000).filter(|_| {
            let tries = worth.tries();
            if tries {
                worth.tried(1000, 999);
            }
            tries
        });
        let tried: Vec<i32> = tried.collect();
        assert_eq!(tried.get(..5), Some(&[0, 2, 5, 10, 19][..]));
        assert!(tried.len() < 25, "{tried:?}");
        while !worth.tries() {}
        worth.tried(1000, 300);
        assert!(worth.tries() && worth.tries());
    }
}
