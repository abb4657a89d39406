//! Reasons why a connection or a record is not decrypted.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The connection's `ClientHello` or `ServerHello` was not seen, so its secrets or its cipher
    /// are unknown.
    Joined,
    Secret,
    Cipher,
    /// It is not authentic: damaged, or of another session.
    Damaged,
}

impl Closed {
    pub const ALL: [Self; 4] = [Self::Secret, Self::Cipher, Self::Joined, Self::Damaged];

    /// Completes a sentence that begins with a number of connections.
    pub const fn in_common(self) -> &'static str {
        match self {
            Self::Joined => "that began before the capture",
            Self::Secret => "without keys in it",
            Self::Cipher => {
                "with a cipher that is not opened (AES-GCM, ChaCha20-Poly1305, AES-CBC and 3DES are)"
            }
            Self::Damaged => "that its keys do not open, or no longer",
        }
    }

    pub const fn reason(self) -> &'static str {
        match self {
            Self::Joined => {
                "the payload is encrypted with TLS, and the beginning of the handshake was not seen"
            }
            Self::Secret => "the payload is encrypted with TLS, and its keys are not in the key log",
            Self::Cipher => {
                "the payload is encrypted with TLS, by a cipher that is not opened (AES-GCM, ChaCha20-Poly1305, AES-CBC and 3DES are)"
            }
            Self::Damaged => {
                "the payload is encrypted with TLS, and records do not open with the key log's keys"
            }
        }
    }
}
