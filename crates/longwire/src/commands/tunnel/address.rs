//! Addresses of a tunnel's ends, as they are written on the command line.

use anyhow::{Context, Result, bail};
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use sys::{Target, target};

/// Where a far end listens unless another port is given.
pub(super) const FAR_PORT: u16 = 7718;

/// Where to listen: `PORT` of loopback, `HOST:PORT`, or `HOST` where there is a `usual` port. A name may have several addresses.
pub(super) fn to_listen(text: &str, usual: Option<u16>) -> Result<Vec<SocketAddr>> {
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

/// The database behind a far end: `HOST:PORT`, or a URL whose scheme has a usual port.
pub(super) fn of_database(text: &str) -> Result<String> {
    if text.contains("://") || text.starts_with("jdbc:") {
        return Ok(Target::parse(text)?.server());
    }
    with_port(text, None)
}

/// `HOST:PORT` of `HOST:PORT` or, with a usual port, of `HOST`; IPv6 addresses with brackets or without.
pub(super) fn with_port(text: &str, usual: Option<u16>) -> Result<String> {
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
        assert_eq!(with_port("::1", Some(FAR_PORT)).unwrap(), "[::1]:7718");
        assert_eq!(with_port("[::1]:99", None).unwrap(), "[::1]:99");
        assert!(with_port("db1", None).is_err());
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
            to_listen("0.0.0.0", Some(FAR_PORT)).unwrap(),
            [SocketAddr::from(([0, 0, 0, 0], FAR_PORT))]
        );
        assert!(to_listen("no such place", Some(1)).is_err());
    }
}
