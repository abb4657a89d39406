//! Refuses web pages in a local browser.
//!
//! A page can resolve its own name to this machine (DNS rebinding): the browser then sends that
//! name as Host. Cross-site requests have an Origin, which toxiproxy clients never send.

use std::net::{IpAddr, SocketAddr};
use sys::http::HttpRequest;

/// Host names of the API, besides its address, loopback addresses and `localhost`.
#[derive(Debug, Clone, Default)]
pub struct ApiAccess {
    /// Names and addresses without ports.
    pub hosts: Vec<String>,
}

impl ApiAccess {
    /// Accepts or refuses a request to an API configured for `address`; an error has status and
    /// reason.
    pub(super) fn check(&self, request: &HttpRequest, address: SocketAddr) -> Result<(), (u16, String)> {
        if let Some(origin) = request.field("origin") {
            return Err((
                403,
                format!(
                    "requests of web pages are refused, and this one has the Origin {}",
                    shown(origin)
                ),
            ));
        }
        let mut hosts = request.values("host");
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err((400, "a request needs one Host".to_owned()));
        };
        let own = [Some(address), request.local_address];
        if self.knows(host, own.into_iter().flatten().map(|address| address.ip())) {
            return Ok(());
        }
        Err((
            403,
            format!(
                "the Host {} is not a name of this API: it takes localhost, loopback addresses, its own address, and names given with --api-host",
                shown(host)
            ),
        ))
    }

    fn knows(&self, host: &str, mut own: impl Iterator<Item = IpAddr>) -> bool {
        let Some(name) = without_port(host) else {
            return false;
        };
        match name.parse::<IpAddr>() {
            Ok(ip) => {
                let ip = ip.to_canonical();
                ip.is_loopback()
                    || own.any(|own| own.to_canonical() == ip)
                    || self.hosts.iter().any(|known| known.parse() == Ok(ip))
            }
            Err(_) => {
                let same = |known: &str| {
                    known
                        .trim_end_matches('.')
                        .eq_ignore_ascii_case(name.trim_end_matches('.'))
                };
                same("localhost") || self.hosts.iter().any(|known| same(known))
            }
        }
    }
}

/// The name or address of `host[:port]`, without brackets; `None` if it is neither.
fn without_port(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => match host.find(':') {
            Some(colon) => host.split_at(colon),
            None => (host, ""),
        },
    };
    let port = match port {
        "" => Some(""),
        port => port.strip_prefix(':'),
    }?;
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    (is_port && !name.is_empty()).then_some(name)
}

/// Shortened to the maximum length of a name.
fn shown(text: &str) -> String {
    format!("'{}'", text.chars().take(MAX_SHOWN_LEN).collect::<String>())
}

const MAX_SHOWN_LEN: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    fn status(fields: &[(&str, &str)], address: &str) -> u16 {
        let access = ApiAccess {
            hosts: vec!["Toxi.example".to_owned(), "192.0.2.7".to_owned()],
        };
        let fields = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let request = HttpRequest {
            fields: fields.collect(),
            local_address: "10.0.0.9:8474".parse().ok(),
            ..HttpRequest::default()
        };
        match access.check(&request, address.parse().expect("an address")) {
            Ok(()) => 200,
            Err((status, _)) => status,
        }
    }

    #[test]
    fn the_host_is_loopback_localhost_the_address_or_a_name_that_was_given() {
        for host in [
            "127.0.0.1:8474",
            "127.3.2.1",
            "[::1]:8474",
            "[::ffff:127.0.0.1]",
            "localhost",
            "LOCALHOST:1",
            "localhost.:8474",
            "10.0.0.9:8474",
            "0.0.0.0:8474",
            "toxi.example:80",
            "toxi.EXAMPLE.",
            "192.0.2.7",
        ] {
            assert_eq!(status(&[("host", host)], "0.0.0.0:8474"), 200, "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "evil.example:8474",
            "localhost:8474@evil.example",
            "user@localhost",
            "[::1]evil",
            "[::1",
            "::1",
            "192.0.2.8",
            "localhost:http",
            "",
        ] {
            assert_eq!(status(&[("host", host)], "0.0.0.0:8474"), 403, "{host}");
        }
        assert_eq!(status(&[("host", "0.0.0.0")], "127.0.0.1:8474"), 403);
        assert_eq!(status(&[("host", "10.0.0.8")], "10.0.0.8:8474"), 200);
    }

    #[test]
    fn a_request_without_a_host_or_with_two_is_refused_and_so_is_any_origin() {
        assert_eq!(status(&[], "127.0.0.1:1"), 400);
        assert_eq!(
            status(&[("host", "localhost"), ("host", "localhost")], "127.0.0.1:1"),
            400
        );
        for origin in ["https://evil.example", "null", "http://localhost:8474", ""] {
            let fields = [("host", "localhost"), ("origin", origin)];
            assert_eq!(status(&fields, "127.0.0.1:1"), 403, "{origin}");
        }
    }
}
