//! A HEAD request on a persistent HTTP connection.

use super::{Probe, reachable};
use crate::ping::plain::{Answer, Complete, Plain, ProbeContext};
use crate::ping::{Opened, PingError};
use std::net::SocketAddr;
use std::time::Duration;

/// Server time comes from the `Server-Timing` header. If the server closes connections, the next
/// one is opened before the request and not timed.
pub(super) struct Http<'a> {
    context: ProbeContext<'a>,
    address: Option<SocketAddr>,
    connection: Option<Plain<'a>>,
    request: Vec<u8>,
}

impl<'a> Http<'a> {
    pub(super) fn new(context: ProbeContext<'a>) -> Self {
        let target = context.target;
        let request = format!(
            "HEAD /{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: longwire\r\nAccept: */*\r\n\r\n",
            target.database.as_deref().unwrap_or_default(),
            target.server(),
        );
        Self {
            context,
            address: None,
            connection: None,
            request: request.into_bytes(),
        }
    }

    fn connection(&mut self) -> Result<Plain<'a>, PingError> {
        match self.connection.take().filter(|connection| !connection.is_stale()) {
            Some(connection) => Ok(connection),
            None => Plain::connect(self.context, self.address.ok_or(PingError::Closed)?),
        }
    }
}

impl Probe for Http<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let address = reachable(self.context)?;
        self.address = Some(address);
        let connection = Plain::connect(self.context, address)?;
        let handshake = connection.handshake();
        self.connection = Some(connection);
        Ok(Opened {
            server: Some(address),
            question: format!(
                "HEAD /{}",
                self.context.target.database.as_deref().unwrap_or_default()
            ),
            legs: vec![super::tcp_leg(handshake)],
            ..Opened::default()
        })
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let mut connection = self.connection()?;
        let at = connection.send(&self.request)?;
        let arrived = connection.receive(whole)?;
        let head = Head::parse(&arrived.bytes);
        let answer = Answer {
            server: head.server_time,
            error: head
                .failed
                .then(|| "server: an HTTP status of 500 or more".to_owned()),
            ..connection.answer(at, self.request.len(), &arrived)
        };
        self.connection = head.keeps.then_some(connection);
        Ok(answer)
    }

    fn close(&mut self) {
        self.connection = None;
    }
}

/// A reply to HEAD ends with its head (RFC 9110, section 9.3.2).
fn whole(bytes: &[u8]) -> Complete {
    let start = b"HTTP/";
    if !bytes.starts_with(start.get(..bytes.len().min(start.len())).unwrap_or_default()) {
        Complete::Never("HTTP")
    } else if bytes.ends_with(b"\r\n\r\n") {
        Complete::Yes
    } else {
        Complete::NotYet
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    failed: bool,
    keeps: bool,
    server_time: Option<Duration>,
}

impl Head {
    fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.lines();
        let status = lines.next().unwrap_or_default();
        let mut head = Self {
            failed: status.split(' ').nth(1).is_some_and(|code| code.starts_with('5')),
            keeps: !status.starts_with("HTTP/1.0"),
            server_time: None,
        };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("connection") {
                head.keeps = match value.trim().to_ascii_lowercase().as_str() {
                    "close" => false,
                    "keep-alive" => true,
                    _ => head.keeps,
                };
            } else if name.eq_ignore_ascii_case("server-timing") {
                head.server_time = server_timing(value).max(head.server_time);
            }
        }
        head
    }
}

/// Parses `db;dur=53, app;dur=47.2` (milliseconds): returns the metric `total`, else the longest,
/// since metrics may contain each other. See W3C Server Timing.
fn server_timing(value: &str) -> Option<Duration> {
    let metrics = value.split(',').filter_map(|metric| {
        let mut parts = metric.split(';').map(str::trim);
        let name = parts.next()?;
        let milliseconds: f64 = parts
            .find_map(|part| part.strip_prefix("dur="))?
            .trim_matches('"')
            .parse()
            .ok()?;
        let span = Duration::try_from_secs_f64(milliseconds / 1000.0).ok()?;
        Some((name.eq_ignore_ascii_case("total"), span))
    });
    metrics.max().map(|(_, span)| span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_time_is_the_total_or_the_longest_metric() {
        let told = |value| server_timing(value).map(|span| span.as_micros());
        assert_eq!(told("db;dur=53, app;desc=\"all\";dur=47.2"), Some(53_000));
        assert_eq!(told("db;dur=53, total;dur=12.5"), Some(12_500));
        assert_eq!(told("miss, cache;desc=\"x\""), None);
        assert_eq!(told("a;dur=-1, b;dur=nan, c;dur=1e400"), None);
    }

    #[test]
    fn a_head_tells_whether_the_connection_is_kept() {
        let head = |text: &str| Head::parse(text.as_bytes());
        assert!(head("HTTP/1.1 200 OK\r\nServer: x\r\n\r\n").keeps);
        assert!(!head("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n").keeps);
        assert!(!head("HTTP/1.0 200 OK\r\n\r\n").keeps);
        assert!(head("HTTP/1.1 503 Busy\r\n\r\n").failed);
        assert_eq!(
            head("HTTP/1.1 200 OK\r\nserver-timing: total;dur=2\r\n\r\n").server_time,
            Some(Duration::from_millis(2))
        );
    }

    #[test]
    fn what_is_not_http_is_refused_at_its_first_bytes() {
        assert_eq!(whole(b"HT"), Complete::NotYet);
        assert_eq!(whole(b"SSH-2.0"), Complete::Never("HTTP"));
        assert_eq!(whole(b"HTTP/1.1 200 OK\r\n\r\n"), Complete::Yes);
    }
}
