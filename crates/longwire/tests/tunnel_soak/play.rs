//! Plays one end of a stream's course over a socket and verifies every received byte.

use crate::content::Content;
use crate::course::{Course, Order, Role};
use rustix::net::sockopt::set_socket_linger;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    Whole,
    DidReset,
    /// An error before the end; all received bytes were right.
    Cut,
    /// An early orderly end; all received bytes were right.
    Short,
    /// Wrong bytes, or none for a minute.
    Wrong(String),
}

/// The client of `socket` has already sent its header.
pub(crate) fn play(socket: TcpStream, role: Role, course: &Course) -> Seen {
    if let Err(error) = prepare(&socket) {
        return Seen::Wrong(format!("a socket's options: {error}"));
    }
    if let Some((resets, after)) = course.reset
        && resets == role
    {
        return reset(socket, role, course, after);
    }
    let (mut sender, mut taker) = (
        Sender::new(&socket, role, course),
        Taker::new(&socket, role, course),
    );
    let mine = course.bytes[role.index()];
    let theirs = course.bytes[role.other().index()];
    let played = match (course.order, role) {
        (Order::Rounds(rounds), _) => turns(&mut sender, &mut taker, rounds, [mine, theirs]),
        (Order::Together, _) => std::thread::scope(|scope| {
            let sending = scope.spawn(|| sender.all(mine));
            let taken = taker.all(theirs);
            both(
                sending
                    .join()
                    .unwrap_or(Err(Seen::Wrong("a sender panicked".to_owned()))),
                taken,
            )
        }),
        (Order::ClientFirst, Role::Client) | (Order::ServerFirst, Role::Server) => {
            both(sender.all(mine), taker.all(theirs))
        }
        (Order::ClientFirst, Role::Server) | (Order::ServerFirst, Role::Client) => {
            taker.all(theirs).and_then(|()| sender.all(mine))
        }
    };
    played.err().unwrap_or(Seen::Whole)
}

/// Returns the more severe result: the kernel reports an error only once, to the next call.
fn both(sent: Result<(), Seen>, taken: Result<(), Seen>) -> Result<(), Seen> {
    match (sent, taken) {
        (_, Err(Seen::Wrong(what))) | (Err(Seen::Wrong(what)), _) => Err(Seen::Wrong(what)),
        (Err(Seen::Cut), _) | (_, Err(Seen::Cut)) => Err(Seen::Cut),
        (sent, taken) => taken.and(sent),
    }
}

/// Alternates requests and replies up to the course's bytes, client first.
fn turns(
    sender: &mut Sender<'_>,
    taker: &mut Taker<'_>,
    rounds: u64,
    [mine, theirs]: [u64; 2],
) -> Result<(), Seen> {
    let part = |whole: u64, round: u64| whole * (round + 1) / rounds - whole * round / rounds;
    for round in 0..rounds {
        if sender.role == Role::Client {
            sender.some(part(mine, round))?;
            taker.some(part(theirs, round))?;
        } else {
            taker.some(part(theirs, round))?;
            sender.some(part(mine, round))?;
        }
    }
    both(sender.all(0), taker.all(0))
}

fn reset(socket: TcpStream, role: Role, course: &Course, [sends, takes]: [u64; 2]) -> Seen {
    let sent = Sender::new(&socket, role, course).some(sends);
    let played = sent.and_then(|()| Taker::new(&socket, role, course).some(takes));
    reset_on_close(&socket);
    played.err().unwrap_or(Seen::DidReset)
}

fn prepare(socket: &TcpStream) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(TIMEOUT))?;
    socket.set_write_timeout(Some(TIMEOUT))
}

/// Closing `socket` will send a reset.
pub(crate) fn reset_on_close(socket: &TcpStream) {
    set_socket_linger(socket, Some(Duration::ZERO)).expect("SO_LINGER");
}

struct Sender<'a> {
    socket: &'a TcpStream,
    role: Role,
    content: Content,
    piece: Vec<u8>,
}

impl<'a> Sender<'a> {
    fn new(socket: &'a TcpStream, role: Role, course: &Course) -> Self {
        Self {
            socket,
            role,
            content: course.content_of(role),
            piece: vec![0; course.piece],
        }
    }

    fn some(&mut self, mut bytes: u64) -> Result<(), Seen> {
        while bytes > 0 {
            let length = self.piece.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
            let piece = &mut self.piece[..length];
            self.content.fill(piece);
            self.socket
                .write_all(piece)
                .map_err(|error| seen(&error, "take"))?;
            bytes -= length as u64;
        }
        Ok(())
    }

    /// Sends the remaining `bytes` and ends this direction.
    fn all(&mut self, bytes: u64) -> Result<(), Seen> {
        self.some(bytes)?;
        self.socket
            .shutdown(Shutdown::Write)
            .map_err(|error| seen(&error, "end"))
    }
}

struct Taker<'a> {
    socket: &'a TcpStream,
    content: Content,
    buffer: Vec<u8>,
    slow: bool,
    taken: u64,
}

impl<'a> Taker<'a> {
    fn new(socket: &'a TcpStream, role: Role, course: &Course) -> Self {
        let slow = course.slow == Some(role);
        Self {
            socket,
            content: course.content_of(role.other()),
            buffer: vec![0; if slow { 16 * 1024 } else { 64 * 1024 }],
            slow,
            taken: 0,
        }
    }

    fn some(&mut self, mut bytes: u64) -> Result<(), Seen> {
        while bytes > 0 {
            let most = self
                .buffer
                .len()
                .min(usize::try_from(bytes).unwrap_or(usize::MAX));
            let got = self.read_bytes(most)?;
            if got == 0 {
                return Err(Seen::Short);
            }
            bytes -= got as u64;
        }
        Ok(())
    }

    /// Receives the remaining `bytes` and the end of stream.
    fn all(&mut self, bytes: u64) -> Result<(), Seen> {
        self.some(bytes)?;
        match self.read_bytes(self.buffer.len())? {
            0 => Ok(()),
            more => Err(Seen::Wrong(format!(
                "{more} bytes behind the last, which was number {}",
                self.taken
            ))),
        }
    }

    fn read_bytes(&mut self, most: usize) -> Result<usize, Seen> {
        if self.slow {
            std::thread::sleep(Duration::from_millis(1));
        }
        let got = self
            .socket
            .read(&mut self.buffer[..most])
            .map_err(|error| seen(&error, "send"))?;
        if let Err(right) = self.content.check(&self.buffer[..got]) {
            let at = self.taken + right as u64;
            return Err(Seen::Wrong(format!("byte {at} is another than was sent")));
        }
        self.taken += got as u64;
        Ok(got)
    }
}

fn seen(error: &std::io::Error, what: &str) -> Seen {
    match error.kind() {
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::NotConnected => Seen::Cut,
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            Seen::Wrong(format!("nothing to {what} for {TIMEOUT:?}"))
        }
        _ => Seen::Wrong(format!("could not {what}: {error}")),
    }
}

const TIMEOUT: Duration = Duration::from_secs(90);
