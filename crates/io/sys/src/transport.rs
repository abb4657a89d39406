//! One side of a connection, plain or with longwire's own TLS.

use crate::socket::{Received, Sent, Socket};
use crate::tls::TlsSocket;

#[derive(Debug)]
pub enum Transport {
    Plain(Socket),
    Tls(Box<TlsSocket>),
}

impl Transport {
    /// For options, kernel figures and pollers.
    pub fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.socket(),
        }
    }

    pub fn into_socket(self) -> Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.into_socket(),
        }
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        match self {
            Self::Plain(socket) => socket.receive(buffer),
            Self::Tls(tls) => tls.receive(buffer),
        }
    }

    pub fn read_ahead(&mut self) {
        match self {
            Self::Plain(_) => {}
            Self::Tls(tls) => tls.read_ahead(),
        }
    }

    pub fn receive_bytes(&mut self, buffer: &mut [u8]) -> Received {
        match self {
            Self::Plain(socket) => socket.receive_bytes(buffer),
            Self::Tls(tls) => tls.receive_bytes(buffer),
        }
    }

    pub fn send(&mut self, bytes: &[u8]) -> Sent {
        match self {
            Self::Plain(socket) => socket.send(bytes),
            Self::Tls(tls) => tls.send(bytes),
        }
    }

    /// Returns false if the connection is broken.
    pub fn flush(&mut self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tls(tls) => !matches!(tls.flush(), Sent::Broken(_)),
        }
    }

    /// Returns false if it must be tried again once the peer has read more.
    pub fn finish(&mut self) -> bool {
        match self {
            Self::Plain(socket) => {
                socket.finish();
                true
            }
            Self::Tls(tls) => tls.finish(),
        }
    }

    pub fn has_unsent(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.has_unsent(),
        }
    }
}
