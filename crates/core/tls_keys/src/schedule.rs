//! Derives the key of one direction from a secret, and decrypts records.

use crate::cbc::{CbcKey, CbcSuite};
use crate::suite::{Cipher, Suite, sends_nonce};
use md5::{Digest, Md5};
use model::PerDirection;
use ring::aead::{Aad, Algorithm, LessSafeKey, MAX_TAG_LEN, NONCE_LEN, Nonce, UnboundKey};
use ring::{hkdf, hmac};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Stage {
    #[default]
    Early,
    Handshake,
    Traffic,
}

pub(crate) struct RecordKey {
    cipher: Opener,
    suite: Suite,
    sequence: u64,
    /// Records were lost, so the number may be higher.
    is_doubtful: bool,
    secret: Vec<u8>,
}

enum Opener {
    Aead(Box<AeadKey>),
    Cbc(Box<CbcKey>),
}

struct AeadKey {
    key: LessSafeKey,
    iv: [u8; NONCE_LEN],
    is_13: bool,
    sends_nonce: bool,
}

pub(crate) struct Negotiated<'n> {
    pub(crate) version: u16,
    pub(crate) encrypts_then_macs: bool,
    pub(crate) client_random: &'n [u8; 32],
    pub(crate) server_random: &'n [u8; 32],
}

impl RecordKey {
    /// A key of TLS 1.3 (RFC 8446 section 7.3); `None` if the secret is not of the suite's length.
    pub(crate) fn of_13(suite: Suite, secret: &[u8]) -> Option<Self> {
        let Cipher::Aead(algorithm) = suite.cipher else {
            return None;
        };
        if secret.len() != suite.hash_length() {
            return None;
        }
        let mut key = [0; 32];
        let key = &mut key[..algorithm.key_len()];
        let mut iv = [0; NONCE_LEN];
        expand(suite, secret, "key", key)?;
        expand(suite, secret, "iv", &mut iv)?;
        let key = AeadKey::new(algorithm, key, iv, true)?;
        Some(Self::new(suite, Opener::Aead(Box::new(key)), secret.to_vec()))
    }

    /// The keys of TLS 1.0 to 1.2, the client's and the server's (RFC 5246 section 6.3).
    pub(crate) fn of_12(
        suite: Suite,
        negotiated: &Negotiated<'_>,
        master: &[u8],
    ) -> Option<PerDirection<Self>> {
        let seed = [
            b"key expansion",
            negotiated.server_random.as_slice(),
            negotiated.client_random,
        ]
        .concat();
        let block = |length: usize| match negotiated.version {
            TLS_10 | TLS_11 => prf_of_tls_10(master, &seed, length),
            _ => prf(suite, master, &seed, length),
        };
        let keys = match suite.cipher {
            Cipher::Aead(algorithm) => aead_keys(algorithm, block)?.map(|key| Opener::Aead(Box::new(key))),
            Cipher::Cbc(cbc) => cbc_keys(cbc, negotiated, block)?.map(|key| Opener::Cbc(Box::new(key))),
        };
        Some(keys.map(|key| Self::new(suite, key, Vec::new())))
    }

    fn new(suite: Suite, cipher: Opener, secret: Vec<u8>) -> Self {
        Self {
            cipher,
            suite,
            sequence: 0,
            is_doubtful: false,
            secret,
        }
    }

    pub(crate) fn overhead(&self) -> usize {
        match &self.cipher {
            Opener::Aead(key) => MAX_TAG_LEN + key.added(),
            Opener::Cbc(key) => key.overhead(),
        }
    }

    /// The key after a `KeyUpdate` (RFC 8446 section 7.2).
    pub(crate) fn next(&self) -> Option<Self> {
        let mut secret = vec![0; self.suite.hash_length()];
        expand(self.suite, &self.secret, "traffic upd", &mut secret)?;
        Self::of_13(self.suite, &secret)
    }

    pub(crate) fn desync(&mut self) {
        self.is_doubtful = true;
        self.lose_chain();
    }

    pub(crate) fn miss(&mut self) {
        self.pass();
        self.lose_chain();
    }

    fn lose_chain(&mut self) {
        if let Opener::Cbc(key) = &mut self.cipher {
            key.desync();
        }
    }

    pub(crate) fn pass(&mut self) {
        self.sequence = self.sequence.saturating_add(1);
    }

    /// Decrypts a record into `plain`. Returns whether it is authentic. After lost records, tries
    /// the next [`TRIED`] numbers.
    pub(crate) fn open(&mut self, header: &[u8; 5], body: &[u8], plain: &mut Vec<u8>) -> bool {
        let tries = if self.is_doubtful { TRIED } else { 1 };
        let numbers = self.sequence..self.sequence.saturating_add(tries);
        let opened = numbers.into_iter().find(|sequence| match &self.cipher {
            Opener::Aead(key) => key.open(*sequence, header, body, plain),
            Opener::Cbc(key) => key.open(*sequence, header, body, plain),
        });
        if let Opener::Cbc(key) = &mut self.cipher {
            key.pass(body);
        }
        if let Some(sequence) = opened {
            self.sequence = sequence.saturating_add(1);
            self.is_doubtful = false;
        } else {
            plain.clear();
        }
        opened.is_some()
    }
}

fn aead_keys(
    algorithm: &'static Algorithm,
    block: impl Fn(usize) -> Vec<u8>,
) -> Option<PerDirection<AeadKey>> {
    let fixed = if sends_nonce(algorithm) { 4 } else { NONCE_LEN };
    let key = algorithm.key_len();
    let block = block(2 * (key + fixed));
    let of = |index: usize| {
        let key_bytes = block.get(index * key..)?.get(..key)?;
        let iv_bytes = block.get(2 * key + index * fixed..)?.get(..fixed)?;
        let mut iv = [0; NONCE_LEN];
        iv[..fixed].copy_from_slice(iv_bytes);
        AeadKey::new(algorithm, key_bytes, iv, false)
    };
    Some(PerDirection::new(of(0)?, of(1)?))
}

/// Keys of TLS 1.0 to 1.2 for both directions: for MACs, for the cipher, and in TLS 1.0 the first
/// IVs.
fn cbc_keys(
    suite: CbcSuite,
    negotiated: &Negotiated<'_>,
    block: impl Fn(usize) -> Vec<u8>,
) -> Option<PerDirection<CbcKey>> {
    let (mac, key) = (suite.mac_length(), suite.block.key_length());
    let iv = match negotiated.version {
        TLS_10 => suite.block.block_length(),
        _ => 0,
    };
    let block = block(2 * (mac + key + iv));
    let of = |index: usize| {
        let part = |from: usize, length: usize| block.get(from + index * length..)?.get(..length);
        let first_iv = part(2 * (mac + key), iv)?;
        CbcKey::new(
            suite,
            part(2 * mac, key)?,
            part(0, mac)?,
            (iv > 0).then_some(first_iv),
            negotiated.encrypts_then_macs,
        )
    };
    Some(PerDirection::new(of(0)?, of(1)?))
}

impl AeadKey {
    fn new(algorithm: &'static Algorithm, key: &[u8], iv: [u8; NONCE_LEN], is_13: bool) -> Option<Self> {
        Some(Self {
            key: LessSafeKey::new(UnboundKey::new(algorithm, key).ok()?),
            iv,
            is_13,
            sends_nonce: !is_13 && sends_nonce(algorithm),
        })
    }

    /// Bytes of a record besides its tag: the explicit part of the nonce, or the type that TLS 1.3
    /// hides.
    fn added(&self) -> usize {
        match (self.is_13, self.sends_nonce) {
            (true, _) => 1,
            (false, true) => EXPLICIT_NONCE,
            (false, false) => 0,
        }
    }

    fn open(&self, sequence: u64, header: &[u8; 5], body: &[u8], plain: &mut Vec<u8>) -> bool {
        let number = sequence.to_be_bytes();
        let mut nonce = self.iv;
        let mut sealed = body;
        if self.sends_nonce {
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
    expand_with(|data| hmac::sign(&key, data).as_ref().to_vec(), seed, length)
}

/// The pseudorandom function of TLS 1.0 and 1.1 (RFC 2246 section 5): each half of the secret
/// expands with a different hash.
fn prf_of_tls_10(secret: &[u8], seed: &[u8], length: usize) -> Vec<u8> {
    let half = secret.len().div_ceil(2);
    let (first, second) = (&secret[..half], &secret[secret.len() - half..]);
    let sha1 = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, second);
    let md5 = expand_with(|data| hmac_md5(first, data), seed, length);
    let sha1 = expand_with(|data| hmac::sign(&sha1, data).as_ref().to_vec(), seed, length);
    md5.iter().zip(sha1).map(|(one, other)| one ^ other).collect()
}

fn expand_with(sign: impl Fn(&[u8]) -> Vec<u8>, seed: &[u8], length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut chained = sign(seed);
    while out.len() < length {
        out.extend(sign(&[chained.as_slice(), seed].concat()));
        chained = sign(&chained);
    }
    out.truncate(length);
    out
}

/// HMAC (RFC 2104) for keys of at most 64 bytes.
fn hmac_md5(key: &[u8], data: &[u8]) -> Vec<u8> {
    let padded = |pad: u8| {
        let mut block = [pad; 64];
        block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Md5::digest([&padded(0x36)[..], data].concat());
    Md5::digest([&padded(0x5c)[..], inner.as_slice()].concat()).to_vec()
}

const TLS_10: u16 = 0x0301;
const TLS_11: u16 = 0x0302;
const PREFIX: &str = "tls13 ";

const EXPLICIT_NONCE: usize = 8;

/// Numbers tried for the first record after lost ones: 32 records are half a megabyte of the
/// largest.
const TRIED: u64 = 32;
