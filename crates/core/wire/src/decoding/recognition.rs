//! Certainty of protocol recognition.

use model::Direction;

/// Verdict on the first bytes of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognition {
    /// Only this protocol fits.
    Certain,
    /// Fits in mid-connection if the other direction agrees.
    Plausible,
    /// More bytes are needed.
    More,
    /// This protocol does not fit.
    Never,
}

/// For tests: each sample gets its verdict at some point and keeps it.
///
/// # Panics
/// If a verdict differs.
pub fn assert_verdicts(
    recognise: fn(Direction, &[u8]) -> Recognition,
    samples: &[(Direction, &[u8], Recognition)],
) {
    for &(direction, bytes, expected) in samples {
        let mut decided = false;
        for end in 0..=bytes.len() {
            let verdict = recognise(direction, &bytes[..end]);
            assert!(
                verdict == expected || (verdict == Recognition::More && !decided),
                "{bytes:?} {end}: {verdict:?}"
            );
            decided = verdict != Recognition::More;
        }
        assert!(decided, "{bytes:?}");
    }
}
