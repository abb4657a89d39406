//! Packets of all captures: `data/captures`, `data` here, and the decoder tests' recordings
//! converted to packets.

use flate2::read::GzDecoder;
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub struct Capture {
    pub name: String,
    header: Vec<u8>,
    packets: Vec<Vec<u8>>,
    link: u32,
}

pub fn captures() -> Vec<Capture> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    collect(&here.join("tests/data/captures"), "pcap", &mut paths);
    collect(&here.join("tests/files/lost_packet/data"), "pcap", &mut paths);
    if let Some(more) = std::env::var_os("LOST_PACKET_CAPTURES") {
        collect(Path::new(&more), "pcap", &mut paths);
    }
    let mut captures: Vec<Capture> = paths.iter().map(|path| read_capture(path)).collect();
    let mut recordings = Vec::new();
    collect(&here.join("../core/wire/tests/data"), "stream", &mut recordings);
    captures.extend(recordings.iter().map(|path| dress(path)));
    captures
}

fn collect(folder: &Path, extension: &str, paths: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("a folder of captures")
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, extension, paths);
        } else if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
}

pub fn read_capture(path: &Path) -> Capture {
    let mut bytes = std::fs::read(path).expect("a readable capture");
    if path.extension().is_some_and(|found| found == "gz") {
        let packed = std::mem::take(&mut bytes);
        GzDecoder::new(&*packed)
            .read_to_end(&mut bytes)
            .expect("a whole file");
    }
    let (header, mut rest) = bytes.split_at(24);
    assert!(
        matches!(header[0..4], [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1]),
        "{} is a pcap, least significant byte first",
        path.display()
    );
    let mut packets = Vec::new();
    while rest.len() >= 16 {
        let length = 16 + u32::from_le_bytes([rest[8], rest[9], rest[10], rest[11]]) as usize;
        let (packet, behind) = rest.split_at(length.min(rest.len()));
        packets.push(packet.to_vec());
        rest = behind;
    }
    Capture {
        name: path.display().to_string(),
        header: header.to_vec(),
        packets,
        link: u32::from_le_bytes([header[20], header[21], header[22], header[23]]),
    }
}

impl Capture {
    pub fn bytes(&self) -> Vec<u8> {
        [self.header.clone(), self.packets.concat()].concat()
    }

    pub fn without(&self, lost: usize) -> Vec<u8> {
        self.without_those(|number| number == lost)
    }

    pub fn without_those(&self, is_lost: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut bytes = self.header.clone();
        for (number, packet) in self.packets.iter().enumerate() {
            if !is_lost(number) {
                bytes.extend_from_slice(packet);
            }
        }
        bytes
    }

    pub fn payload_packets(&self) -> Vec<Payload> {
        let link = match self.link {
            1 => 14,
            113 => 16,
            276 => 20,
            0 => 4,
            _ => 0,
        };
        let mut connections: HashMap<(u16, u16), usize> = HashMap::new();
        let mut firsts: HashMap<(u16, u16, usize), u32> = HashMap::new();
        let mut found = Vec::new();
        for (number, packet) in self.packets.iter().enumerate() {
            let Some(segment) = segment(packet.get(16 + link..).unwrap_or_default()) else {
                continue;
            };
            let (from, to) = segment.ports;
            if segment.flags & (SYN | ACK) == SYN {
                *connections.entry((from, to)).or_default() += 1;
            }
            let opened = connections.get(&(from, to)).or(connections.get(&(to, from)));
            let connection = opened.map_or(0, |opened| opened - 1);
            let first = *firsts
                .entry((from, to, connection))
                .or_insert(segment.sequence.wrapping_add(u32::from(segment.flags & SYN != 0)));
            if segment.payload > 0 {
                let start = u64::from(segment.sequence.wrapping_sub(first));
                found.push(Payload {
                    packet: number,
                    ports: segment.ports,
                    connection,
                    span: start..start + segment.payload,
                });
            }
        }
        found
    }
}

pub struct Payload {
    pub packet: usize,
    pub ports: (u16, u16),
    /// Sequence number among connections with these ports.
    pub connection: usize,
    pub span: Range<u64>,
}

struct Segment {
    ports: (u16, u16),
    sequence: u32,
    flags: u8,
    payload: u64,
}

fn segment(ip: &[u8]) -> Option<Segment> {
    let (total, tcp) = match ip.first()? >> 4 {
        4 => (
            usize::from(u16::from_be_bytes([*ip.get(2)?, *ip.get(3)?])),
            usize::from(ip[0] & 15) * 4,
        ),
        6 => (
            40 + usize::from(u16::from_be_bytes([*ip.get(4)?, *ip.get(5)?])),
            40,
        ),
        _ => return None,
    };
    let header = ip.get(tcp..tcp + 20)?;
    let two = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    Some(Segment {
        ports: (two(0), two(2)),
        sequence: u32::from(two(4)) << 16 | u32::from(two(6)),
        flags: header[13],
        payload: total.saturating_sub(tcp + usize::from(header[12] >> 4) * 4) as u64,
    })
}

/// Converts a recorded stream to packets of at most [`MSS`] bytes after a handshake, with
/// piggybacked acknowledgements.
fn dress(path: &Path) -> Capture {
    let text = std::fs::read_to_string(path).expect("a readable recording");
    let mut lines = text.lines();
    let port: u16 = lines
        .next()
        .and_then(|line| line.strip_prefix("port "))
        .and_then(|port| port.parse().ok())
        .expect("the first line is 'port <number>'");
    let mut sides = Sides {
        port,
        next: [1_000, 5_000],
    };
    let mut packets = vec![
        sides.packet(0, 0, SYN, &[]),
        sides.packet(10_000, 1, SYN | ACK, &[]),
        sides.packet(20_000, 0, ACK, &[]),
    ];
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let side = usize::from(words[0] == "S");
        let at: u64 = words[1].parse().expect("nanoseconds");
        if words[2] == "hole" {
            let count: u32 = words[3].parse().expect("a count");
            sides.next[side] = sides.next[side].wrapping_add(count);
            continue;
        }
        let bytes: Vec<u8> = (0..words[2].len() / 2)
            .map(|byte| u8::from_str_radix(&words[2][byte * 2..byte * 2 + 2], 16).expect("hexadecimal"))
            .collect();
        for piece in bytes.chunks(MSS) {
            packets.push(sides.packet(at + 30_000, side, ACK | PSH, piece));
        }
    }
    let mut header = vec![0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0];
    header.extend([0; 8]);
    header.extend(262_144u32.to_le_bytes());
    header.extend(101u32.to_le_bytes());
    Capture {
        name: path.display().to_string(),
        header,
        packets,
        link: 101,
    }
}

struct Sides {
    port: u16,
    next: [u32; 2],
}

impl Sides {
    fn packet(&mut self, at: u64, side: usize, flags: u8, payload: &[u8]) -> Vec<u8> {
        let ports = if side == 0 {
            [CLIENT, self.port]
        } else {
            [self.port, CLIENT]
        };
        let addresses = if side == 0 { [1, 2] } else { [2, 1] };
        let length = 40 + payload.len() as u32;
        let mut packet = Vec::new();
        packet.extend(((at / 1_000_000_000) as u32).to_le_bytes());
        packet.extend(((at % 1_000_000_000) as u32).to_le_bytes());
        packet.extend(length.to_le_bytes());
        packet.extend(length.to_le_bytes());
        packet.extend([0x45, 0]);
        packet.extend((length as u16).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 6, 0, 0]);
        packet.extend([10, 0, 0, addresses[0], 10, 0, 0, addresses[1]]);
        packet.extend(ports[0].to_be_bytes());
        packet.extend(ports[1].to_be_bytes());
        packet.extend(self.next[side].to_be_bytes());
        let acknowledged = if flags & ACK == 0 { 0 } else { self.next[1 - side] };
        packet.extend(acknowledged.to_be_bytes());
        packet.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(payload);
        let taken = payload.len() as u32 + u32::from(flags & SYN != 0);
        self.next[side] = self.next[side].wrapping_add(taken);
        packet
    }
}

const MSS: usize = 1_448;
const CLIENT: u16 = 50_000;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
