//! TLS and authentication parameters of a target, in the spelling of each client.

use super::TargetError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsMode {
    Disable,
    /// Only if the server accepts no plain login.
    Allow,
    /// The default: TLS if the server offers it, with any certificate.
    Prefer,
    /// Always TLS, with any certificate.
    Require,
    /// Requires a certificate signed by a trusted authority.
    VerifyCa,
    /// As `VerifyCa`, and for the host of the target.
    VerifyFull,
}

impl TlsMode {
    /// Whether plain connections are refused.
    pub fn insists(self) -> bool {
        self >= Self::Require
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Allow => "allow",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    /// Parses libpq's `sslmode`, MySQL's `ssl-mode`, and equivalents of drivers.
    fn named(name: &str, value: &str) -> Result<Self, TargetError> {
        match value.to_ascii_lowercase().replace('_', "-").as_str() {
            "disable" | "disabled" => Ok(Self::Disable),
            "allow" => Ok(Self::Allow),
            "prefer" | "preferred" => Ok(Self::Prefer),
            "require" | "required" | "trust" | "no-verify" => Ok(Self::Require),
            "verify-ca" => Ok(Self::VerifyCa),
            "verify-full" | "verify-identity" => Ok(Self::VerifyFull),
            _ => Err(bad(
                name,
                value,
                "disable, allow, prefer, require, verify-ca or verify-full",
            )),
        }
    }
}

/// Of a login to its TLS connection (SCRAM-SHA-256-PLUS), as libpq's `channel_binding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChannelBinding {
    Disable,
    /// If the server offers it.
    #[default]
    Prefer,
    Require,
}

/// `None` for parameters that are not set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecurityAsked {
    /// `sslmode`, `ssl-mode`, `sslMode`, `ssl`, `useSSL`, ...
    pub mode: Option<TlsMode>,
    /// TLS from the first byte, by `sslnegotiation=direct`.
    pub direct: Option<bool>,
    /// File of trusted certificates (`sslrootcert`, `ssl-ca`), or `system`.
    pub roots: Option<String>,
    /// Client certificate (`sslcert`, `ssl-cert`).
    pub certificate: Option<String>,
    /// Key of the client certificate (`sslkey`, `ssl-key`).
    pub key: Option<String>,
    pub channel_binding: Option<ChannelBinding>,
    pub without_tls12: Option<bool>,
    pub without_tls13: Option<bool>,
    /// Does not send the server's name, by `sslsni=0`.
    pub without_name: Option<bool>,
    /// Never shows a certificate, by `sslcertmode=disable`.
    pub without_certificate: Option<bool>,
    /// A parameter for a safety feature that longwire lacks.
    pub unsupported: Option<String>,
}

/// A name may mean different things in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    Postgres,
    PostgresJdbc,
    Mysql,
    Other,
}

impl SecurityAsked {
    /// Returns false for a parameter that is not about security. `name` is as written.
    pub(super) fn set(&mut self, name: &str, value: &str, words: Words) -> Result<bool, TargetError> {
        if value.is_empty() {
            return Ok(is_about_security(name));
        }
        let known = self.set_mode(name, value, words)? || self.set_rest(name, value)?;
        if !known && is_unsupported(name, value, words) {
            self.unsupported.get_or_insert_with(|| name.to_owned());
        }
        Ok(known || is_about_security(name))
    }

    fn set_mode(&mut self, name: &str, value: &str, words: Words) -> Result<bool, TargetError> {
        match plain(name).as_str() {
            "sslmode" => self.mode = Some(TlsMode::named(name, value)?),
            // In pgjdbc `ssl=true` checks the name, unlike in libpq and all others.
            "ssl" if is_true(value) && words == Words::PostgresJdbc => self.at_least(TlsMode::VerifyFull),
            "ssl" | "usessl" | "requiressl" | "tls" if is_true(value) => self.at_least(TlsMode::Require),
            "ssl" | "usessl" | "tls" if is_false(value) => self.mode = Some(TlsMode::Disable),
            "requiressl" => {}
            "tls" if value == "skip-verify" => self.at_least(TlsMode::Require),
            // From asyncpg, and from SQLAlchemy for it.
            "ssl" | "tls" if TlsMode::named(name, value).is_ok() => {
                self.mode = Some(TlsMode::named(name, value)?)
            }
            // From node, in JSON.
            "ssl" if value.starts_with('{') => self.at_least(match is_lax(value) {
                true => TlsMode::Require,
                false => TlsMode::VerifyFull,
            }),
            "ssl" | "tls" if words != Words::Other => {
                return Err(bad(name, value, "true, false or a word of sslmode"));
            }
            "ssldisabled" if is_true(value) => self.mode = Some(TlsMode::Disable),
            "verifyservercertificate" | "sslverifycert" if is_true(value) => self.at_least(TlsMode::VerifyCa),
            "sslverifyservercert" | "sslverifyidentity" if is_true(value) => {
                self.at_least(TlsMode::VerifyFull)
            }
            "sslaccept" if value == "strict" => self.at_least(TlsMode::VerifyFull),
            "sslaccept" => self.at_least(TlsMode::Require),
            "ssldisabled"
            | "verifyservercertificate"
            | "sslverifycert"
            | "sslverifyservercert"
            | "sslverifyidentity" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_rest(&mut self, name: &str, value: &str) -> Result<bool, TargetError> {
        let text = Some(value.to_owned());
        match plain(name).as_str() {
            "sslnegotiation" => {
                self.direct = Some(one_of(name, value, &[("postgres", false), ("direct", true)])?);
            }
            "sslrootcert" | "sslca" | "serversslcert" => self.roots = text,
            "sslcert" => self.certificate = text,
            "sslkey" => self.key = text,
            "channelbinding" => {
                let words = [
                    ("disable", ChannelBinding::Disable),
                    ("prefer", ChannelBinding::Prefer),
                    ("require", ChannelBinding::Require),
                ];
                self.channel_binding = Some(one_of(name, value, &words)?);
            }
            "sslminprotocolversion" => {
                let old = [
                    ("TLSv1", false),
                    ("TLSv1.1", false),
                    ("TLSv1.2", false),
                    ("TLSv1.3", true),
                ];
                self.without_tls12 = Some(one_of(name, value, &old)?);
            }
            "sslmaxprotocolversion" => {
                self.without_tls13 = Some(one_of(name, value, &[("TLSv1.2", true), ("TLSv1.3", false)])?);
            }
            "sslsni" => self.without_name = Some(one_of(name, value, &[("0", true), ("1", false)])?),
            "sslcertmode" if matches!(value, "disable" | "allow") => {
                self.without_certificate = Some(value == "disable");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn at_least(&mut self, mode: TlsMode) {
        self.mode = Some(self.mode.map_or(mode, |said| said.max(mode)));
    }

    pub fn or(self, other: Self) -> Self {
        Self {
            mode: self.mode.or(other.mode),
            direct: self.direct.or(other.direct),
            roots: self.roots.or(other.roots),
            certificate: self.certificate.or(other.certificate),
            key: self.key.or(other.key),
            channel_binding: self.channel_binding.or(other.channel_binding),
            without_tls12: self.without_tls12.or(other.without_tls12),
            without_tls13: self.without_tls13.or(other.without_tls13),
            without_name: self.without_name.or(other.without_name),
            without_certificate: self.without_certificate.or(other.without_certificate),
            unsupported: self.unsupported.or(other.unsupported),
        }
    }

    pub fn of_environment(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, TargetError> {
        let mut asked = Self::default();
        for (name, parameter) in ENVIRONMENT {
            let Some(value) = variable(name).filter(|value| !value.is_empty()) else {
                continue;
            };
            let told = |error| match error {
                TargetError::BadParameter { value, expected, .. } => bad(name, &value, expected),
                other => other,
            };
            asked.set(parameter, &value, Words::Postgres).map_err(told)?;
            if asked.unsupported.as_deref() == Some(parameter) {
                asked.unsupported = Some((*name).to_owned());
            }
        }
        Ok(asked)
    }
}

/// Removes differences in spelling between clients.
fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '_'], "")
}

/// Whether a parameter is about encryption or trust, which changes if longwire encrypts in the
/// client's stead.
pub(super) fn is_about_security(name: &str) -> bool {
    let name = plain(name);
    name.starts_with("ssl")
        || matches!(
            name.as_str(),
            "channelbinding"
                | "gssencmode"
                | "usessl"
                | "tls"
                | "requiressl"
                | "verifyservercertificate"
                | "serversslcert"
        )
}

/// Parameters for safety features that longwire does not know.
fn is_unsupported(name: &str, value: &str, words: Words) -> bool {
    let name = plain(name);
    match name.as_str() {
        "gssencmode" => value == "require",
        // Obsolete in libpq.
        "sslcompression" | "requiressl" => false,
        "requireauth" | "requirepeer" => matches!(words, Words::Postgres | Words::PostgresJdbc),
        "tlsversion"
        | "tlsversions"
        | "tlsciphersuites"
        | "enabledtlsprotocols"
        | "enabledsslprotocolsuites"
        | "enabledsslciphersuites"
        | "serverpublickeypath"
        | "serverrsapublickeyfile"
        | "trustcertificatekeystoreurl"
        | "clientcertificatekeystoreurl"
        | "truststore"
        | "keystore"
        | "servercertificate" => words == Words::Mysql,
        _ => name.starts_with("ssl") && words != Words::Other,
    }
}

/// Whether JSON for node's `ssl` trusts any server.
fn is_lax(json: &str) -> bool {
    let json: String = json.chars().filter(|letter| !letter.is_whitespace()).collect();
    json.contains("\"rejectUnauthorized\":false")
}

fn one_of<T: Copy>(name: &str, value: &str, words: &[(&'static str, T)]) -> Result<T, TargetError> {
    let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(value));
    found
        .map(|(_, meant)| *meant)
        .ok_or_else(|| bad(name, value, "a word that libpq knows there"))
}

fn bad(name: &str, value: &str, expected: &'static str) -> TargetError {
    TargetError::BadParameter {
        name: name.to_owned(),
        value: value.to_owned(),
        expected,
    }
}

pub(super) fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on")
}

fn is_false(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "0" | "no" | "off")
}

/// libpq's variables and their parameters (PostgreSQL manual, section "Environment Variables").
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PGSSLMODE", "sslmode"),
    ("PGREQUIRESSL", "requiressl"),
    ("PGSSLNEGOTIATION", "sslnegotiation"),
    ("PGSSLROOTCERT", "sslrootcert"),
    ("PGSSLCERT", "sslcert"),
    ("PGSSLKEY", "sslkey"),
    ("PGCHANNELBINDING", "channel_binding"),
    ("PGSSLMINPROTOCOLVERSION", "ssl_min_protocol_version"),
    ("PGSSLMAXPROTOCOLVERSION", "ssl_max_protocol_version"),
    ("PGSSLSNI", "sslsni"),
    ("PGSSLCERTMODE", "sslcertmode"),
    ("PGSSLCRL", "sslcrl"),
    ("PGSSLCRLDIR", "sslcrldir"),
    ("PGGSSENCMODE", "gssencmode"),
    ("PGREQUIREAUTH", "require_auth"),
    ("PGREQUIREPEER", "requirepeer"),
];
