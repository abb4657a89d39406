//! Which certificates are believed, by the target's mode.

use crate::error::{LiveError, OsError, RootCertificateFault};
use crate::target::{Scheme, Target, TlsMode};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// How to encrypt towards the target; absent when it does not ask for that.
pub(crate) fn configure(target: &Target) -> Result<Option<Arc<ClientConfig>>, LiveError> {
    if target.tls == TlsMode::Disable {
        return Ok(None);
    }
    let alpn = match target.scheme {
        // PostgreSQL 17 and later refuse a TLS connection without request unless it names the protocol.
        Scheme::Postgres | Scheme::Kingbase if target.tls_direct => vec![b"postgresql".to_vec()],
        Scheme::Postgres | Scheme::Kingbase | Scheme::Mysql | Scheme::Mariadb => Vec::new(),
        Scheme::Http
        | Scheme::Tcp
        | Scheme::Oracle
        | Scheme::SqlServer
        | Scheme::Redis
        | Scheme::Informix
        | Scheme::Drda => {
            return Err(LiveError::TlsUnsupported {
                scheme: target.scheme.name(),
            });
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = verifier(target, &provider)?;
    let failed = |reason| LiveError::TlsFailed {
        server: target.server(),
        reason,
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = alpn;
    Ok(Some(Arc::new(config)))
}

fn verifier(
    target: &Target,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, LiveError> {
    // As libpq has it: `require` with a file of certificates checks them.
    let mode = match target.tls {
        TlsMode::Disable | TlsMode::Require if target.root_certificates.is_none() => {
            return Ok(Arc::new(Anybody(provider.clone())));
        }
        TlsMode::Disable | TlsMode::Require | TlsMode::VerifyCa => TlsMode::VerifyCa,
        TlsMode::VerifyFull => TlsMode::VerifyFull,
    };
    let signed = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(target)?), provider.clone())
        .build()
        // It refuses an empty store only.
        .map_err(|_| LiveError::NoSystemCertificates)?;
    Ok(if mode == TlsMode::VerifyFull {
        signed
    } else {
        Arc::new(AnyName(signed))
    })
}

fn roots(target: &Target) -> Result<RootCertStore, LiveError> {
    let mut store = RootCertStore::empty();
    let Some(path) = &target.root_certificates else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if store.is_empty() {
            Err(LiveError::NoSystemCertificates)
        } else {
            Ok(store)
        };
    };
    let fault = |reason| LiveError::RootCertificates {
        path: path.clone(),
        reason,
    };
    let parsed = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = parsed.map_err(|error| match error {
        pem::Error::Io(error) => fault(RootCertificateFault::Unreadable(OsError::of(&error))),
        _ => fault(RootCertificateFault::NoCertificate),
    })?;
    store.add_parsable_certificates(certificates);
    if store.is_empty() {
        Err(fault(RootCertificateFault::NoCertificate))
    } else {
        Ok(store)
    }
}

/// `verify-ca`: the chain is checked, the name is not.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self
            .0
            .verify_server_cert(end_entity, intermediates, name, ocsp, now)
        {
            // The name is looked at last: the chain is in order.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// `require`: whoever holds the key of the certificate it shows.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
