//! A certificate authority and one server certificate.

use std::fs::Permissions;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, SanType};

use servers::Account;
use servers::postgres::TlsFiles;

use crate::process::given;

/// PEM files of a certificate for `localhost`, 127.0.0.1 and ::1, its key, and the signing
/// authority.
#[derive(Clone, Debug)]
pub struct Certificate {
    authority: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl Certificate {
    /// Writes authority and certificate to `directory`; only `account` can read the key.
    pub fn create(directory: &Path, account: Account) -> Certificate {
        let files = Certificate {
            authority: directory.join("authority.pem"),
            certificate: directory.join("server.pem"),
            key: directory.join("server.key"),
        };
        let (authority, certificate, key) = generate().unwrap_or_else(|error| panic!("certificate: {error}"));
        write(&files.authority, &authority, 0o644, account);
        write(&files.certificate, &certificate, 0o644, account);
        write(&files.key, &key, 0o600, account);
        files
    }

    /// For a server running as the current user.
    pub fn create_own(directory: &Path) -> Certificate {
        Self::create(directory, Account::Own)
    }

    pub(crate) fn files(&self) -> TlsFiles {
        TlsFiles {
            authority: self.authority.clone(),
            certificate: self.certificate.clone(),
            key: self.key.clone(),
        }
    }

    pub fn authority(&self) -> &Path {
        &self.authority
    }

    pub fn certificate(&self) -> &Path {
        &self.certificate
    }

    pub fn key(&self) -> &Path {
        &self.key
    }
}

fn generate() -> Result<(String, String, String), rcgen::Error> {
    let authority_key = KeyPair::generate()?;
    let mut authority_params = CertificateParams::new(Vec::new())?;
    authority_params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority_params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "testbed authority");
    let authority = authority_params.self_signed(&authority_key)?;
    let issuer = Issuer::new(authority_params, authority_key);

    let server_key = KeyPair::generate()?;
    let mut server_params = CertificateParams::new(vec!["localhost".to_owned()])?;
    for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
        server_params.subject_alt_names.push(SanType::IpAddress(address));
    }
    let server = server_params.signed_by(&server_key, &issuer)?;
    Ok((authority.pem(), server.pem(), server_key.serialize_pem()))
}

fn write(path: &Path, text: &str, mode: u32, account: Account) {
    std::fs::write(path, text)
        .and_then(|()| std::fs::set_permissions(path, Permissions::from_mode(mode)))
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    given(account.own(path));
}
