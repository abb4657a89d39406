//! Strict check of SQLI's first bytes.

use super::messages::EOT;
use super::signature::recognise;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    recognise(direction, bytes)
}

/// Both sides end a group with the same code, and then wait.
pub fn burst(_: Direction, bytes: &[u8]) -> bool {
    bytes.ends_with(&EOT.to_be_bytes())
}
