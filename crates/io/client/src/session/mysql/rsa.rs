//! Encrypts a password with the server's public key, for `caching_sha2_password` on an unencrypted
//! connection.
//!
//! Source: MySQL source documentation, "caching_sha2_password"; RFC 8017 section 7.1.1 (OAEP with
//! SHA-1).

use super::method::xor;
use num_bigint::BigUint;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;
use wire::reader::Reader;

/// Encrypts `secret` with the key in `pem` and `seed` as the random part. `None` if it is no RSA
/// key of a usual size, or the secret is too long for it.
pub(super) fn encrypted(secret: &[u8], pem: &[u8], seed: [u8; HASH]) -> Option<Vec<u8>> {
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
    let (modulus, exponent) = key(der.as_ref())?;
    let padded = padded(secret, modulus.len(), seed)?;
    let cipher = BigUint::from_bytes_be(&padded).modpow(
        &BigUint::from_bytes_be(exponent),
        &BigUint::from_bytes_be(modulus),
    );
    let cipher = cipher.to_bytes_be();
    let zeros = vec![0; modulus.len().checked_sub(cipher.len())?];
    Some([zeros, cipher].concat())
}

/// Modulus and exponent, without leading zeros: RFC 5280 section 4.1.2.7 around RFC 8017 section
/// A.1.1.
fn key(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut information = element(&mut Reader::new(der), SEQUENCE)?;
    element(&mut information, SEQUENCE)?;
    let mut bits = element(&mut information, BIT_STRING)?;
    if bits.u8()? != 0 {
        return None;
    }
    let mut numbers = element(&mut bits, SEQUENCE)?;
    let modulus = number(&mut numbers)?;
    let exponent = number(&mut numbers)?;
    let usual = MIN_MODULUS_BYTES..=MAX_MODULUS_BYTES;
    (usual.contains(&modulus.len()) && exponent.len() <= 8).then_some((modulus, exponent))
}

fn number<'a>(reader: &mut Reader<'a>) -> Option<&'a [u8]> {
    let bytes = element(reader, INTEGER)?.rest();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.get(zeros..).filter(|bytes| !bytes.is_empty())
}

/// The content of an element with this tag; lengths up to 65,535.
fn element<'a>(reader: &mut Reader<'a>, tag: u8) -> Option<Reader<'a>> {
    if reader.u8()? != tag {
        return None;
    }
    let length = match reader.u8()? {
        short @ 0..=0x7f => usize::from(short),
        0x81 => usize::from(reader.u8()?),
        0x82 => usize::from(reader.u16_be()?),
        _ => return None,
    };
    reader.sub(length)
}

/// OAEP of `length` bytes: `0 + masked seed + masked (hash of nothing + zeros + 1 + secret)`.
fn padded(secret: &[u8], length: usize, seed: [u8; HASH]) -> Option<Vec<u8>> {
    let zeros = length.checked_sub(2 * HASH + 2 + secret.len())?;
    let label = digest(&SHA1_FOR_LEGACY_USE_ONLY, b"");
    let block = [label.as_ref(), &vec![0; zeros], &[1], secret].concat();
    let block = xor(&block, &mask(&seed, block.len()));
    let seed = xor(&seed, &mask(&block, HASH));
    Some([&[0], seed.as_slice(), &block].concat())
}

/// MGF1 with SHA-1 (RFC 8017 section B.2.1).
fn mask(seed: &[u8], length: usize) -> Vec<u8> {
    let mut mask = Vec::new();
    for counter in 0_u32.. {
        if mask.len() >= length {
            break;
        }
        let part = digest(
            &SHA1_FOR_LEGACY_USE_ONLY,
            &[seed, &counter.to_be_bytes()].concat(),
        );
        mask.extend_from_slice(part.as_ref());
    }
    mask.truncate(length);
    mask
}

pub(super) const HASH: usize = 20;
const SEQUENCE: u8 = 0x30;
const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;
/// Bytes of a modulus: 1024 to 8192 bits.
const MIN_MODULUS_BYTES: usize = 128;
const MAX_MODULUS_BYTES: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn openssl(arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child = Command::new("openssl")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is installed");
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        output.stdout
    }

    #[test]
    fn what_is_encrypted_is_what_the_key_s_owner_reads() {
        let directory = tempfile::tempdir().unwrap();
        let private = directory.path().join("private.pem");
        let private = private.to_str().unwrap();
        openssl(&["genrsa", "-out", private, "2048"], b"");
        let public = openssl(&["rsa", "-in", private, "-pubout"], b"");
        let cipher = encrypted(b"secret\0", &public, [9; HASH]).expect("a key");
        assert_eq!(cipher.len(), 256);
        let decrypt = [
            "pkeyutl",
            "-decrypt",
            "-inkey",
            private,
            "-pkeyopt",
            "rsa_padding_mode:oaep",
        ];
        assert_eq!(openssl(&decrypt, &cipher), b"secret\0");
        assert_eq!(encrypted(&[0; 300], &public, [9; HASH]), None, "too long");
    }

    proptest::proptest! {
        #[test]
        fn any_key_is_read_without_harm(der in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..300)) {
            if let Some((modulus, exponent)) = key(&der) {
                proptest::prop_assert!(modulus.len() + exponent.len() < der.len());
            }
        }
    }
}
