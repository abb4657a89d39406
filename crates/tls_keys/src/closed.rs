//! Why a connection, or a record of it, stays closed.

/// Why a record could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The connection's `ClientHello` or `ServerHello` was not seen, so that neither its secrets nor its
    /// cipher are known.
    Joined,
    /// The log has no secret that opens this record.
    Secret,
    /// The cipher is none that is opened.
    Cipher,
    /// It is not authentic: damaged, or not of this session.
    Damaged,
}

impl Closed {
    /// Every reason.
    pub const ALL: [Self; 4] = [Self::Secret, Self::Cipher, Self::Joined, Self::Damaged];

    /// What the connections that stay closed for this reason have in common, behind their number: "2
    /// connections WHOSE ...".
    pub const fn in_common(self) -> &'static str {
        match self {
            Self::Joined => "that began before the capture",
            Self::Secret => "whose keys are not in it",
            Self::Cipher => {
                "with a cipher that is not opened (AES-GCM, ChaCha20-Poly1305, AES-CBC and 3DES are)"
            }
            Self::Damaged => "that its keys do not open, or no longer",
        }
    }

    /// The reason in one clause for a person.
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
