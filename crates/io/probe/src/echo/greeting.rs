//! The greeting before messages: 32 bytes each way, numbers in big-endian order.
//!
//! | bytes | of the client's | of the listener's |
//! |---|---|---|
//! | 0-7 | `longwire` | `longwire` |
//! | 8-9 | version, 1 | version, 1 |
//! | 10 | purpose: 1 account, 2 echo, 3 sink, 4 source | 0 accepted, else the reason |
//! | 11 | how to wait: 0 asleep, 1 polling, 2 polling while it pays | 1: polls on request |
//! | 12-15 | payload bytes of a request | most payload bytes of a message |
//! | 16-19 | payload bytes of a reply | most streams of a client |
//! | 20-23 | streams of this client | processors |
//! | 24-31 | of bytes to the listener: nanoseconds at their beginning that do not count | 0 |
//!
//! Every connection of a client begins with it. On an `account` connection each byte of the client
//! is answered with the listener's processor time ([`super::usage`]).

use super::{MAX_BYTES, MAX_STREAMS, Spin, processors};
use std::time::Duration;

pub(super) const LENGTH: usize = 32;
const MAGIC: [u8; 8] = *b"longwire";
/// Any other version is refused, in both directions.
pub(super) const VERSION: u16 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Account,
    Echo,
    Sink,
    Source,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) purpose: Purpose,
    pub(super) spin: Spin,
    pub(super) request: u32,
    pub(super) reply: u32,
    pub(super) streams: u32,
    pub(super) skip: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted,
    OtherVersion,
    Sizes,
    Streams,
    Busy,
    Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) version: u16,
    pub(super) verdict: Verdict,
    pub(super) most_bytes: u32,
    pub(super) most_streams: u32,
    pub(super) processors: u32,
    /// Whether the listener polls without limit.
    pub(super) spins: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoGreeting {
    Foreign,
    Version(u16),
    /// A value unknown to this version.
    Unknown,
}

impl Hello {
    pub(super) fn encode(&self) -> [u8; LENGTH] {
        let purpose = match self.purpose {
            Purpose::Account => 1,
            Purpose::Echo => 2,
            Purpose::Sink => 3,
            Purpose::Source => 4,
        };
        let skip = u64::try_from(self.skip.as_nanos()).unwrap_or(u64::MAX);
        let words = [self.request, self.reply, self.streams];
        let spin = match self.spin {
            Spin::Never => 0,
            Spin::Always => 1,
            // Added last: older listeners read it as the former.
            Spin::WhilePaying => 2,
        };
        encode(VERSION, [purpose, spin], words, skip)
    }

    pub(super) fn decode(bytes: &[u8; LENGTH]) -> Result<Self, NoGreeting> {
        let ([purpose, spin], [request, reply, streams], skip) = decode(bytes)?;
        let purpose = match purpose {
            1 => Purpose::Account,
            2 => Purpose::Echo,
            3 => Purpose::Sink,
            4 => Purpose::Source,
            _ => return Err(NoGreeting::Unknown),
        };
        Ok(Self {
            purpose,
            spin: match spin {
                0 => Spin::Never,
                1 => Spin::Always,
                2 => Spin::WhilePaying,
                _ => return Err(NoGreeting::Unknown),
            },
            request,
            reply,
            streams,
            skip: Duration::from_nanos(skip),
        })
    }
}

impl Answer {
    pub(super) fn new(verdict: Verdict) -> Self {
        Self {
            version: VERSION,
            verdict,
            most_bytes: MAX_BYTES,
            most_streams: MAX_STREAMS,
            processors: u32::try_from(processors()).unwrap_or(u32::MAX),
            spins: false,
        }
    }

    pub(super) fn encode(&self) -> [u8; LENGTH] {
        let verdict = match self.verdict {
            Verdict::Accepted => 0,
            Verdict::OtherVersion => 1,
            Verdict::Sizes => 2,
            Verdict::Streams => 3,
            Verdict::Busy => 4,
            Verdict::Purpose => 5,
        };
        let words = [self.most_bytes, self.most_streams, self.processors];
        encode(self.version, [verdict, u8::from(self.spins)], words, 0)
    }

    pub(super) fn decode(bytes: &[u8; LENGTH]) -> Result<Self, NoGreeting> {
        let ([verdict, spins], [most_bytes, most_streams, processors], _) = decode(bytes)?;
        let verdict = match verdict {
            0 => Verdict::Accepted,
            1 => Verdict::OtherVersion,
            2 => Verdict::Sizes,
            3 => Verdict::Streams,
            4 => Verdict::Busy,
            5 => Verdict::Purpose,
            _ => return Err(NoGreeting::Unknown),
        };
        Ok(Self {
            version: VERSION,
            verdict,
            most_bytes,
            most_streams,
            processors,
            spins: spins != 0,
        })
    }
}

fn encode(version: u16, flags: [u8; 2], words: [u32; 3], last: u64) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let mut rest = &mut bytes[..];
    let mut put = |part: &[u8]| {
        let (here, later) = std::mem::take(&mut rest).split_at_mut(part.len());
        here.copy_from_slice(part);
        rest = later;
    };
    put(&MAGIC);
    put(&version.to_be_bytes());
    put(&flags);
    words.iter().for_each(|word| put(&word.to_be_bytes()));
    put(&last.to_be_bytes());
    bytes
}

type Fields = ([u8; 2], [u32; 3], u64);

fn decode(bytes: &[u8; LENGTH]) -> Result<Fields, NoGreeting> {
    let word = |at: usize| {
        let mut word = [0; 4];
        word.copy_from_slice(&bytes[at..at + 4]);
        u32::from_be_bytes(word)
    };
    if bytes[..8] != MAGIC {
        return Err(NoGreeting::Foreign);
    }
    let version = u16::from_be_bytes([bytes[8], bytes[9]]);
    if version != VERSION {
        return Err(NoGreeting::Version(version));
    }
    let last = u64::from(word(24)) << 32 | u64::from(word(28));
    Ok(([bytes[10], bytes[11]], [word(12), word(16), word(20)], last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            purpose: Purpose::Sink,
            spin: Spin::Always,
            request: 16,
            reply: 70_000,
            streams: 64,
            skip: Duration::from_millis(300),
        }
    }

    #[test]
    fn greetings_come_back_as_they_were() {
        for purpose in [Purpose::Account, Purpose::Echo, Purpose::Sink, Purpose::Source] {
            let hello = Hello { purpose, ..hello() };
            assert_eq!(Hello::decode(&hello.encode()), Ok(hello));
        }
        for verdict in [
            Verdict::Accepted,
            Verdict::OtherVersion,
            Verdict::Sizes,
            Verdict::Streams,
            Verdict::Busy,
            Verdict::Purpose,
        ] {
            let answer = Answer {
                version: VERSION,
                verdict,
                most_bytes: 1 << 26,
                most_streams: 1024,
                processors: 2,
                spins: verdict == Verdict::Busy,
            };
            assert_eq!(Answer::decode(&answer.encode()), Ok(answer));
        }
    }

    #[test]
    fn what_is_no_greeting_is_told_apart() {
        assert_eq!(
            Hello::decode(b"GET / HTTP/1.1\r\nHost: a.local\r\n\0"),
            Err(NoGreeting::Foreign)
        );
        let mut newer = hello().encode();
        newer[9] = 2;
        assert_eq!(Hello::decode(&newer), Err(NoGreeting::Version(2)));
        let mut other = hello().encode();
        other[10] = 9;
        assert_eq!(Hello::decode(&other), Err(NoGreeting::Unknown));
    }
}
