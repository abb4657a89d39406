//! HTTP load: GET requests of one URL.

use super::conversation::Conversation;
use super::{Birth, Client, Deadline, LoadError, Workload};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use wire::http::HttpDecoder;

/// GET requests of one URL. A reply counts when its status is 200 to 299 and its body is complete; redirects are not
/// followed, bodies are counted to their end and forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpLoad {
    server: String,
    address: SocketAddr,
    request: Vec<u8>,
    keep_alive: bool,
}

impl HttpLoad {
    /// Requests of `url` (`http://host:port/path?query`), whose host is at `address`. With `keep_alive` a client's
    /// requests share one connection, and a duration is that of a request; without it each has its own, and
    /// connecting is part of it.
    ///
    /// # Errors
    /// [`LoadError::NotHttp`].
    pub fn new(url: &str, address: SocketAddr, keep_alive: bool) -> Result<Self, LoadError> {
        let rest = url.strip_prefix("http://").ok_or(LoadError::NotHttp)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let cut = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(cut);
        let server = authority.rsplit('@').next().unwrap_or_default().to_owned();
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        if path.contains(|letter: char| letter.is_ascii_whitespace() || letter.is_control()) {
            return Err(LoadError::NotHttp);
        }
        let connection = if keep_alive { "keep-alive" } else { "close" };
        // A default port is not part of the name (RFC 9110 section 4.2.3).
        let host = server.strip_suffix(":80").unwrap_or(&server);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: longwire/{}\r\nAccept: */*\r\n\
             Connection: {connection}\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        Ok(Self {
            server,
            address,
            request: request.into_bytes(),
            keep_alive,
        })
    }
}

impl Workload for HttpLoad {
    fn client<'a>(&'a self, birth: &Birth<'a>) -> Result<Box<dyn Client + 'a>, LoadError> {
        let mut client = HttpClient {
            load: self,
            birth: *birth,
            connection: None,
        };
        if self.keep_alive {
            client.connection = Some(client.connect()?);
        }
        Ok(Box::new(client))
    }
}

struct HttpClient<'a> {
    load: &'a HttpLoad,
    birth: Birth<'a>,
    connection: Option<Conversation<'a>>,
}

impl<'a> HttpClient<'a> {
    fn connect(&self) -> Result<Conversation<'a>, LoadError> {
        let decoder = Box::new(HttpDecoder::new());
        Conversation::open(&self.load.server, self.load.address, decoder, &self.birth)
    }
}

impl Client for HttpClient<'_> {
    fn operate(&mut self) -> Result<Duration, LoadError> {
        let deadline = Deadline::after(self.birth.timeout);
        let started = Instant::now();
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        connection.send(&self.load.request, &deadline)?;
        let reply = connection.reply(&deadline)?;
        let took = connection.last_read().saturating_duration_since(started);
        match reply.status {
            Some(200..=299) => {}
            Some(status) => return Err(LoadError::Status { status }),
            None => return Err(LoadError::Closed),
        }
        if self.load.keep_alive {
            self.connection = Some(connection);
        }
        Ok(took)
    }
}
