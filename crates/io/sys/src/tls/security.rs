//! TLS settings of a connection, from the target, the environment, and the files that clients use.

use crate::error::{LiveError, SecurityFault};
use crate::target::{ChannelBinding, Scheme, SecurityAsked, Target, TlsMode};
use model::Protocol;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    pub mode: TlsMode,
    /// Whether the mode was set explicitly; otherwise it is libpq's default.
    pub said: bool,
    /// TLS from the first byte, without a request (`sslnegotiation=direct`).
    pub direct: bool,
    pub roots: Roots,
    pub identity: Option<(PathBuf, PathBuf)>,
    pub channel_binding: ChannelBinding,
    pub without_tls12: bool,
    pub without_tls13: bool,
    pub without_name: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    Unsaid,
    System,
    File(String),
}

impl TlsSettings {
    /// Combines the target with this process's environment and its user's files, as libpq does for
    /// PostgreSQL.
    ///
    /// # Errors
    /// [`LiveError::Security`] if the settings contradict each other or are not supported;
    /// [`LiveError::TlsUnsupported`] if longwire has no TLS for the target's protocol.
    pub fn from_target(target: &Target) -> Result<Self, LiveError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self::within(target, &variable)
    }

    fn within(target: &Target, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, LiveError> {
        if !has_tls(target.scheme) {
            return match target.security.mode.is_some_and(TlsMode::insists) {
                true => Err(LiveError::TlsUnsupported {
                    scheme: target.scheme.name(),
                }),
                false => Ok(Self::none()),
            };
        }
        let fault = |fault| LiveError::Security { fault };
        let mut asked = target.security.clone();
        let mut home = None;
        if is_postgres(target.scheme) {
            let variables = SecurityAsked::of_environment(variable);
            asked = asked.or(variables.map_err(|bad| fault(SecurityFault::Value(bad)))?);
            home = variable("HOME").map(|home| PathBuf::from(home).join(".postgresql"));
        }
        let security = Self::meant(asked, home.as_deref()).map_err(fault)?;
        // A local socket is never encrypted, as in libpq.
        Ok(match target.socket {
            Some(_) => Self {
                mode: TlsMode::Disable,
                ..security
            },
            None => security,
        })
    }

    /// `home` is where libpq keeps a user's certificates.
    fn meant(asked: SecurityAsked, home: Option<&Path>) -> Result<Self, SecurityFault> {
        let system = asked.roots.as_deref() == Some("system");
        let direct = asked.direct.unwrap_or(false);
        let mode = asked.mode.unwrap_or(match system {
            true => TlsMode::VerifyFull,
            false => TlsMode::Prefer,
        });
        let weak = |because| SecurityFault::Weak { mode, because };
        if system && mode != TlsMode::VerifyFull {
            return Err(weak("sslrootcert=system"));
        }
        if direct && !mode.insists() {
            return Err(weak("sslnegotiation=direct"));
        }
        if let Some(name) = asked.unsupported.filter(|_| mode != TlsMode::Disable) {
            return Err(SecurityFault::Unsupported { name });
        }
        let channel_binding = asked.channel_binding.unwrap_or_default();
        if channel_binding == ChannelBinding::Require && mode == TlsMode::Disable {
            return Err(weak("channel_binding=require"));
        }
        let in_home = |name: &str| home.map(|home| home.join(name)).filter(|path| path.exists());
        let roots = match asked.roots {
            Some(_) if system => Roots::System,
            Some(path) => Roots::File(path),
            None => in_home("root.crt").map_or(Roots::Unsaid, |path| Roots::File(path.display().to_string())),
        };
        let certificate = asked
            .certificate
            .map(PathBuf::from)
            .or_else(|| in_home("postgresql.crt"));
        let key = asked.key.map(PathBuf::from).or_else(|| in_home("postgresql.key"));
        let shown = certificate.filter(|_| asked.without_certificate != Some(true));
        let identity = match (shown, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (Some(certificate), None) => return Err(SecurityFault::NoKey { certificate }),
            (None, _) => None,
        };
        Ok(Self {
            mode,
            said: asked.mode.is_some() || system,
            direct,
            roots,
            identity,
            channel_binding,
            without_tls12: asked.without_tls12.unwrap_or(false),
            without_tls13: asked.without_tls13.unwrap_or(false),
            without_name: asked.without_name.unwrap_or(false),
        })
    }

    const fn none() -> Self {
        Self {
            mode: TlsMode::Disable,
            said: false,
            direct: false,
            roots: Roots::Unsaid,
            identity: None,
            channel_binding: ChannelBinding::Prefer,
            without_tls12: false,
            without_tls13: false,
            without_name: false,
        }
    }

    pub fn with_mode(&self, mode: TlsMode) -> Self {
        Self { mode, ..self.clone() }
    }

    /// The mode for certificate checks. As in libpq, named authorities imply a check even in a mode
    /// without one.
    pub fn check(&self) -> TlsMode {
        match self.mode {
            TlsMode::VerifyFull | TlsMode::VerifyCa => self.mode,
            _ if self.roots != Roots::Unsaid => TlsMode::VerifyCa,
            mode => mode,
        }
    }
}

/// Whether longwire supports TLS in the scheme's protocol.
const fn has_tls(scheme: Scheme) -> bool {
    matches!(scheme.protocol(), Protocol::Postgres | Protocol::Mysql)
}

pub const fn is_postgres(scheme: Scheme) -> bool {
    matches!(scheme.protocol(), Protocol::Postgres)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn meant(target: &str, variables: &[(&str, &str)]) -> Result<TlsSettings, String> {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        let variable = |name: &str| variables.get(name).map(|value| (*value).to_owned());
        let target = Target::parse(target).map_err(|error| error.to_string())?;
        TlsSettings::within(&target, &variable).map_err(|error| error.to_string())
    }

    fn mode(target: &str, variables: &[(&str, &str)]) -> TlsMode {
        meant(target, variables).expect("it is meant").mode
    }

    #[test]
    fn prefer_is_meant_when_nothing_is_said_and_the_target_comes_before_the_environment() {
        assert_eq!(mode("postgres://h/d", &[]), TlsMode::Prefer);
        assert_eq!(mode("mysql://h/d", &[]), TlsMode::Prefer);
        assert_eq!(mode("redis://h", &[]), TlsMode::Disable);
        let environment = [("PGSSLMODE", "verify-ca")];
        assert_eq!(mode("postgres://h/d", &environment), TlsMode::VerifyCa);
        assert_eq!(
            mode("postgres://h/d?sslmode=disable", &environment),
            TlsMode::Disable
        );
        assert_eq!(
            mode("mysql://h/d", &environment),
            TlsMode::Prefer,
            "it is libpq's"
        );
        assert_eq!(
            mode("postgres:///d?host=/tmp&sslmode=require", &[]),
            TlsMode::Disable,
            "a socket"
        );
    }

    #[test]
    fn the_system_s_authorities_mean_that_all_is_verified() {
        assert_eq!(
            mode("postgres://h/d?sslrootcert=system", &[]),
            TlsMode::VerifyFull
        );
        assert_eq!(
            mode("postgres://h/d", &[("PGSSLROOTCERT", "system")]),
            TlsMode::VerifyFull
        );
        let weak = meant("postgres://h/d?sslrootcert=system&sslmode=require", &[]).unwrap_err();
        assert!(
            weak.contains("sslmode=require") && weak.contains("sslrootcert=system"),
            "{weak}"
        );
        let weak = meant("postgres://h/d", &[("PGSSLNEGOTIATION", "direct")]).unwrap_err();
        assert!(weak.contains("sslnegotiation=direct"), "{weak}");
    }

    #[test]
    fn what_is_security_and_not_there_is_refused_by_name() {
        for (target, name) in [
            ("postgres://h/d?sslcrl=/x", "sslcrl"),
            ("postgres://h/d?sslmode=require&sslpassword=x", "sslpassword"),
            ("postgres://h/d?gssencmode=require", "gssencmode"),
            ("postgres://h/d?require_auth=scram-sha-256", "require_auth"),
            ("postgres://h/d?sslcertmode=require", "sslcertmode"),
            ("jdbc:postgresql://h/d?sslfactory=x.Y", "sslfactory"),
            ("mysql://h/d?ssl-crl=/x", "ssl-crl"),
            ("mysql://h/d?tls-version=TLSv1.3", "tls-version"),
            (
                "jdbc:mysql://h/d?trustCertificateKeyStoreUrl=file:x",
                "trustCertificateKeyStoreUrl",
            ),
        ] {
            let refused = meant(target, &[]).unwrap_err();
            assert!(refused.contains(name), "{target}: {refused}");
        }
        let refused = meant("postgres://h/d", &[("PGSSLCRL", "/x")]).unwrap_err();
        assert!(refused.contains("PGSSLCRL"), "{refused}");
        assert!(
            meant("postgres://h/d?sslmode=disable&sslcrl=/x", &[]).is_ok(),
            "nothing to check"
        );
        assert!(meant("postgres://h/d?gssencmode=disable&sslcompression=0", &[]).is_ok());
    }

    #[test]
    fn a_certificate_of_one_s_own_comes_with_its_key() {
        let both = meant("postgres://h/d?sslcert=/c&sslkey=/k", &[]).expect("a certificate");
        assert_eq!(both.identity, Some((PathBuf::from("/c"), PathBuf::from("/k"))));
        let both = meant("mysql://h/d?ssl-cert=/c&ssl-key=/k", &[]).expect("a certificate");
        assert!(both.identity.is_some());
        assert!(meant("postgres://h/d?sslcert=/c", &[]).is_err());
        let both = meant(
            "postgres://h/d?sslcertmode=disable",
            &[("PGSSLCERT", "/c"), ("PGSSLKEY", "/k")],
        );
        assert_eq!(both.expect("none is shown").identity, None);
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join(".postgresql");
        std::fs::create_dir(&home).unwrap();
        for name in ["root.crt", "postgresql.crt", "postgresql.key"] {
            std::fs::write(home.join(name), "").unwrap();
        }
        let found = meant("postgres://h/d", &[("HOME", directory.path().to_str().unwrap())]).unwrap();
        assert!(matches!(&found.roots, Roots::File(path) if path.ends_with("root.crt")));
        assert_eq!((found.mode, found.check()), (TlsMode::Prefer, TlsMode::VerifyCa));
        assert!(found.identity.is_some());
    }

    #[test]
    fn a_login_that_must_be_bound_needs_tls() {
        assert!(meant("postgres://h/d?sslmode=disable&channel_binding=require", &[]).is_err());
        let bound = meant("postgres://h/d", &[("PGCHANNELBINDING", "require")]).expect("with TLS");
        assert_eq!(bound.channel_binding, ChannelBinding::Require);
    }
}
