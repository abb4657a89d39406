//! `scheme://user:password@host:port/path?name=value&...`, kept in parts as written.

use super::security::is_about_security;
use super::{ClientTls, Scheme, TargetError};

/// The parts are still percent-encoded.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct UrlParts {
    pub(super) jdbc: bool,
    /// One of `jdbc:`, `r2dbc:`, `r2dbc:pool:`.
    prefix: &'static str,
    pub(super) scheme: String,
    userinfo: Option<String>,
    authority: String,
    /// Has its leading slash, or is empty.
    path: String,
    query: Option<String>,
}

/// Only parts that cannot hold a password.
impl std::fmt::Debug for UrlParts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("UrlParts")
            .field("scheme", &self.scheme)
            .field("authority", &self.authority)
            .finish_non_exhaustive()
    }
}

impl UrlParts {
    /// Accepts `jdbc:postgresql:database` (without slashes, on this machine) too.
    pub(super) fn split(text: &str) -> Result<Self, TargetError> {
        let stripped = PREFIXES
            .iter()
            .find_map(|prefix| Some((*prefix, text.strip_prefix(prefix)?)));
        let (prefix, text) = stripped.unwrap_or(("", text));
        let jdbc = prefix == "jdbc:";
        let (scheme, rest) = text.split_once(':').ok_or(TargetError::NotATarget)?;
        if scheme.is_empty()
            || !scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
        {
            return Err(TargetError::NotATarget);
        }
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None if jdbc => ("", rest),
            None => return Err(TargetError::NotATarget),
        };
        let path = if path.is_empty() || path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        let (userinfo, authority) = match authority.rsplit_once('@') {
            Some((userinfo, authority)) => (Some(userinfo.to_owned()), authority),
            None => (None, authority),
        };
        Ok(Self {
            jdbc,
            prefix,
            scheme: scheme.to_owned(),
            userinfo,
            authority: authority.to_owned(),
            path,
            query,
        })
    }

    pub(super) fn tcp(host: &str, port: u16) -> Self {
        Self {
            jdbc: false,
            prefix: "",
            scheme: Scheme::TCP.name().to_owned(),
            userinfo: None,
            authority: host_and_port(host, port),
            path: String::new(),
            query: None,
        }
    }

    /// The host may be empty, the port missing.
    pub(super) fn host_and_port(&self) -> Result<(String, Option<u16>), TargetError> {
        let text = self.authority.as_str();
        let (host, after) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, after)) => (host, after),
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let host = decode(host, "host")?;
        let host = single_host(&host)?.to_owned();
        match after.strip_prefix(':') {
            _ if after.contains(',') => Err(TargetError::SeveralHosts),
            Some("") => Ok((host, None)),
            Some(digits) => Ok((host, Some(port(digits)?))),
            None if after.is_empty() => Ok((host, None)),
            None => Err(TargetError::BadHost),
        }
    }

    pub(super) fn credentials(&self) -> Result<(Option<String>, Option<String>), TargetError> {
        let Some(userinfo) = &self.userinfo else {
            return Ok((None, None));
        };
        let (user, password) = match userinfo.split_once(':') {
            Some((user, password)) => (user, Some(decode(password, "password")?)),
            None => (userinfo.as_str(), None),
        };
        let user = decode(user, "user")?;
        Ok(((!user.is_empty()).then_some(user), password))
    }

    /// Without the first slash of the path.
    pub(super) fn database(&self) -> Result<Option<String>, TargetError> {
        let name = decode(self.path.strip_prefix('/').unwrap_or(""), "database")?;
        Ok((!name.is_empty()).then_some(name))
    }

    pub(super) fn parameters(&self) -> Result<Vec<(String, String)>, TargetError> {
        self.raw_parameters()
            .map(|raw| {
                let (name, value) = raw.split_once('=').unwrap_or((raw, ""));
                Ok((decode(name, "parameters")?, decode(value, "parameters")?))
            })
            .collect()
    }

    pub(super) fn through(&self, scheme: Scheme, endpoint: &str, tls: ClientTls) -> String {
        let mut parameters: Vec<String> = self
            .raw_parameters()
            .filter(|raw| !is_about_route(raw))
            .map(str::to_owned)
            .collect();
        if tls == ClientTls::LeftOut {
            self.leave_tls_out(scheme, &mut parameters);
        }
        let query = if parameters.is_empty() {
            String::new()
        } else {
            format!("?{}", parameters.join("&"))
        };
        let userinfo = self
            .userinfo
            .as_ref()
            .map(|text| format!("{text}@"))
            .unwrap_or_default();
        format!(
            "{}{}://{userinfo}{endpoint}{}{query}",
            self.prefix, self.scheme, self.path
        )
    }

    /// Disables TLS by the existing parameter, or by one that every client of the URL understands.
    fn leave_tls_out(&self, scheme: Scheme, parameters: &mut Vec<String>) {
        let mut said = None;
        parameters.retain(|raw| {
            let name = raw.split('=').next().unwrap_or(raw);
            let about = is_about_security(name);
            if name.to_ascii_lowercase().replace(['-', '_'], "") == "sslmode" {
                said.get_or_insert_with(|| name.to_owned());
            }
            !about
        });
        let known = scheme.no_tls_parameter(self.jdbc).map(str::to_owned);
        parameters.extend(match said {
            Some(name) => Some(format!("{name}={}", scheme.no_tls_word(self.jdbc))),
            None => known,
        });
    }

    /// Sets a parameter in place or at the end, or removes it.
    pub(super) fn with_parameter(&self, name: &str, value: Option<&str>) -> Self {
        let name = encode(name);
        let mut set = value.map(|value| format!("{name}={}", encode(value)));
        let mut parameters = Vec::new();
        for raw in self.raw_parameters() {
            if raw.split('=').next() == Some(name.as_str()) {
                parameters.extend(set.take());
            } else {
                parameters.push(raw.to_owned());
            }
        }
        parameters.extend(set);
        Self {
            query: (!parameters.is_empty()).then(|| parameters.join("&")),
            ..self.clone()
        }
    }

    fn raw_parameters(&self) -> impl Iterator<Item = &str> {
        self.query
            .iter()
            .flat_map(|query| query.split('&'))
            .filter(|raw| !raw.is_empty())
    }
}

/// Whether the relay must change it.
pub(super) fn is_about_route(parameter: &str) -> bool {
    let name = parameter
        .split('=')
        .next()
        .unwrap_or(parameter)
        .to_ascii_lowercase();
    let name = name.replace(['-', '_'], "");
    matches!(
        name.as_str(),
        "host" | "hostaddr" | "port" | "socket" | "unixsocket" | "localsocket"
    )
}

/// Prefixes that do not change the meaning of a URL.
const PREFIXES: [&str; 3] = ["jdbc:", "r2dbc:pool:", "r2dbc:"];

/// Refuses lists, but accepts the directory of a server's socket.
pub(super) fn single_host(host: &str) -> Result<&str, TargetError> {
    if host.contains(',') {
        Err(TargetError::SeveralHosts)
    } else if host.starts_with('/') {
        Ok(host)
    } else if host.starts_with('@') {
        Err(TargetError::AbstractSocket)
    } else if host.contains(|c: char| c.is_whitespace() || c.is_control() || "[]".contains(c)) {
        Err(TargetError::BadHost)
    } else {
        Ok(host)
    }
}

/// From 1 to 65535.
pub(super) fn port(text: &str) -> Result<u16, TargetError> {
    match text.parse() {
        Ok(port) if port != 0 => Ok(port),
        _ if text.contains(',') => Err(TargetError::SeveralHosts),
        _ => Err(TargetError::BadPort),
    }
}

pub(super) fn host_and_port(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// Escapes special characters of a query as `%41` (RFC 3986 section 2.1).
fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/,;@!*'()".contains(&byte);
    let pieces = text.bytes().map(|byte| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    pieces.collect()
}

/// Replaces `%41` by `A` (RFC 3986 section 2.1). `+` stays a plus, as in database URLs.
fn decode(text: &str, part: &'static str) -> Result<String, TargetError> {
    let error = || TargetError::BadPercent { part };
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, tail @ ..] = tail else {
            return Err(error());
        };
        let digit = |byte: &u8| char::from(*byte).to_digit(16).ok_or_else(error);
        bytes.push(u8::try_from(digit(high)? * 16 + digit(low)?).map_err(|_| error())?);
        rest = tail;
    }
    String::from_utf8(bytes).map_err(|_| error())
}
