//! HTTP load sends GET requests of one URL.

use super::engine::machine::{Afterwards, Kind, Machine, Next, Opened, Site, session_options};
use super::engine::{RunContext, multiplexed};
use super::{ClientSpec, Error, Outcome, Workload};
use client::Watch;
use client::session::{Session, SessionOptions};
use model::{ConnectionId, Content, Direction, Message, Role, Timestamp};
use std::net::SocketAddr;
use sys::target::Target;
use wire::Decoder;
use wire::http::HttpDecoder;

/// A reply with status 200 to 299 and a complete body counts as success. Redirects are not
/// followed; bodies are counted and discarded.
///
/// If the server closes a kept connection between requests, the request is repeated on a new one.
/// That is part of its duration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpLoad {
    target: Target,
    server: String,
    address: SocketAddr,
    request: Vec<u8>,
    keep_alive: bool,
}

impl HttpLoad {
    /// Requests of `url` (`http://host:port/path?query`), with the host at `address`. With
    /// `keep_alive` a client's requests share one connection, and only the request is timed.
    /// Otherwise each has a new connection, which is timed too.
    ///
    /// # Errors
    /// Fails only with [`Error::NotHttp`].
    pub fn new(url: &str, address: SocketAddr, keep_alive: bool) -> Result<Self, Error> {
        let rest = url.strip_prefix("http://").ok_or(Error::NotHttp)?;
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
            return Err(Error::NotHttp);
        }
        let target = Target::parse(&format!("http://{server}")).map_err(|_| Error::NotHttp)?;
        let connection = if keep_alive { "keep-alive" } else { "close" };
        // A default port is not part of the name (RFC 9110 section 4.2.3).
        let host = server.strip_suffix(":80").unwrap_or(&server);
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: longwire/{}\r\nAccept: */*\r\n\
             Connection: {connection}\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        );
        Ok(Self {
            target,
            server,
            address,
            request: request.into_bytes(),
            keep_alive,
        })
    }
}

impl Workload for HttpLoad {}

impl super::Runs for HttpLoad {
    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, Error> {
        multiplexed::run(self, context)
    }
}

impl Kind for HttpLoad {
    type Machine<'k> = HttpMachine<'k>;

    fn machine<'k>(&'k self, _: &ClientSpec<'_>) -> HttpMachine<'k> {
        HttpMachine {
            load: self,
            decoder: HttpDecoder::new(),
            reply: Reply::default(),
        }
    }

    fn open(
        &self,
        client_spec: &ClientSpec<'_>,
        watch: Option<&Watch<'_>>,
        id: &dyn Fn() -> ConnectionId,
    ) -> Result<Option<Opened>, Error> {
        if !self.keep_alive {
            return Ok(None);
        }
        let options = SessionOptions {
            address: Some(self.address),
            ..session_options(client_spec, watch, id)
        };
        let session = Session::open(&self.target, options)?;
        Ok(Some(Opened::new(session, watch)))
    }

    fn site(&self) -> Option<Site<'_>> {
        Some(Site {
            address: self.address,
            server: &self.server,
        })
    }

    fn scripts(&self) -> usize {
        1
    }

    fn farewell(&self) -> &'static [u8] {
        &[]
    }
}

pub(super) struct HttpMachine<'k> {
    load: &'k HttpLoad,
    decoder: HttpDecoder,
    reply: Reply,
}

#[derive(Debug, Default)]
struct Reply {
    status: Option<u16>,
    begun: bool,
    complete: bool,
}

impl Reply {
    fn message(&mut self, message: &Message<'_>) {
        if let Content::HttpResponse { status } = message.content {
            self.status = Some(status);
        }
        self.complete |= message.role == Role::Reply;
    }

    fn next(&self) -> Result<Next, Error> {
        match (self.complete, self.status) {
            (false, _) => Ok(Next::Wait),
            (true, Some(200..=299)) => Ok(Next::Done),
            (true, Some(status)) => Err(Error::Status { status }),
            (true, None) => Err(Error::Closed),
        }
    }
}

impl Machine for HttpMachine<'_> {
    fn connected(&mut self, _: Option<Box<dyn Decoder + Send>>) {
        self.decoder = HttpDecoder::new();
    }

    fn begin(&mut self, request: &mut Vec<u8>) -> Result<Next, Error> {
        self.reply = Reply::default();
        request.extend_from_slice(&self.load.request);
        Ok(Next::Send)
    }

    fn sending(&mut self, request: &mut Vec<u8>) -> Result<(), Error> {
        let to_server = Direction::ClientToServer;
        self.decoder
            .feed(Timestamp::default(), to_server, request, &mut |_| {})?;
        Ok(())
    }

    fn wake(&mut self, _: &mut Vec<u8>) -> Result<Next, Error> {
        Ok(Next::Wait)
    }

    fn process_bytes(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Result<Next, Error> {
        let reply = &mut self.reply;
        reply.begun = true;
        self.decoder.feed(
            Timestamp::default(),
            Direction::ServerToClient,
            bytes,
            &mut |message| reply.message(message),
        )?;
        self.reply.next()
    }

    fn ended(&mut self) -> Result<Next, Error> {
        if !self.reply.begun {
            return Ok(Next::AskAgain);
        }
        let reply = &mut self.reply;
        self.decoder.finish(&mut |message| reply.message(message));
        match self.reply.next() {
            Ok(Next::Wait) => Err(Error::Closed),
            next => next,
        }
    }

    fn script(&self) -> usize {
        0
    }

    fn afterwards(&self) -> Afterwards {
        if self.load.keep_alive {
            Afterwards::Kept
        } else {
            Afterwards::Ends
        }
    }
}
