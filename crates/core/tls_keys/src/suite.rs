//! Supported cipher suites.

use crate::cbc::{BlockCipher, CbcSuite};
use ring::aead::{AES_128_GCM, AES_256_GCM, Algorithm, CHACHA20_POLY1305};
use ring::hmac::{HMAC_SHA1_FOR_LEGACY_USE_ONLY, HMAC_SHA256, HMAC_SHA384};
use ring::{hkdf, hmac};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Suite {
    pub(crate) cipher: Cipher,
    pub(crate) is_sha384: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Cipher {
    Aead(&'static Algorithm),
    Cbc(CbcSuite),
}

impl Suite {
    /// Takes a number of IANA's registry of TLS cipher suites; `None` for unsupported ones.
    pub(crate) fn from_number(number: u16) -> Option<Self> {
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
            _ => return Self::of_cbc(number),
        };
        Some(Self {
            cipher: Cipher::Aead(cipher),
            is_sha384,
        })
    }

    /// Suites in CBC mode, with any key exchange: RFC 5246, 4279, 5487, 5289, 5489 and 5054.
    fn of_cbc(number: u16) -> Option<Self> {
        let (block, mac) = match number {
            0x000a
            | 0x000d
            | 0x0010
            | 0x0013
            | 0x0016
            | 0x001b
            | 0x008b
            | 0x008f
            | 0x0093
            | 0xc003
            | 0xc008
            | 0xc00d
            | 0xc012
            | 0xc017
            | 0xc01a..=0xc01c
            | 0xc034 => (BlockCipher::TripleDes, HMAC_SHA1_FOR_LEGACY_USE_ONLY),
            0x002f..=0x0034
            | 0x008c
            | 0x0090
            | 0x0094
            | 0xc004
            | 0xc009
            | 0xc00e
            | 0xc013
            | 0xc018
            | 0xc01d..=0xc01f
            | 0xc035 => (BlockCipher::Aes128, HMAC_SHA1_FOR_LEGACY_USE_ONLY),
            0x0035..=0x003a
            | 0x008d
            | 0x0091
            | 0x0095
            | 0xc005
            | 0xc00a
            | 0xc00f
            | 0xc014
            | 0xc019
            | 0xc020..=0xc022
            | 0xc036 => (BlockCipher::Aes256, HMAC_SHA1_FOR_LEGACY_USE_ONLY),
            0x003c
            | 0x003e..=0x0040
            | 0x0067
            | 0x006c
            | 0x00ae
            | 0x00b2
            | 0x00b6
            | 0xc023
            | 0xc025
            | 0xc027
            | 0xc029
            | 0xc037 => (BlockCipher::Aes128, HMAC_SHA256),
            0x003d | 0x0068..=0x006b | 0x006d => (BlockCipher::Aes256, HMAC_SHA256),
            0x00af | 0x00b3 | 0x00b7 | 0xc024 | 0xc026 | 0xc028 | 0xc02a | 0xc038 => {
                (BlockCipher::Aes256, HMAC_SHA384)
            }
            _ => return None,
        };
        Some(Self {
            cipher: Cipher::Cbc(CbcSuite { block, mac }),
            is_sha384: mac == HMAC_SHA384,
        })
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

    /// Length of the hash in bytes, and of all secrets in TLS 1.3.
    pub(crate) fn hash_length(self) -> usize {
        if self.is_sha384 { 48 } else { 32 }
    }
}

/// Whether TLS 1.2 sends a part of the nonce with each record (RFC 5288 section 3; RFC 7905 section
/// 2 does not).
pub(crate) fn sends_nonce(algorithm: &'static Algorithm) -> bool {
    algorithm != &CHACHA20_POLY1305
}
