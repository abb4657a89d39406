//! The cipher suites whose records are opened.

use ring::aead::{AES_128_GCM, AES_256_GCM, Algorithm, CHACHA20_POLY1305};
use ring::{hkdf, hmac};

/// A cipher and the hash that its keys are derived with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suite {
    pub(crate) cipher: &'static Algorithm,
    pub(crate) is_sha384: bool,
}

impl Suite {
    /// The suite with this number of IANA's registry of TLS cipher suites; absent for one that is not opened.
    pub(crate) fn of(number: u16) -> Option<Self> {
        let (cipher, is_sha384) = match number {
            0x1301 => (&AES_128_GCM, false),
            0x1302 => (&AES_256_GCM, true),
            0x1303 => (&CHACHA20_POLY1305, false),
            // RSA, DHE and PSK.
            0x009c | 0x009e | 0x00a8 | 0x00aa => (&AES_128_GCM, false),
            0x009d | 0x009f | 0x00a9 | 0x00ab => (&AES_256_GCM, true),
            // ECDHE with ECDSA, RSA and PSK.
            0xc02b | 0xc02f | 0xd001 => (&AES_128_GCM, false),
            0xc02c | 0xc030 | 0xd002 => (&AES_256_GCM, true),
            0xcca8..=0xccae => (&CHACHA20_POLY1305, false),
            _ => return None,
        };
        Some(Self { cipher, is_sha384 })
    }

    pub(crate) fn hkdf(self) -> hkdf::Algorithm {
        if self.is_sha384 {
            hkdf::HKDF_SHA384
        } else {
            hkdf::HKDF_SHA256
        }
    }

    pub(crate) fn hmac(self) -> hmac::Algorithm {
        if self.is_sha384 {
            hmac::HMAC_SHA384
        } else {
            hmac::HMAC_SHA256
        }
    }

    /// Bytes of its hash, which all secrets of TLS 1.3 have.
    pub(crate) fn hash_length(self) -> usize {
        if self.is_sha384 { 48 } else { 32 }
    }

    /// Whether TLS 1.2 sends a part of the nonce with each record (RFC 5288 section 3; RFC 7905 section 2 does not).
    pub(crate) fn sends_nonce(self) -> bool {
        self.cipher != &CHACHA20_POLY1305
    }
}
