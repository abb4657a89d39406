//! Sends and receives messages of a known size, large ones in parts.

use super::Spin;
use super::error::Ending;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use sys::error::OsError;
use sys::spin::AdaptiveSpin;

/// Random bytes to send, so that nothing on the path compresses them, and a receive buffer.
/// Received bytes are not inspected.
#[derive(Debug)]
pub(super) struct Filler {
    out: Box<[u8]>,
    into: Box<[u8]>,
}

impl Filler {
    /// Larger messages than `largest` bytes are sent in parts.
    pub(super) fn new(largest: u32) -> Self {
        let size = usize::try_from(largest).unwrap_or(PART).clamp(1, PART);
        let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
        let random = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        });
        Self {
            out: random.take(size).collect(),
            into: vec![0; size].into_boxed_slice(),
        }
    }

    pub(super) fn out(&self) -> &[u8] {
        &self.out
    }

    pub(super) fn into(&mut self) -> &mut [u8] {
        &mut self.into
    }
}

/// Bounds the memory of a thread for all message sizes.
const PART: usize = 256 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    Whole,
    Part,
}

/// Sends messages of `outgoing` bytes and receives messages of `incoming` bytes, alternating.
#[derive(Debug)]
pub(super) struct Stream {
    socket: Arc<TcpStream>,
    outgoing: u32,
    incoming: u32,
    to_send: u32,
    to_receive: u32,
    /// `None` if the socket is not polled before a blocking read.
    spin: Option<AdaptiveSpin>,
    polled: bool,
}

impl Stream {
    pub(super) fn new(socket: Arc<TcpStream>, outgoing: u32, incoming: u32) -> Self {
        Self {
            socket,
            outgoing,
            incoming,
            to_send: 0,
            to_receive: incoming,
            spin: None,
            polled: false,
        }
    }

    /// Only for a thread without other streams.
    pub(super) fn waiting(mut self, spin: Spin) -> io::Result<Self> {
        match spin {
            Spin::Never => {}
            Spin::WhilePaying => self.spin = Some(AdaptiveSpin::default()),
            Spin::Always => self.socket.set_nonblocking(true)?,
        }
        Ok(self)
    }

    pub(super) const fn was_polled(&self) -> bool {
        self.polled
    }

    pub(super) fn is_sending(&self) -> bool {
        self.to_send > 0
    }

    pub(super) fn begin(&mut self, filler: &Filler) -> Result<Came, Ending> {
        self.to_send = self.outgoing;
        self.send_on(filler)
    }

    /// Sends the rest of the current message; all of it on a blocking socket.
    pub(super) fn send_on(&mut self, filler: &Filler) -> Result<Came, Ending> {
        while self.to_send > 0 {
            match (&*self.socket).write(part(filler.out(), self.to_send)) {
                Ok(count) => self.to_send -= u32::try_from(count).unwrap_or(self.to_send),
                Err(error) if passing(&error) => return Ok(Came::Part),
                Err(error) => return Err(Ending::Broken(OsError::from_io_error(&error))),
            }
        }
        Ok(Came::Whole)
    }

    /// Receives available bytes of the expected message, then expects the next one. A blocking
    /// socket waits for bytes.
    pub(super) fn receive(&mut self, filler: &mut Filler) -> Result<Came, Ending> {
        loop {
            let room = filler.into();
            let size = room
                .len()
                .min(usize::try_from(self.to_receive).unwrap_or(room.len()));
            let room = room.get_mut(..size).unwrap_or_default();
            let spin = self.spin.as_mut();
            let polled = spin.and_then(|spin| spin.receive_bytes(self.socket.as_fd(), room));
            self.polled = polled.is_some();
            match polled.unwrap_or_else(|| (&*self.socket).read(room)) {
                Ok(0) => return Err(Ending::Finished),
                Ok(count) => self.to_receive -= u32::try_from(count).unwrap_or(self.to_receive),
                Err(error) if passing(&error) => return Ok(Came::Part),
                Err(error) => return Err(Ending::Broken(OsError::from_io_error(&error))),
            }
            if self.to_receive == 0 {
                self.to_receive = self.incoming;
                return Ok(Came::Whole);
            }
        }
    }

    /// A blocking socket sleeps, perhaps after polling, and others poll.
    pub(super) fn send_whole(&mut self, filler: &Filler) -> Result<(), Ending> {
        let mut came = self.begin(filler)?;
        while came == Came::Part {
            std::hint::spin_loop();
            came = self.send_on(filler)?;
        }
        Ok(())
    }

    pub(super) fn receive_whole(&mut self, filler: &mut Filler) -> Result<(), Ending> {
        while self.receive(filler)? == Came::Part {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

fn part(bytes: &[u8], left: u32) -> &[u8] {
    let size = bytes.len().min(usize::try_from(left).unwrap_or(bytes.len()));
    bytes.get(..size).unwrap_or(bytes)
}

/// No data yet, or interrupted by a signal.
pub(super) fn passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn large_messages_cross_in_parts_and_sizes_may_differ() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let near = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let (far, _) = listener.accept().expect("accept");
        let (large, small) = (3 * PART as u32 + 17, 5);
        let answering = std::thread::spawn(move || {
            let mut filler = Filler::new(large);
            let mut stream = Stream::new(Arc::new(far), small, large);
            for _ in 0..3 {
                stream.receive_whole(&mut filler).expect("a request");
                stream.send_whole(&filler).expect("a reply");
            }
        });
        near.set_nonblocking(true).expect("non-blocking");
        let mut filler = Filler::new(large);
        let mut stream = Stream::new(Arc::new(near), large, small);
        for _ in 0..3 {
            stream.send_whole(&filler).expect("sent");
            stream.receive_whole(&mut filler).expect("received");
        }
        answering.join().expect("answered");
        assert_eq!(stream.receive_whole(&mut filler), Err(Ending::Finished));
    }
}
