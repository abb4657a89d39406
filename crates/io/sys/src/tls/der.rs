//! Reads issuer, signature algorithm and validity of a certificate (RFC 5280, in DER).

use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};

#[derive(Debug, Clone, Copy)]
pub(super) struct Parts<'a> {
    issuer: &'a [u8],
    subject: &'a [u8],
    behind_subject: &'a [u8],
    not_before: &'a [u8],
    not_after: &'a [u8],
    signature: &'a [u8],
}

impl<'a> Parts<'a> {
    /// `None` if it is not a certificate.
    pub fn parse(certificate: &'a [u8]) -> Option<Self> {
        let (SEQUENCE, outer, _) = element(certificate)? else {
            return None;
        };
        let (SEQUENCE, signed, rest) = element(outer)? else {
            return None;
        };
        let (SEQUENCE, algorithm, _) = element(rest)? else {
            return None;
        };
        let (OID, signature, _) = element(algorithm)? else {
            return None;
        };
        // Version (optional), number, algorithm.
        let (tag, _, mut rest) = element(signed)?;
        if tag == VERSION {
            rest = element(rest)?.2;
        }
        let (_, _, rest) = element(rest)?;
        let (_, issuer, rest) = element(rest)?;
        let (_, validity, rest) = element(rest)?;
        let (_, subject, behind_subject) = element(rest)?;
        let (_, not_before, later) = element(validity)?;
        let (_, not_after, _) = element(later)?;
        Some(Self {
            issuer,
            subject,
            behind_subject,
            not_before,
            not_after,
            signature,
        })
    }

    pub fn common_name(&self) -> Option<&'a [u8]> {
        let of_set = |set: &'a [u8]| {
            Elements(set).find_map(|(_, attribute)| {
                let (_, kind, value) = element(attribute)?;
                let (tag, text, _) = element(value)?;
                (kind == COMMON_NAME && TEXTS.contains(&tag)).then_some(text)
            })
        };
        Elements(self.subject).find_map(|(_, set)| of_set(set))
    }

    pub fn alternative_names(&self) -> Vec<u8> {
        let names = Elements(self.behind_subject)
            .filter(|(tag, _)| *tag == EXTENSIONS)
            .filter_map(|(_, all)| element(all))
            .flat_map(|(_, all, _)| Elements(all))
            .filter_map(|(_, extension)| element(extension))
            .filter(|(_, kind, _)| *kind == ALTERNATIVE_NAME)
            .filter_map(|(_, _, value)| Elements(value).last())
            .filter_map(|(_, sealed)| element(sealed));
        names
            .flat_map(|(_, all, _)| Elements(all))
            .map(|(tag, _)| tag)
            .collect()
    }

    /// Whether issuer and subject are equal.
    pub fn is_self_signed(&self) -> bool {
        self.issuer == self.subject
    }

    /// `seconds` are since 1970; `None` without a readable validity.
    pub fn is_valid_at(&self, seconds: u64) -> Option<bool> {
        Some(time(self.not_before)? <= seconds && seconds <= time(self.not_after)?)
    }
}

struct Elements<'a>(&'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (tag, content, rest) = element(self.0)?;
        self.0 = rest;
        Some((tag, content))
    }
}

/// Object identifiers 2.5.4.3 and 2.5.29.17.
const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ALTERNATIVE_NAME: &[u8] = &[0x55, 0x1d, 0x11];
const EXTENSIONS: u8 = 0xa3;
/// String types that are ASCII in host names: UTF-8, printable, T61, IA5.
const TEXTS: [u8; 4] = [0x0c, 0x13, 0x14, 0x16];

/// The certificate hash for channel binding (RFC 5929, `tls-server-end-point`): by the hash
/// function of its signature, with SHA-256 for MD5 and SHA-1. `None` if there is none, or an
/// unknown one.
pub fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let algorithm = hash_of(Parts::parse(certificate)?.signature)?;
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

fn hash_of(signature: &[u8]) -> Option<&'static Algorithm> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04];
    if let Some(kind) = signature.strip_prefix(RSA) {
        return match kind {
            // MD5, SHA-1, SHA-256.
            [4 | 5 | 11] => Some(&SHA256),
            [12] => Some(&SHA384),
            [13] => Some(&SHA512),
            _ => None,
        };
    }
    match signature.strip_prefix(ECDSA)? {
        // SHA-1, SHA-256.
        [1] | [3, 2] => Some(&SHA256),
        [3, 3] => Some(&SHA384),
        [3, 4] => Some(&SHA512),
        _ => None,
    }
}

/// Returns tag, content and remainder.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&[tag, first], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x83 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length = digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit));
            (length, rest)
        }
        _ => return None,
    };
    let (content, behind) = rest.split_at_checked(length)?;
    Some((tag, content, behind))
}

/// `UTCTime` (`YYMMDDhhmmssZ`) and `GeneralizedTime` (`YYYYMMDDhhmmssZ`) in seconds since 1970.
fn time(text: &[u8]) -> Option<u64> {
    let digits = text.strip_suffix(b"Z")?;
    let pairs: Vec<u64> = digits
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).ok()?.parse().ok())
        .collect::<Option<_>>()?;
    let (year, rest) = match pairs.as_slice() {
        [year, rest @ ..] if rest.len() == 5 => (year + if *year < 50 { 2000 } else { 1900 }, rest),
        [century, year, rest @ ..] if rest.len() == 5 => (century * 100 + year, rest),
        _ => return None,
    };
    let &[month, day, hour, minute, second] = rest else {
        return None;
    };
    let days = days_before(year, month)?.checked_add(day.checked_sub(1)?)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

fn days_before(year: u64, month: u64) -> Option<u64> {
    let before = year.checked_sub(1)?;
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year.checked_sub(1970)?) * 365 + leaps(before) - leaps(1969);
    let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let months: u64 = lengths
        .get(..usize::try_from(month.checked_sub(1)?).ok()?)?
        .iter()
        .sum();
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    Some(years + months + u64::from(leap && month > 2))
}

const SEQUENCE: u8 = 0x30;
const OID: u8 = 0x06;
/// The constructed tag `[0]`.
const VERSION: u8 = 0xa0;

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{
        CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519,
        date_time_ymd,
    };

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(time(b"700101000000Z"), Some(0));
        assert_eq!(time(b"20000229123456Z"), Some(951_827_696));
        assert_eq!(time(b"260301000000Z"), Some(1_772_323_200));
        assert_eq!(time(b"99991231235959Z"), Some(253_402_300_799));
        for bad in [
            &b"2603"[..],
            b"",
            b"26030100000xZ",
            b"000001010000Z",
            b"691231235959Z",
        ] {
            assert_eq!(time(bad), None);
        }
    }

    #[test]
    fn a_certificate_is_read_and_damage_is_no_certificate() {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2030, 1, 1);
        let certificate = params.self_signed(&key).unwrap();
        let parts = Parts::parse(certificate.der()).expect("a certificate");
        assert!(parts.is_self_signed());
        assert_eq!(parts.is_valid_at(1_600_000_000), Some(true));
        assert_eq!(parts.is_valid_at(1_500_000_000), Some(false));
        assert_eq!(parts.is_valid_at(2_000_000_000), Some(false));
        for length in 0..certificate.der().len() {
            assert!(Parts::parse(&certificate.der()[..length]).is_none());
        }
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        for (algorithm, length) in [
            (&PKCS_ECDSA_P256_SHA256, Some(32)),
            (&PKCS_ECDSA_P384_SHA384, Some(48)),
            (&PKCS_ED25519, None),
        ] {
            let key = KeyPair::generate_for(algorithm).unwrap();
            let certificate = CertificateParams::new(Vec::new())
                .unwrap()
                .self_signed(&key)
                .unwrap();
            assert_eq!(end_point(certificate.der()).map(|hash| hash.len()), length);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(0..=255_u8, 0..80)) {
            end_point(&bytes);
            time(&bytes);
        }
    }
}
