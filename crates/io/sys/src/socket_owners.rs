//! Finds local programs of TCP connections from `/proc/net/tcp`, `/proc/net/tcp6` and the open
//! files of all processes (`proc(5)`) that this user may inspect. Other network namespaces are not
//! in these tables.

mod lookup;

pub use lookup::{LookupProcess, OwnerLookup};

use model::{Endpoint, HostProcess};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

pub type SocketEnd = (Endpoint, Endpoint);

/// Reads every open file of every process, which takes some milliseconds.
pub fn find_owners(wanted: &HashSet<SocketEnd>) -> HashMap<SocketEnd, HostProcess> {
    let mut sockets: HashMap<u64, SocketEnd> = HashMap::new();
    for table in ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"] {
        let text = fs::read_to_string(table).unwrap_or_default();
        let rows = text.lines().skip(1).filter_map(row);
        sockets.extend(rows.filter(|(_, end)| wanted.contains(end)));
    }
    let mut found: HashMap<SocketEnd, HostProcess> = HashMap::new();
    if sockets.is_empty() {
        return found;
    }
    for number in processes() {
        for socket in sockets_of(number) {
            // Of several processes with one socket, the oldest counts.
            if let Some(end) = sockets.get(&socket)
                && !found.contains_key(end)
                && let Some(process) = process(number)
            {
                found.insert(*end, process);
            }
        }
    }
    found
}

/// Returns the inode and the ends.
fn row(line: &str) -> Option<(u64, SocketEnd)> {
    let mut fields = line.split_ascii_whitespace();
    let (local, remote) = (endpoint(fields.nth(1)?)?, endpoint(fields.next()?)?);
    let socket = fields.nth(6)?.parse().ok()?;
    Some((socket, (local, remote)))
}

/// Parses `0100007F:1538`, with the address in words of machine byte order. IPv4-mapped IPv6
/// becomes IPv4, as on the wire.
fn endpoint(text: &str) -> Option<Endpoint> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(address.get(8 * at..8 * at + 8)?, 16).ok();
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?].map(u32::to_ne_bytes);
            let mut bytes = [0; 16];
            bytes.copy_from_slice(words.as_flattened());
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(Endpoint { address, port })
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

fn sockets_of(process: u32) -> impl Iterator<Item = u64> {
    let files = fs::read_dir(format!("/proc/{process}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    files.filter_map(|file| {
        let name = fs::read_link(file.path()).ok()?;
        let number = name.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        number.parse().ok()
    })
}

fn process(number: u32) -> Option<HostProcess> {
    let folder = Path::new("/proc").join(number.to_string());
    let name = fs::read_to_string(folder.join("comm")).ok()?;
    let groups = fs::read_to_string(folder.join("cgroup")).unwrap_or_default();
    Some(HostProcess {
        name: name.trim_end().to_owned(),
        number,
        container: container(&groups),
    })
}

/// 64 hexadecimal digits in the names of its control groups, of which tools show the first 12.
fn container(groups: &str) -> Option<String> {
    let mut words = groups.split(|character: char| !character.is_ascii_hexdigit());
    let identifier = words.find(|word| word.len() == 64)?;
    identifier.get(..12).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{SocketAddr, TcpListener, TcpStream};

    fn of_address(address: SocketAddr) -> Endpoint {
        Endpoint {
            address: address.ip().to_canonical(),
            port: address.port(),
        }
    }

    #[test]
    fn both_ends_of_a_connection_are_this_process() {
        for address in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
            let listener = TcpListener::bind(address).expect("loopback has free ports");
            let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("it listens");
            let (server, _) = listener.accept().expect("a client connects");
            let ends = [&client, &server].map(|socket| {
                let (local, remote) = (socket.local_addr(), socket.peer_addr());
                (
                    of_address(local.expect("connected")),
                    of_address(remote.expect("connected")),
                )
            });
            let found = find_owners(&ends.into_iter().collect());
            for end in ends {
                assert_eq!(found[&end].number, std::process::id(), "{address}");
                assert!(!found[&end].name.is_empty());
            }
        }
    }

    #[test]
    fn a_container_is_known_by_its_control_group() {
        let identifier = "0d1f7c3a9b2e".to_owned() + &"5".repeat(52);
        for groups in [
            format!("0::/system.slice/docker-{identifier}.scope\n"),
            format!("12:cpu:/docker/{identifier}\n11:memory:/docker/{identifier}\n"),
            format!("0::/kubepods.slice/kubepods-pod9f.slice/cri-containerd-{identifier}.scope\n"),
        ] {
            assert_eq!(container(&groups).as_deref(), Some("0d1f7c3a9b2e"));
        }
        assert_eq!(
            container("0::/user.slice/user-1000.slice/session-3.scope\n"),
            None
        );
    }
}
