//! Matches a host with the subject's common name, as libpq does for certificates without
//! alternative names.
//!
//! - Any name of the host's kind in `subjectAltName` (DNS for a name, IP for an address) rules the
//!   common name out.
//! - The first common name of the subject must be the host's name, in any case; or `*.` and the
//!   rest after the host's first label.

use super::der::Parts;
use rustls::pki_types::ServerName;
use std::net::IpAddr;

pub(super) fn fits(certificate: &[u8], name: &ServerName<'_>) -> bool {
    let Some(parts) = Parts::parse(certificate) else {
        return false;
    };
    let (host, kind) = match name {
        ServerName::DnsName(name) => (name.as_ref().to_owned(), DNS_NAME),
        ServerName::IpAddress(address) => (IpAddr::from(*address).to_string(), IP_ADDRESS),
        _ => return false,
    };
    !parts.alternative_names().contains(&kind)
        && parts
            .common_name()
            .is_some_and(|pattern| matches(pattern, host.as_bytes()))
}

fn matches(pattern: &[u8], host: &[u8]) -> bool {
    if pattern.contains(&0) {
        return false;
    }
    if pattern.eq_ignore_ascii_case(host) {
        return true;
    }
    let Some(suffix) = pattern
        .strip_prefix(b"*")
        .filter(|suffix| suffix.starts_with(b"."))
    else {
        return false;
    };
    let Some(split) = host.len().checked_sub(suffix.len()).filter(|split| *split > 0) else {
        return false;
    };
    let (label, rest) = host.split_at(split);
    rest.eq_ignore_ascii_case(suffix) && !label.contains(&b'.')
}

/// Tags in `subjectAltName` (RFC 5280 section 4.2.1.6).
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    fn is_for(common_name: &str, names: Vec<SanType>, host: &str) -> bool {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.subject_alt_names = names;
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let name = ServerName::try_from(host.to_owned()).expect("a name");
        fits(certificate.der(), &name)
    }

    #[test]
    fn the_common_name_counts_where_there_is_no_name_of_the_hosts_kind() {
        let dns = |name: &str| SanType::DnsName(name.try_into().expect("a name"));
        let address = || SanType::IpAddress([10, 0, 0, 1].into());
        assert!(is_for("db1.example.com", vec![], "db1.example.com"));
        assert!(is_for("DB1.example.com", vec![], "db1.Example.com"));
        assert!(is_for("*.example.com", vec![], "db1.example.com"));
        assert!(is_for("10.0.0.1", vec![], "10.0.0.1"));
        assert!(is_for("db1.example.com", vec![address()], "db1.example.com"));
        assert!(is_for("10.0.0.1", vec![dns("db1.example.com")], "10.0.0.1"));
        assert!(!is_for("db1.example.com", vec![dns("other")], "db1.example.com"));
        assert!(!is_for("10.0.0.1", vec![address()], "10.0.0.1"));
        assert!(!is_for("*.example.com", vec![], "a.b.example.com"));
        assert!(!is_for("*.example.com", vec![], "example.com"));
        assert!(!is_for("*", vec![], "db1"));
        assert!(!is_for("db2.example.com", vec![], "db1.example.com"));
    }
}
