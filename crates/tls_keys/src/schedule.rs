//! From a secret to the key of one direction, and from a record to its plain text.

use crate::suite::Suite;
use ring::aead::{Aad, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey};
use ring::{hkdf, hmac};

/// What opens the records of one direction, from the first on.
pub(crate) struct RecordKey {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    suite: Suite,
    is_13: bool,
    /// Number of the next record.
    sequence: u64,
    /// Records were lost, so that the number may be higher.
    is_doubtful: bool,
    /// TLS 1.3: what the next key is made from.
    secret: Vec<u8>,
}

impl RecordKey {
    /// A key of TLS 1.3 (RFC 8446 section 7.3); absent when the secret is not of the suite's length.
    pub(crate) fn of_13(suite: Suite, secret: &[u8]) -> Option<Self> {
        if secret.len() != suite.hash_length() {
            return None;
        }
        let mut key = [0; 32];
        let key = &mut key[..suite.cipher.key_len()];
        let mut iv = [0; NONCE_LEN];
        expand(suite, secret, "key", key)?;
        expand(suite, secret, "iv", &mut iv)?;
        Self::new(suite, key, iv, true, secret.to_vec())
    }

    /// The keys of TLS 1.2, the client's and the server's (RFC 5246 section 6.3).
    pub(crate) fn of_12(
        suite: Suite,
        master: &[u8],
        client_random: &[u8; 32],
        server_random: &[u8; 32],
    ) -> Option<[Self; 2]> {
        let (key, fixed) = (
            suite.cipher.key_len(),
            if suite.sends_nonce() { 4 } else { NONCE_LEN },
        );
        let seed = [b"key expansion", server_random.as_slice(), client_random].concat();
        let block = prf(suite, master, &seed, 2 * (key + fixed));
        let of = |index: usize| {
            let key_bytes = block.get(index * key..)?.get(..key)?;
            let iv_bytes = block.get(2 * key + index * fixed..)?.get(..fixed)?;
            let mut iv = [0; NONCE_LEN];
            iv[..fixed].copy_from_slice(iv_bytes);
            Self::new(suite, key_bytes, iv, false, Vec::new())
        };
        Some([of(0)?, of(1)?])
    }

    fn new(suite: Suite, key: &[u8], iv: [u8; NONCE_LEN], is_13: bool, secret: Vec<u8>) -> Option<Self> {
        let key = LessSafeKey::new(UnboundKey::new(suite.cipher, key).ok()?);
        Some(Self {
            key,
            iv,
            suite,
            is_13,
            sequence: 0,
            is_doubtful: false,
            secret,
        })
    }

    /// The key after a `KeyUpdate` (RFC 8446 section 7.2).
    pub(crate) fn next(&self) -> Option<Self> {
        let mut secret = vec![0; self.suite.hash_length()];
        expand(self.suite, &self.secret, "traffic upd", &mut secret)?;
        Self::of_13(self.suite, &secret)
    }

    /// An unknown number of records was not seen.
    pub(crate) fn lose(&mut self) {
        self.is_doubtful = true;
    }

    /// A record was seen that cannot be opened.
    pub(crate) fn pass(&mut self) {
        self.sequence = self.sequence.saturating_add(1);
    }

    /// Opens a record into `plain`: whether it is authentic. After lost records, the next [`TRIED`] numbers are tried.
    pub(crate) fn open(&mut self, header: &[u8; 5], body: &[u8], plain: &mut Vec<u8>) -> bool {
        let tries = if self.is_doubtful { TRIED } else { 1 };
        for sequence in self.sequence..self.sequence.saturating_add(tries) {
            if self.open_as(sequence, header, body, plain) {
                self.sequence = sequence.saturating_add(1);
                self.is_doubtful = false;
                return true;
            }
        }
        plain.clear();
        false
    }

    fn open_as(&self, sequence: u64, header: &[u8; 5], body: &[u8], plain: &mut Vec<u8>) -> bool {
        let number = sequence.to_be_bytes();
        let mut nonce = self.iv;
        let mut sealed = body;
        if !self.is_13 && self.suite.sends_nonce() {
            let Some((sent, rest)) = body.split_at_checked(EXPLICIT_NONCE) else {
                return false;
            };
            nonce[4..].copy_from_slice(sent);
            sealed = rest;
        } else {
            nonce[4..]
                .iter_mut()
                .zip(number)
                .for_each(|(byte, number)| *byte ^= number);
        }
        let Some(length) = sealed.len().checked_sub(MAX_TAG_LEN) else {
            return false;
        };
        plain.clear();
        plain.extend_from_slice(sealed);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = if self.is_13 {
            self.key.open_in_place(nonce, Aad::from(header), plain)
        } else {
            let [high, low] = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
            let [kind, major, minor, ..] = *header;
            let mut aad = [0; 13];
            aad[..8].copy_from_slice(&number);
            aad[8..].copy_from_slice(&[kind, major, minor, high, low]);
            self.key.open_in_place(nonce, Aad::from(aad), plain)
        };
        let is_authentic = opened.is_ok();
        plain.truncate(length);
        is_authentic
    }
}

/// HKDF-Expand-Label without a context (RFC 8446 section 7.1).
fn expand(suite: Suite, secret: &[u8], label: &str, out: &mut [u8]) -> Option<()> {
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let length = u16::try_from(out.len()).ok()?.to_be_bytes();
    let named = [u8::try_from(PREFIX.len() + label.len()).ok()?];
    let info = [&length[..], &named, PREFIX.as_bytes(), label.as_bytes(), &[0]];
    let secret = hkdf::Prk::new_less_safe(suite.hkdf(), secret);
    secret.expand(&info, Length(out.len())).ok()?.fill(out).ok()
}

/// The pseudorandom function of TLS 1.2 (RFC 5246 section 5); `seed` begins with the label.
fn prf(suite: Suite, secret: &[u8], seed: &[u8], length: usize) -> Vec<u8> {
    let key = hmac::Key::new(suite.hmac(), secret);
    let mut out = Vec::with_capacity(length + suite.hash_length());
    let mut chained = hmac::sign(&key, seed);
    while out.len() < length {
        out.extend_from_slice(hmac::sign(&key, &[chained.as_ref(), seed].concat()).as_ref());
        chained = hmac::sign(&key, chained.as_ref());
    }
    out.truncate(length);
    out
}

const PREFIX: &str = "tls13 ";

/// Bytes of a nonce that TLS 1.2 sends with each record of AES-GCM.
pub(crate) const EXPLICIT_NONCE: usize = 8;

/// Numbers tried for the first record behind lost ones: 32 records are half a megabyte of the largest.
const TRIED: u64 = 32;
