//! How sure a look at bytes makes.

use model::Direction;

/// How sure a look at the first bytes of one direction makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognition {
    /// These bytes are this protocol's and no other's.
    Certain,
    /// They could be this protocol's from the middle of a connection; what else passes has to agree.
    Plausible,
    /// More bytes are needed to decide.
    More,
    /// They are not this protocol's.
    Never,
}

/// What every `recognise` is held to, for the tests of decoders: each sample gets its verdict, at some point
/// and from there on.
///
/// # Panics
/// When a sample gets another verdict.
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
