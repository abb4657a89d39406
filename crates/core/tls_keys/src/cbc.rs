//! Records of block ciphers in CBC mode, in TLS 1.0 to 1.2.
//!
//! Source: RFC 5246 section 6.2.3.2, RFC 7366 (encrypt-then-MAC), and RFC 2246 for TLS 1.0, which
//! uses the last block of the previous record as IV.

use aes::cipher::{Block, BlockCipherDecrypt, KeyInit};
use aes::{Aes128, Aes256};
use des::TdesEde3;
use ring::hmac;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockCipher {
    Aes128,
    Aes256,
    TripleDes,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct CbcSuite {
    pub(crate) block: BlockCipher,
    pub(crate) mac: hmac::Algorithm,
}

impl BlockCipher {
    pub(crate) const fn key_length(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 => 32,
            Self::TripleDes => 24,
        }
    }

    pub(crate) const fn block_length(self) -> usize {
        match self {
            Self::Aes128 | Self::Aes256 => 16,
            Self::TripleDes => 8,
        }
    }
}

impl CbcSuite {
    pub(crate) fn mac_length(self) -> usize {
        self.mac.digest_algorithm().output_len()
    }
}

pub(crate) struct CbcKey {
    cipher: Cipher,
    suite: CbcSuite,
    mac: hmac::Key,
    /// Last block of the previous record in TLS 1.0; `None` if it was not seen.
    chained: Option<Vec<u8>>,
    has_own_iv: bool,
    encrypts_then_macs: bool,
}

enum Cipher {
    Aes128(Box<Aes128>),
    Aes256(Box<Aes256>),
    TripleDes(Box<TdesEde3>),
}

impl CbcKey {
    /// `first_iv` belongs to the first record in TLS 1.0. `None` if each record has an IV.
    pub(crate) fn new(
        suite: CbcSuite,
        key: &[u8],
        mac_key: &[u8],
        first_iv: Option<&[u8]>,
        encrypts_then_macs: bool,
    ) -> Option<Self> {
        let cipher = match suite.block {
            BlockCipher::Aes128 => Cipher::Aes128(Box::new(Aes128::new_from_slice(key).ok()?)),
            BlockCipher::Aes256 => Cipher::Aes256(Box::new(Aes256::new_from_slice(key).ok()?)),
            BlockCipher::TripleDes => Cipher::TripleDes(Box::new(TdesEde3::new_from_slice(key).ok()?)),
        };
        Some(Self {
            cipher,
            suite,
            mac: hmac::Key::new(suite.mac, mac_key),
            chained: first_iv.map(<[u8]>::to_vec),
            has_own_iv: first_iv.is_none(),
            encrypts_then_macs,
        })
    }

    pub(crate) fn overhead(&self) -> usize {
        let iv = if self.has_own_iv {
            self.suite.block.block_length()
        } else {
            0
        };
        iv + self.suite.mac_length() + 1
    }

    pub(crate) fn desync(&mut self) {
        self.chained = None;
    }

    /// Takes a record, decrypted or not, for the IV of the next one.
    pub(crate) fn pass(&mut self, body: &[u8]) {
        if !self.has_own_iv {
            let end = body.len().saturating_sub(if self.encrypts_then_macs {
                self.suite.mac_length()
            } else {
                0
            });
            let begin = end.saturating_sub(self.suite.block.block_length());
            self.chained = body.get(begin..end).map(<[u8]>::to_vec);
        }
    }

    pub(crate) fn open(&self, sequence: u64, header: &[u8; 5], body: &[u8], plain: &mut Vec<u8>) -> bool {
        self.try_open(sequence, header, body, plain).is_some()
    }

    fn try_open(&self, sequence: u64, header: &[u8; 5], body: &[u8], plain: &mut Vec<u8>) -> Option<()> {
        let mac = self.suite.mac_length();
        let sealed = if self.encrypts_then_macs {
            let (sealed, tag) = body.split_at_checked(body.len().checked_sub(mac)?)?;
            self.verify(sequence, header, sealed, tag)?;
            sealed
        } else {
            body
        };
        let (iv, sealed) = if self.has_own_iv {
            sealed.split_at_checked(self.suite.block.block_length())?
        } else {
            (self.chained.as_deref()?, sealed)
        };
        plain.clear();
        plain.extend_from_slice(sealed);
        self.cipher.decrypt(iv, plain)?;
        // The padding's length, and the padding: bytes of that value.
        let last = *plain.last()?;
        let unpadded = plain.len().checked_sub(usize::from(last) + 1)?;
        if plain.get(unpadded..)?.iter().any(|byte| *byte != last) {
            return None;
        }
        plain.truncate(unpadded);
        if !self.encrypts_then_macs {
            let tag = plain.split_off(plain.len().checked_sub(mac)?);
            self.verify(sequence, header, plain, &tag)?;
        }
        Some(())
    }

    fn verify(&self, sequence: u64, header: &[u8; 5], content: &[u8], tag: &[u8]) -> Option<()> {
        let [kind, major, minor, ..] = *header;
        let [high, low] = u16::try_from(content.len()).ok()?.to_be_bytes();
        let mut input = Vec::with_capacity(13 + content.len());
        input.extend_from_slice(&sequence.to_be_bytes());
        input.extend_from_slice(&[kind, major, minor, high, low]);
        input.extend_from_slice(content);
        hmac::verify(&self.mac, &input, tag).ok()
    }
}

impl Cipher {
    fn decrypt(&self, iv: &[u8], data: &mut [u8]) -> Option<()> {
        match self {
            Self::Aes128(cipher) => decrypt(cipher.as_ref(), iv, data),
            Self::Aes256(cipher) => decrypt(cipher.as_ref(), iv, data),
            Self::TripleDes(cipher) => decrypt(cipher.as_ref(), iv, data),
        }
    }
}

fn decrypt<C: BlockCipherDecrypt>(cipher: &C, iv: &[u8], data: &mut [u8]) -> Option<()> {
    let mut before = iv.to_vec();
    let mut blocks = data.chunks_exact_mut(before.len().max(1));
    for bytes in &mut blocks {
        let sealed = bytes.to_vec();
        let block: &mut Block<C> = (&mut *bytes).try_into().ok()?;
        cipher.decrypt_block(block);
        bytes
            .iter_mut()
            .zip(&before)
            .for_each(|(byte, other)| *byte ^= other);
        before = sealed;
    }
    blocks.into_remainder().is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encrypted by `openssl enc -des-ede3-cbc`, MAC by Python's `hmac`; the padding is 16 bytes
    /// longer than necessary.
    #[test]
    fn a_record_of_triple_des_is_opened() {
        let sealed = "6465666768696a6b6a3e84f2316f99830113dfc7322504a7c22fcba2fd6e4b710711deeaf43569cafac7aab58971790703c956ba6e4be2b\
             38c14a2f65838a1ff";
        let pairs = (0..sealed.len()).step_by(2);
        let digits = |at: usize| {
            sealed
                .get(at..at + 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        };
        let body: Vec<u8> = pairs.filter_map(digits).collect();
        let suite = CbcSuite {
            block: BlockCipher::TripleDes,
            mac: hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        };
        let key: Vec<u8> = (1..25).collect();
        let mac: Vec<u8> = (40..60).collect();
        let opener = CbcKey::new(suite, &key, &mac, None, false).expect("keys of the right lengths");
        let mut plain = Vec::new();
        assert!(opener.open(5, &[23, 3, 3, 0, 64], &body, &mut plain));
        assert_eq!(plain, b"select 1 from dual");
        assert!(
            !opener.open(6, &[23, 3, 3, 0, 64], &body, &mut plain),
            "another number"
        );
        for cut in 0..body.len() {
            assert!(
                !opener.open(5, &[23, 3, 3, 0, 64], &body[..cut], &mut plain),
                "{cut}"
            );
        }
    }
}
