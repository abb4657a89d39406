//! A side of a connection: a plain socket, or one on which longwire itself speaks TLS.

use crate::socket::{Received, Sent, Socket};
use crate::tls::TlsSocket;

/// One side of a connection.
#[derive(Debug)]
pub enum Transport {
    /// As it is.
    Plain(Socket),
    /// Inside TLS.
    Tls(Box<TlsSocket>),
}

impl Transport {
    /// The socket, for what concerns the kernel: options, figures, the poller.
    pub fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.socket(),
        }
    }

    /// The socket; a TLS session on it is lost.
    pub fn into_socket(self) -> Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.into_socket(),
        }
    }

    /// As [`Socket::receive`].
    pub fn receive(&mut self, buffer: &mut [u8]) -> Received {
        match self {
            Self::Plain(socket) => socket.receive(buffer),
            Self::Tls(tls) => tls.receive(buffer),
        }
    }

    /// From now on reads much at once, where it decrypts.
    pub fn read_ahead(&mut self) {
        match self {
            Self::Plain(_) => {}
            Self::Tls(tls) => tls.read_ahead(),
        }
    }

    /// As [`Socket::receive_bytes`].
    pub fn receive_bytes(&mut self, buffer: &mut [u8]) -> Received {
        match self {
            Self::Plain(socket) => socket.receive_bytes(buffer),
            Self::Tls(tls) => tls.receive_bytes(buffer),
        }
    }

    /// As [`Socket::send`].
    pub fn send(&mut self, bytes: &[u8]) -> Sent {
        match self {
            Self::Plain(socket) => socket.send(bytes),
            Self::Tls(tls) => tls.send(bytes),
        }
    }

    /// Whether what it has taken could be handed to the kernel as far as that takes it; false when it is
    /// broken.
    pub fn flush(&mut self) -> bool {
        match self {
            Self::Plain(_) => true,
            Self::Tls(tls) => !matches!(tls.flush(), Sent::Broken(_)),
        }
    }

    /// Informs the peer that no more will come; false when that must be tried again once the peer has read
    /// more.
    pub fn finish(&mut self) -> bool {
        match self {
            Self::Plain(socket) => {
                socket.finish();
                true
            }
            Self::Tls(tls) => tls.finish(),
        }
    }

    /// Whether it has taken bytes that wait for the kernel.
    pub fn has_unsent(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.has_unsent(),
        }
    }
}
