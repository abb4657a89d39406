//! Authentication methods: answers from a password and the server's challenge.
//!
//! Sources: MySQL source documentation, "Authentication Phase"; MariaDB Knowledge Base,
//! "Authentication Plugin - ed25519" and `plugin/auth_ed25519/ref10/sign.c` of its server.

use curve25519_dalek::{EdwardsPoint, Scalar};
use ring::digest::{Algorithm, Context, Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Native,
    Ed25519,
    /// `caching_sha2_password` (MySQL 8 and later).
    CachingSha2,
    /// `mysql_clear_password`, which sends the password itself.
    Clear,
}

impl Method {
    pub fn named(name: &str) -> Option<Self> {
        [Self::Native, Self::Ed25519, Self::CachingSha2, Self::Clear]
            .into_iter()
            .find(|method| method.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::Ed25519 => "client_ed25519",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Clear => "mysql_clear_password",
        }
    }

    /// Answers the challenge `nonce`. Without a password the proof is empty, except for signatures
    /// and the clear method.
    pub fn answer(self, password: &[u8], nonce: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519 => ed25519(password, nonce),
            Self::Clear => [password, b"\0"].concat(),
            Self::Native | Self::CachingSha2 if password.is_empty() => Vec::new(),
            Self::Native => native(password, nonce),
            Self::CachingSha2 => caching_sha2(password, nonce),
        }
    }
}

/// `SHA1(password) XOR SHA1(nonce + SHA1(SHA1(password)))`.
fn native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let hash = |parts: &[&[u8]]| digest(&SHA1_FOR_LEGACY_USE_ONLY, parts);
    let once = hash(&[password]);
    let twice = hash(&[once.as_ref()]);
    xor(once.as_ref(), hash(&[nonce, twice.as_ref()]).as_ref())
}

/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)) + nonce)`.
fn caching_sha2(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let hash = |parts: &[&[u8]]| digest(&SHA256, parts);
    let once = hash(&[password]);
    let twice = hash(&[once.as_ref()]);
    xor(once.as_ref(), hash(&[twice.as_ref(), nonce]).as_ref())
}

/// Signs the challenge as in RFC 8032, but with the hash of the password in place of the hash of a
/// seed of 32 bytes.
fn ed25519(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let hash = |parts: &[&[u8]]| digest(&SHA512, parts);
    let wide = |digest: Digest| {
        let mut bytes = [0; 64];
        bytes.copy_from_slice(digest.as_ref());
        Scalar::from_bytes_mod_order_wide(&bytes)
    };
    let expanded = hash(&[password]);
    let (low, prefix) = expanded.as_ref().split_at(32);
    let mut key = [0; 32];
    key.copy_from_slice(low);
    let key = Scalar::from_bytes_mod_order(curve25519_dalek::scalar::clamp_integer(key));
    let public = EdwardsPoint::mul_base(&key).compress();
    let once = wide(hash(&[prefix, nonce]));
    let commitment = EdwardsPoint::mul_base(&once).compress();
    let challenge = wide(hash(&[commitment.as_bytes(), public.as_bytes(), nonce]));
    let proof = challenge * key + once;
    [commitment.as_bytes().as_slice(), proof.as_bytes()].concat()
}

pub(super) fn xor(bytes: &[u8], mask: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .zip(mask.iter().cycle())
        .map(|(byte, mask)| byte ^ mask)
        .collect()
}

fn digest(algorithm: &'static Algorithm, parts: &[&[u8]]) -> Digest {
    let mut context = Context::new(algorithm);
    parts.iter().for_each(|part| context.update(part));
    context.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_of_32_bytes_signs_as_everybody_else_does() {
        use ring::signature::{Ed25519KeyPair, KeyPair};
        let seed = [7; 32];
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).expect("a seed");
        assert_eq!(pair.public_key().as_ref().len(), 32);
        assert_eq!(ed25519(&seed, b"challenge"), pair.sign(b"challenge").as_ref());
    }

    #[test]
    fn no_password_has_no_proof() {
        for method in [Method::Native, Method::CachingSha2] {
            assert_eq!(method.answer(b"", b"12345678901234567890"), b"");
        }
        assert_eq!(Method::Clear.answer(b"pw", b""), b"pw\0");
        assert_eq!(Method::Ed25519.answer(b"", b"x").len(), 64);
    }

    #[test]
    fn proofs_are_those_of_the_protocol() {
        // SHA1(p) can be recovered from SHA1(SHA1(p)) and the nonce, which is the server's check.
        let nonce = b"12345678901234567890";
        let proof = native(b"secret", nonce);
        let twice = digest(
            &SHA1_FOR_LEGACY_USE_ONLY,
            &[digest(&SHA1_FOR_LEGACY_USE_ONLY, &[b"secret"]).as_ref()],
        );
        let mask = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[nonce, twice.as_ref()]);
        let once = xor(&proof, mask.as_ref());
        assert_eq!(
            digest(&SHA1_FOR_LEGACY_USE_ONLY, &[&once]).as_ref(),
            twice.as_ref()
        );

        let proof = caching_sha2(b"secret", nonce);
        let twice = digest(&SHA256, &[digest(&SHA256, &[b"secret"]).as_ref()]);
        let mask = digest(&SHA256, &[twice.as_ref(), nonce]);
        let once = xor(&proof, mask.as_ref());
        assert_eq!(digest(&SHA256, &[&once]).as_ref(), twice.as_ref());
    }
}
