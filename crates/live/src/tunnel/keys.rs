//! Who may speak at the other end of a tunnel.

/// How the two ends know each other.
#[derive(Debug)]
pub enum Security {
    /// They do not, and nothing is encrypted: for both ends on one machine alone.
    None,
}
