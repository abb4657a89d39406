//! Messages of a peer, cut and named by the rules of their protocol.

use super::{Encrypt, mysql, postgres, tds, tns};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

pub trait ByteStream: Read + Write + Send {}

impl<S: Read + Write + Send> ByteStream for S {}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub name: &'static str,
    pub bytes: Vec<u8>,
}

impl Message {
    pub(super) const fn new(name: &'static str, bytes: Vec<u8>) -> Self {
        Self { name, bytes }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Protocol {
    Postgres,
    Mysql,
    Tds,
    Tns,
    Any,
}

impl Protocol {
    pub(super) fn names(self) -> Vec<&'static str> {
        match self {
            Self::Postgres => postgres::names(),
            Self::Mysql => mysql::names(),
            Self::Tds => tds::names(),
            Self::Tns => tns::names(),
            Self::Any => vec!["bytes"],
        }
    }
}

pub(super) struct Connection {
    protocol: Protocol,
    socket: TcpStream,
    stream: Option<Box<dyn ByteStream>>,
    pub(super) received: Vec<Message>,
}

impl Connection {
    pub(super) fn new(protocol: Protocol, socket: TcpStream) -> Self {
        socket.set_nodelay(true).expect("a TCP socket");
        socket.set_read_timeout(Some(TIMEOUT)).expect("a timeout");
        let stream = socket.try_clone().expect("descriptors are left");
        Self {
            protocol,
            socket,
            stream: Some(Box::new(stream)),
            received: Vec::new(),
        }
    }

    /// The name of the next message; `None` at the end of the connection.
    pub(super) fn receive(&mut self) -> io::Result<Option<&'static str>> {
        let stream = self.stream.as_mut().expect("a stream");
        let message = match self.protocol {
            Protocol::Postgres => postgres::receive(stream, &self.received)?,
            Protocol::Mysql => mysql::receive(stream, &self.received)?,
            Protocol::Tds => tds::receive(stream)?,
            Protocol::Tns => tns::receive(stream)?,
            Protocol::Any => some_bytes(stream)?,
        };
        let name = message.as_ref().map(|message| message.name);
        self.received.extend(message);
        Ok(name)
    }

    pub(super) fn send(&mut self, message: &Message) -> io::Result<()> {
        let stream = self.stream.as_mut().expect("a stream");
        stream.write_all(&message.bytes)?;
        stream.flush()
    }

    pub(super) fn encrypt(&mut self, encrypt: &Encrypt) {
        self.stream = self.stream.take().map(encrypt);
    }

    /// All that was received. Reading to the end keeps the kernel from a reset, which could overtake
    /// what was sent.
    pub(super) fn close(mut self) -> Vec<Message> {
        // The peer may have ended it already.
        self.socket.shutdown(Shutdown::Write).ok();
        let mut rest = Vec::new();
        if let Some(stream) = &mut self.stream {
            stream.read_to_end(&mut rest).ok();
        }
        if !rest.is_empty() {
            self.received.push(Message::new("rest", rest));
        }
        self.received
    }
}

/// The first bytes of a message; `None` at the end of the connection.
pub(super) fn read_head<const N: usize>(stream: &mut dyn Read) -> io::Result<Option<[u8; N]>> {
    let mut head = [0; N];
    let (first, rest) = head.split_at_mut(1);
    if stream.read(first)? == 0 {
        return Ok(None);
    }
    stream.read_exact(rest)?;
    Ok(Some(head))
}

/// A message of `length` bytes that begins with `head`.
pub(super) fn read_rest(stream: &mut dyn Read, head: &[u8], length: usize) -> io::Result<Vec<u8>> {
    if length < head.len() || length > MAX_MESSAGE_BYTES {
        return Err(io::Error::other(format!("a message of {length} bytes")));
    }
    let mut bytes = head.to_vec();
    bytes.resize(length, 0);
    stream.read_exact(bytes.get_mut(head.len()..).unwrap_or_default())?;
    Ok(bytes)
}

fn some_bytes(stream: &mut dyn Read) -> io::Result<Option<Message>> {
    let mut bytes = vec![0; 4096];
    let count = stream.read(&mut bytes)?;
    bytes.truncate(count);
    Ok((count > 0).then(|| Message::new("bytes", bytes)))
}

const TIMEOUT: Duration = Duration::from_secs(20);
const MAX_MESSAGE_BYTES: usize = 16 << 20;
