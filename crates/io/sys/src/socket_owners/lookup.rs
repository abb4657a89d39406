//! A process with root's right to inspect other users' processes, for one that drops it. It only
//! answers which programs have the ends of connections.
//!
//! Questions and answers have a fixed size. Questions are compared with kernel tables: no path,
//! name or process number comes from the other side.

use super::SocketEnd;
use crate::forked::{self, ForkChannel, OwnerChannel};
use crate::rights;
use model::{Endpoint, HostProcess};
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Child, Command};

/// Ends when this is dropped, or when this process ends.
#[derive(Debug)]
pub struct LookupProcess {
    process: Child,
    channel: ForkChannel,
}

/// Uses a [`LookupProcess`], or `/proc` as far as this user may.
#[derive(Debug, Default)]
pub struct OwnerLookup {
    channel: Option<ForkChannel>,
}

impl LookupProcess {
    /// Holds `kept` open, and at its end removes `left`, which this process will not be able to
    /// remove.
    pub fn start(kept: Option<BorrowedFd<'_>>, left: Option<PathBuf>) -> io::Result<Self> {
        let kept = kept.map(|file| file.as_raw_fd());
        let mut never = Command::new("/");
        never.process_group(0);
        let (process, channel) = forked::spawn(&mut never, move |channel| {
            // A panic ends here too: the rest of the fork is longwire's.
            let _ = catch_unwind(AssertUnwindSafe(|| answer(channel, kept)));
            if let Some(left) = &left {
                std::fs::remove_dir_all(left).ok();
            }
            forked::exit_now()
        })?;
        Ok(Self { process, channel })
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn lookup(&self) -> io::Result<OwnerLookup> {
        Ok(OwnerLookup {
            channel: Some(self.channel.try_clone()?),
        })
    }
}

impl Drop for LookupProcess {
    fn drop(&mut self) {
        self.channel.shut();
        self.process.wait().ok();
    }
}

impl OwnerLookup {
    /// Reads every open file of every process, which takes some milliseconds.
    pub fn find_owners(&self, wanted: &HashSet<SocketEnd>) -> HashMap<SocketEnd, HostProcess> {
        let Some(channel) = &self.channel else {
            return super::find_owners(wanted);
        };
        let wanted: Vec<SocketEnd> = wanted.iter().copied().collect();
        let mut found = HashMap::new();
        for ends in wanted.chunks(MAX_ENDS) {
            let mut answer = vec![0; MAX_ENDS * ROW];
            if !channel.send_request(&question(ends), &mut answer) {
                break;
            }
            let rows = ends.iter().zip(answer.chunks_exact(ROW));
            found.extend(rows.filter_map(|(end, row)| Some((*end, decoded(row)?))));
        }
        found
    }
}

fn answer(channel: RawFd, kept: Option<RawFd>) {
    let owner = OwnerChannel::take_over_with(channel, kept, c"longwire lookup");
    rights::keep_only_looking_at_processes();
    let mut asked = vec![0; MAX_ENDS * ROW];
    while owner.receive(&mut asked) {
        let ends: Vec<Option<SocketEnd>> = asked.chunks_exact(ROW).map(end).collect();
        let found = super::find_owners(&ends.iter().flatten().copied().collect());
        let mut answer = Vec::with_capacity(asked.len());
        for end in &ends {
            let process = end.and_then(|end| found.get(&end));
            answer.extend(process.map_or([0; ROW], encoded));
        }
        owner.answer(&answer);
    }
}

/// The rest is zero, which is not a valid end.
fn question(ends: &[SocketEnd]) -> Vec<u8> {
    let mut question: Vec<u8> = Vec::with_capacity(MAX_ENDS * ROW);
    for (own, other) in ends {
        for endpoint in [own, other] {
            let address = match endpoint.address {
                IpAddr::V4(address) => address.to_ipv6_mapped(),
                IpAddr::V6(address) => address,
            };
            question.extend(address.octets());
            question.extend(endpoint.port.to_be_bytes());
        }
    }
    question.resize(MAX_ENDS * ROW, 0);
    question
}

fn end(row: &[u8]) -> Option<SocketEnd> {
    let endpoint = |bytes: &[u8]| {
        let (address, port) = bytes.split_first_chunk::<16>()?;
        Some(Endpoint {
            address: IpAddr::V6(Ipv6Addr::from(*address)).to_canonical(),
            port: u16::from_be_bytes(*port.first_chunk()?),
        })
    };
    let (own, other) = row.split_at_checked(ROW / 2)?;
    let end = (endpoint(own)?, endpoint(other)?);
    (end.0.port != 0).then_some(end)
}

/// Process number, name of up to 15 bytes, 12 digits of the container.
fn encoded(process: &HostProcess) -> [u8; ROW] {
    let mut row = [0; ROW];
    let (number, texts) = row.split_at_mut(4);
    number.copy_from_slice(&process.number.to_be_bytes());
    let (name, container) = texts.split_at_mut(NAME);
    let put = |place: &mut [u8], text: &str| {
        let length = text.len().min(place.len());
        place[..length].copy_from_slice(&text.as_bytes()[..length]);
    };
    put(name, &process.name);
    put(container, process.container.as_deref().unwrap_or_default());
    row
}

fn decoded(row: &[u8]) -> Option<HostProcess> {
    let (number, texts) = row.split_first_chunk::<4>()?;
    let number = u32::from_be_bytes(*number);
    let (name, container) = texts.split_at_checked(NAME)?;
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let container = text(container);
    (number != 0).then(|| HostProcess {
        name: text(name),
        number,
        container: (!container.is_empty()).then_some(container),
    })
}

const MAX_ENDS: usize = 128;
/// Bytes of a row: two IPv6 addresses with their ports.
const ROW: usize = 36;
/// Bytes of a program name, which the kernel truncates to 15.
const NAME: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn endpoint(address: std::net::SocketAddr) -> Endpoint {
        Endpoint {
            address: address.ip(),
            port: address.port(),
        }
    }

    #[test]
    fn it_answers_as_a_look_of_ones_own() {
        let process = LookupProcess::start(None, None).expect("it starts");
        let lookup = process.lookup().expect("a descriptor");
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
        let address = listener.local_addr().expect("bound");
        let connected = (0..MAX_ENDS + 10).map(|_| {
            let client = TcpStream::connect(address).expect("it listens");
            (client, listener.accept().expect("a client connects"))
        });
        let connected: Vec<_> = connected.collect();
        let wanted: HashSet<SocketEnd> = connected
            .iter()
            .map(|(client, _)| {
                let (own, other) = (client.local_addr(), client.peer_addr());
                (
                    endpoint(own.expect("connected")),
                    endpoint(other.expect("connected")),
                )
            })
            .collect();
        let found = lookup.find_owners(&wanted);
        assert_eq!(found.len(), wanted.len());
        assert_eq!(found, crate::socket_owners::find_owners(&wanted));
        assert!(found.values().all(|process| process.number == std::process::id()));
    }

    #[test]
    fn whatever_it_is_asked_it_answers_in_one_size_and_ends_with_who_asks() {
        let folder = tempfile::tempdir().expect("a directory");
        let left = folder.path().join("left");
        std::fs::create_dir(&left).expect("a directory");
        let process = LookupProcess::start(None, Some(left.clone())).expect("it starts");
        for byte in [0, 1, 0x7f, 0xff] {
            let mut answer = vec![1; MAX_ENDS * ROW];
            assert!(
                process
                    .channel
                    .send_request(&vec![byte; MAX_ENDS * ROW], &mut answer)
            );
            assert!(
                answer.iter().all(|byte| *byte == 0),
                "nobody has such a connection"
            );
        }
        assert!(left.exists());
        drop(process);
        assert!(!left.exists());
    }

    #[test]
    fn rows_are_read_back() {
        let process = HostProcess {
            name: "postgres: writer".to_owned(),
            number: 4711,
            container: Some("0d1f7c3a9b2e".to_owned()),
        };
        assert_eq!(decoded(&encoded(&process)), Some(process));
        assert_eq!(decoded(&[0; ROW]), None);
    }
}
