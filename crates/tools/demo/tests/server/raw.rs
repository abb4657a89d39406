//! The test's client, at the level of messages.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use pgwire::messages::response::MESSAGE_TYPE_BYTE_READY_FOR_QUERY;
use pgwire::messages::simplequery::MESSAGE_TYPE_BYTE_QUERY;

/// Sends given bytes, and keeps only the text of replies.
pub struct Raw(TcpStream);

impl Raw {
    pub fn log_in(address: SocketAddr) -> Raw {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream
            .write_all(b"\0\0\0\x13\0\x03\0\0user\0shop\0\0")
            .expect("room for the startup");
        let mut client = Raw(stream);
        client.reply();
        client
    }

    pub fn send(&mut self, tag: u8, body: &[u8]) {
        let length = u32::try_from(body.len() + 4)
            .expect("a short message")
            .to_be_bytes();
        self.0
            .write_all(&[&[tag], &length[..], body].concat())
            .expect("room for a message");
    }

    pub fn query(&mut self, sql: &str) -> String {
        self.send(MESSAGE_TYPE_BYTE_QUERY, &[sql.as_bytes(), b"\0"].concat());
        self.reply()
    }

    /// Text up to and including the next ReadyForQuery.
    pub fn reply(&mut self) -> String {
        self.messages()
            .into_iter()
            .map(|(_, body)| String::from_utf8_lossy(&body).into_owned())
            .collect()
    }

    /// Type and body of messages up to and including the next ReadyForQuery.
    pub fn messages(&mut self) -> Vec<(u8, Vec<u8>)> {
        let mut messages = Vec::new();
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).expect("a reply");
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]);
            let mut body = vec![0; length as usize - 4];
            self.0.read_exact(&mut body).expect("a whole reply");
            messages.push((head[0], body));
            if head[0] == MESSAGE_TYPE_BYTE_READY_FOR_QUERY {
                return messages;
            }
        }
    }

    /// Whether the server ends the connection, possibly after further messages.
    pub fn is_closed(&mut self) -> bool {
        self.0
            .set_read_timeout(Some(Duration::from_secs(5)))
            .expect("an open socket");
        match self.0.read_to_end(&mut Vec::new()) {
            Ok(_) => true,
            Err(failure) => failure.kind() == ErrorKind::ConnectionReset,
        }
    }
}
