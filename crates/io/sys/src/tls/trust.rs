//! Trusted certificates, by the target's mode.

use super::common_name;
use super::der::Parts;
use super::identity;
use super::security::{Roots, TlsSettings, is_postgres};
use crate::error::{LiveError, OsError, RootCertificateFault, SecurityFault};
use crate::files::{MAX_CERTIFICATES_BYTES, read_small};
use crate::target::{Target, TlsMode};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
    SupportedProtocolVersion,
};
use std::path::Path;
use std::sync::Arc;

pub fn configure(target: &Target, security: &TlsSettings) -> Result<Option<Arc<ClientConfig>>, LiveError> {
    if security.mode == TlsMode::Disable {
        return Ok(None);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = verifier(security, &provider)?;
    let failed = |reason| LiveError::TlsFailed {
        server: target.server(),
        reason,
    };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions(security))
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    let mut config = match &security.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let (chain, secret) =
                identity::read_identity(certificate, key).map_err(|fault| LiveError::Security { fault })?;
            let what = "is no certificate of X.509 version 3, or not one for that key";
            let unfit = |_| LiveError::Security {
                fault: SecurityFault::Identity {
                    path: certificate.clone(),
                    what,
                },
            };
            builder.with_client_auth_cert(chain, secret).map_err(unfit)?
        }
    };
    config.enable_sni = !security.without_name;
    // PostgreSQL 17 and later refuse direct TLS without this ALPN protocol.
    if security.direct && is_postgres(target.scheme) {
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok(Some(Arc::new(config)))
}

fn versions(security: &TlsSettings) -> &'static [&'static SupportedProtocolVersion] {
    match (security.without_tls12, security.without_tls13) {
        (true, _) => ONLY_13,
        (false, true) => ONLY_12,
        (false, false) => BOTH,
    }
}

static ONLY_12: &[&SupportedProtocolVersion] = &[&TLS12];
static ONLY_13: &[&SupportedProtocolVersion] = &[&TLS13];
static BOTH: &[&SupportedProtocolVersion] = &[&TLS13, &TLS12];

fn verifier(
    security: &TlsSettings,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, LiveError> {
    let mode = security.check();
    if mode < TlsMode::VerifyCa {
        return Ok(Arc::new(NoVerification(provider.clone())));
    }
    let (roots, named) = roots(&security.roots)?;
    let signed = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .build()
        // It refuses only an empty store.
        .map_err(|_| LiveError::NoSystemCertificates)?;
    Ok(Arc::new(Signed {
        signed,
        named,
        any_name: mode == TlsMode::VerifyCa,
    }))
}

/// Also returns the certificates in a file.
fn roots(roots: &Roots) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), LiveError> {
    let mut store = RootCertStore::empty();
    let Roots::File(path) = roots else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return if store.is_empty() {
            Err(LiveError::NoSystemCertificates)
        } else {
            Ok((store, Vec::new()))
        };
    };
    let fault = |reason| LiveError::RootCertificates {
        path: path.clone(),
        reason,
    };
    let text =
        read_small(Path::new(path), MAX_CERTIFICATES_BYTES).map_err(|error| match error.raw_os_error() {
            Some(code) => fault(RootCertificateFault::Unreadable(OsError(code))),
            None => fault(RootCertificateFault::Refused(error.to_string())),
        })?;
    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let certificates = parsed.map_err(|_| fault(RootCertificateFault::NoCertificate))?;
    store.add_parsable_certificates(certificates.iter().cloned());
    if store.is_empty() {
        Err(fault(RootCertificateFault::NoCertificate))
    } else {
        Ok((store, certificates))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Distrusted {
    #[error("self-signed certificate")]
    SelfSigned,
    /// The chain ends in a self-signed root.
    #[error("self-signed certificate in the chain")]
    UntrustedRoot,
}

/// For `verify-ca` and `verify-full`, where the latter also checks the name.
#[derive(Debug)]
struct Signed {
    signed: Arc<WebPkiServerVerifier>,
    /// Certificates trusted directly, without a signature by an authority, as in OpenSSL.
    named: Vec<CertificateDer<'static>>,
    any_name: bool,
}

impl Signed {
    fn is_named(&self, certificate: &CertificateDer<'_>) -> bool {
        self.named
            .iter()
            .any(|named| named.as_ref() == certificate.as_ref())
    }

    fn named(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), Error> {
        let parts = Parts::parse(certificate).ok_or(CertificateError::BadEncoding)?;
        if parts.is_valid_at(now.as_secs()) != Some(true) {
            return Err(CertificateError::Expired.into());
        }
        match self.any_name {
            true => Ok(()),
            false if common_name::fits(certificate, name) => Ok(()),
            false => verify_server_name(&ParsedCertificate::try_from(certificate)?, name),
        }
    }
}

impl ServerCertVerifier for Signed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.is_named(end_entity) {
            return self
                .named(end_entity, name, now)
                .map(|()| ServerCertVerified::assertion());
        }
        let verdict = self
            .signed
            .verify_server_cert(end_entity, intermediates, name, ocsp, now);
        match verdict {
            // The name is checked last: the chain is valid.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.any_name || common_name::fits(end_entity, name) => Ok(ServerCertVerified::assertion()),
            Err(Error::InvalidCertificate(fault)) => Err(named_fault(fault, end_entity, intermediates)),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

fn named_fault(
    fault: CertificateError,
    end_entity: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
) -> Error {
    let about_signer = match &fault {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => true,
        // An authority's own certificate, used by a server.
        CertificateError::Other(_) => true,
        _ => false,
    };
    let is_self_signed = |certificate: &CertificateDer<'_>| {
        Parts::parse(certificate).is_some_and(|parts| parts.is_self_signed())
    };
    let why = match () {
        () if !about_signer => return fault.into(),
        () if is_self_signed(end_entity) => Distrusted::SelfSigned,
        () if intermediates.iter().any(is_self_signed) => Distrusted::UntrustedRoot,
        () => return fault.into(),
    };
    CertificateError::Other(OtherError(Arc::new(why))).into()
}

/// For `require`, any server that holds the key of its certificate.
#[derive(Debug)]
struct NoVerification(Arc<CryptoProvider>);

impl ServerCertVerifier for NoVerification {
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
