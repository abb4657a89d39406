//! The instrument's floor is the same kind of exchange with a local echo.
//!
//! A sleeping processor takes 50 to 300 us to reach full speed again (measured on virtual
//! machines). So the echo runs over loopback at the target's pace, with the same number of bytes,
//! read the same way.

use super::plain::{Complete, Plain, ProbeContext};
use super::probes::Kind;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use sys::signals::block_all_signals;

pub(super) struct Echo<'a> {
    kind: Kind,
    context: ProbeContext<'a>,
    address: SocketAddr,
    connection: Plain<'a>,
    request: Vec<u8>,
    reply: usize,
}

impl<'a> Echo<'a> {
    /// Starts an echo that answers `request` bytes with `reply` bytes. `None` if the system
    /// provides no socket or thread: then no floor is reported.
    pub(super) fn start(kind: Kind, context: ProbeContext<'a>, request: u64, reply: u64) -> Option<Self> {
        let request = usize::try_from(request).ok()?.clamp(1, MAX_REPLY_LEN);
        let reply = usize::try_from(reply).ok()?.clamp(1, MAX_REPLY_LEN);
        let listener = sys::listening::on_loopback().ok()?;
        let address = listener.local_addr().ok()?;
        let thread = std::thread::Builder::new().name("longwire echo".to_owned());
        // It ends with the last connection, or with the first that it cannot accept.
        thread
            .spawn(move || {
                block_all_signals();
                while let Ok((stream, _)) = listener.accept() {
                    if !answer(stream, request, reply) {
                        return;
                    }
                }
            })
            .ok()?;
        let connection = Plain::connect(context, address).ok()?;
        Some(Self {
            kind,
            context,
            address,
            connection,
            request: vec![GO_ON; request],
            reply,
        })
    }

    pub(super) fn measure_round_trip(&mut self) -> Option<Duration> {
        if self.kind == Kind::Connecting {
            self.connection = Plain::connect(self.context, self.address).ok()?;
            return Some(self.connection.handshake());
        }
        let at = self.connection.send(&self.request).ok()?;
        let whole = |bytes: &[u8]| match bytes.len() >= self.reply {
            true => Complete::Yes,
            false => Complete::NotYet,
        };
        let arrived = self.connection.receive(whole).ok()?;
        Some(arrived.at.since(at))
    }
}

impl Drop for Echo<'_> {
    fn drop(&mut self) {
        // Its thread waits for bytes or for a connection: both must end it.
        self.request.fill(END);
        if self.connection.send(&self.request).is_err() {
            TcpStream::connect(self.address)
                .and_then(|mut stream| stream.write_all(&self.request))
                .ok();
        }
    }
}

/// Answers until the connection ends; returns false if no other follows.
fn answer(mut stream: TcpStream, request: usize, reply: usize) -> bool {
    stream.set_nodelay(true).ok();
    let mut asked = vec![0; request];
    let answer = vec![GO_ON; reply];
    while stream.read_exact(&mut asked).is_ok() {
        if asked.first() == Some(&END) {
            return false;
        }
        if stream.write_all(&answer).is_err() {
            break;
        }
    }
    true
}

const GO_ON: u8 = 1;
const END: u8 = 0;
const MAX_REPLY_LEN: usize = 64 * 1024;
