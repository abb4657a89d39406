//! The course of a stream, derived from a seed known to both ends.

use crate::content::{Chance, Content, Kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Rounds(u64),
    Together,
    /// The server starts after the client's end of stream.
    ClientFirst,
    /// The client starts after the server's end of stream.
    ServerFirst,
}

#[derive(Debug, Clone)]
pub(crate) struct Course {
    pub(crate) seed: u64,
    pub(crate) largest: u64,
    pub(crate) order: Order,
    /// From client and server, without a reset.
    pub(crate) bytes: [u64; 2],
    /// The end that resets the connection, after this many bytes sent and received; `None` for an
    /// orderly end.
    pub(crate) reset: Option<(Role, [u64; 2])>,
    pub(crate) piece: usize,
    pub(crate) slow: Option<Role>,
    kinds: [Kind; 2],
}

impl Course {
    /// Each direction has up to `largest` bytes.
    pub(crate) fn new(seed: u64, largest: u64) -> Self {
        let mut chance = Chance::new(seed);
        let order = match chance.below(8) {
            0..4 => Order::Rounds(1 + chance.below(20)),
            4..6 => Order::Together,
            6 => Order::ClientFirst,
            _ => Order::ServerFirst,
        };
        let bytes = [chance.size(largest), chance.size(largest)];
        let role = |chance: &mut Chance| {
            if chance.one_in(2) {
                Role::Client
            } else {
                Role::Server
            }
        };
        let reset = chance.one_in(12).then(|| {
            let role = role(&mut chance);
            let (sends, receives) = (bytes[role.index()], bytes[1 - role.index()]);
            (role, [chance.below(sends), chance.below(receives)])
        });
        let slow = chance.one_in(50).then(|| role(&mut chance));
        let kind = |chance: &mut Chance| match chance.below(4) {
            0 => Kind::Random,
            1 => Kind::Mixed,
            _ => Kind::Text,
        };
        Self {
            seed,
            largest,
            // The resetting end does not alternate: the other end sends everything.
            order: if reset.is_some() { Order::Together } else { order },
            bytes,
            reset,
            // Small writes only for small streams: large ones would spend all time in system calls.
            piece: chance.size(64 * 1024).max(bytes[0].max(bytes[1]) / MAX_PIECES) as usize,
            slow,
            kinds: [kind(&mut chance), kind(&mut chance)],
        }
    }

    /// After the client's end of stream, the server sends `bytes` of random data.
    pub(crate) fn download(seed: u64, bytes: u64) -> Self {
        Self {
            order: Order::ClientFirst,
            bytes: [1, bytes],
            reset: None,
            piece: 64 * 1024,
            slow: None,
            kinds: [Kind::Random; 2],
            ..Self::new(seed, 1)
        }
    }

    pub(crate) fn payload(&self) -> u64 {
        self.bytes[0] + self.bytes[1]
    }

    pub(crate) fn content_of(&self, role: Role) -> Content {
        let index = role.index();
        Content::new(self.seed ^ (index as u64 + 1), self.kinds[index])
    }
}

impl Role {
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

const MAX_PIECES: u64 = 1000;
