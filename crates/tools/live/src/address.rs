//! Parses addresses of the command line. PORT alone means loopback.

use anyhow::{Context, Result, bail};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use sys::{Target, target};

/// Parses `PORT` (loopback), `HOST:PORT`, or `HOST` if there is a `usual` port. A name may have
/// several addresses.
pub fn to_listen(text: &str, usual: Option<u16>) -> Result<Vec<SocketAddr>> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, port))]);
    }
    let found: Vec<_> = with_port(text, usual)?
        .to_socket_addrs()
        .with_context(|| format!("'{text}' is not an address to listen on"))?
        .collect();
    if found.is_empty() {
        bail!("'{text}' is not an address to listen on");
    }
    Ok(found)
}

/// Returns the first address of [`to_listen`].
pub fn one_to_listen(text: &str, usual: Option<u16>) -> Result<SocketAddr> {
    let found = to_listen(text, usual)?;
    found
        .first()
        .copied()
        .with_context(|| format!("'{text}' is not an address to listen on"))
}

/// Address to serve metrics or an API on. The port is required.
pub fn to_serve(text: &str) -> Result<SocketAddr> {
    one_to_listen(text, None)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedAddress {
    pub address: SocketAddr,
    pub host: String,
}

impl ServedAddress {
    /// Parses the same syntax as [`to_serve`].
    pub fn parse(text: &str) -> Result<Self> {
        let address = to_serve(text)?;
        let host = text.rsplit_once(':').map_or("", |(host, _)| host);
        let host = match host {
            "" => address.ip().to_string(),
            host => host.trim_start_matches('[').trim_end_matches(']').to_owned(),
        };
        Ok(Self { address, host })
    }
}

/// A host name or address without a port.
pub fn host_name(text: &str) -> Result<String> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let bare = bare.unwrap_or(text);
    let is_name = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'))
    };
    if bare.parse::<IpAddr>().is_err() && !is_name(bare) {
        bail!("'{text}' is not the name or address of a host: write it without a scheme and a port");
    }
    Ok(bare.to_owned())
}

/// A database as `HOST:PORT`, or a URL with a scheme that has a default port.
pub fn of_database(text: &str) -> Result<String> {
    if text.contains("://") || text.starts_with("jdbc:") {
        return Ok(Target::parse(text)?.server());
    }
    with_port(text, None)
}

/// Returns `HOST:PORT`, with the usual port appended to a plain `HOST`. IPv6 addresses may have
/// brackets.
pub fn with_port(text: &str, usual: Option<u16>) -> Result<String> {
    let example = target::with_port(text, 5432);
    match usual {
        Some(port) => Ok(target::with_port(text, port)),
        None if example == text => Ok(example),
        None => bail!("'{text}' has no port: write it as {example}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_needed_where_there_is_no_usual_one() {
        assert_eq!(with_port("::1", Some(7718)).unwrap(), "[::1]:7718");
        assert_eq!(with_port("[::1]:99", None).unwrap(), "[::1]:99");
        assert!(with_port("db1", None).is_err());
    }

    #[test]
    fn a_host_has_no_port_and_a_served_address_keeps_its_name() {
        for (text, host) in [
            ("toxi", "toxi"),
            ("db-1.example", "db-1.example"),
            ("[::1]", "::1"),
            ("::1", "::1"),
        ] {
            assert_eq!(host_name(text).unwrap(), host);
        }
        for wrong in ["", "toxi:80", "http://toxi", "a b", "*", "a/b"] {
            assert!(host_name(wrong).is_err(), "{wrong}");
        }
        for (text, host) in [
            ("8474", "127.0.0.1"),
            ("localhost:1", "localhost"),
            ("[::1]:1", "::1"),
        ] {
            assert_eq!(ServedAddress::parse(text).unwrap().host, host);
        }
    }

    #[test]
    fn a_database_may_be_a_url_and_its_password_is_left_behind() {
        for (text, server) in [
            ("127.0.0.1:5432", "127.0.0.1:5432"),
            ("postgres://shop:hunter2@db1/shop", "db1:5432"),
            ("mysql://db1:3307", "db1:3307"),
        ] {
            assert_eq!(of_database(text).unwrap(), server);
        }
        assert!(of_database("db1").is_err());
    }

    #[test]
    fn a_bare_port_is_one_of_loopback() {
        assert_eq!(
            to_listen("0", None).unwrap(),
            [SocketAddr::from(([127, 0, 0, 1], 0))]
        );
        assert_eq!(
            to_listen("0.0.0.0", Some(7718)).unwrap(),
            [SocketAddr::from(([0, 0, 0, 0], 7718))]
        );
        assert!(to_listen("no such place", Some(1)).is_err());
    }
}
