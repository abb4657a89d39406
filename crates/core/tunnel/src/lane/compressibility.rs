//! Detection of incompressible streams.

/// Skips chunks of a stream after incompressible ones: twice as many each time, up to a limit.
#[derive(Debug)]
pub struct Compressibility {
    /// Sizes of the last large chunk before and after compression.
    last_chunk: (usize, usize),
    /// Chunks still to skip before the next trial.
    left_out: u32,
    /// Chunks to skip after the last trial.
    last: u32,
}

impl Default for Compressibility {
    fn default() -> Self {
        Self {
            last_chunk: (1, 1),
            left_out: 0,
            last: 0,
        }
    }
}

impl Compressibility {
    pub fn payload_for(&self, bytes: usize) -> usize {
        let (before, after) = self.last_chunk;
        bytes
            .saturating_mul(before)
            .checked_div(after)
            .unwrap_or(bytes)
            .max(1)
    }

    pub fn tries(&mut self) -> bool {
        let tries = self.left_out == 0;
        self.left_out = self.left_out.saturating_sub(1);
        tries
    }

    pub fn went(&mut self, compressed: bool, before: usize, after: usize) {
        if before >= TELLING {
            self.last_chunk = (before, after);
        }
        if !compressed {
            return;
        }
        let smaller = after.saturating_mul(MIN_GAIN_DIVISOR) <= before.saturating_mul(MIN_GAIN_DIVISOR - 1);
        self.last = if smaller {
            0
        } else {
            (self.last * 2).clamp(1, MAX_SKIPPED_CHUNKS)
        };
        self.left_out = self.last;
    }
}

/// Smaller chunks show more of headers than of data.
const TELLING: usize = 1024;
/// A chunk must shrink by one part in this many.
const MIN_GAIN_DIVISOR: usize = 16;
/// Trials on incompressible data are then 2 MiB apart.
const MAX_SKIPPED_CHUNKS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_do_not_become_smaller_are_tried_ever_more_seldom_and_again_once_one_does() {
        let mut compressibility = Compressibility::default();
        let tried = (0..1000).filter(|_| {
            let tries = compressibility.tries();
            if tries {
                compressibility.went(true, 1000, 999);
            }
            tries
        });
        let tried: Vec<i32> = tried.collect();
        assert_eq!(tried.get(..5), Some(&[0, 2, 5, 10, 19][..]));
        assert!(tried.len() < 25, "{tried:?}");
        while !compressibility.tries() {}
        compressibility.went(true, 1000, 300);
        assert!(compressibility.tries() && compressibility.tries());
    }
}
