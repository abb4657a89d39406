//! Captures built in code: frames from a real capture or from TCP packets, written in any format.

use etherparse::PacketBuilder;
use std::net::SocketAddr;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub at: u64,
    pub bytes: Vec<u8>,
    pub wire: u32,
}

pub fn frames(pcap: &[u8]) -> Vec<Frame> {
    let number = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().expect("four bytes"));
    let mut at = 24;
    let mut frames = Vec::new();
    while at < pcap.len() {
        let length = number(at + 8) as usize;
        frames.push(Frame {
            at: u64::from(number(at)) * 1_000_000_000 + u64::from(number(at + 4)) * 1000,
            bytes: pcap[at + 16..at + 16 + length].to_vec(),
            wire: number(at + 12),
        });
        at += 16 + length;
    }
    frames
}

#[derive(Debug, Clone, Copy)]
pub struct PcapKind {
    pub big: bool,
    pub magic: u32,
    pub link: u32,
}

pub const MICROSECONDS: u32 = 0xa1b2_c3d4;
pub const NANOSECONDS: u32 = 0xa1b2_3c4d;
pub const MODIFIED: u32 = 0xa1b2_cd34;
pub const ETHERNET: u32 = 1;

pub const PLAIN: PcapKind = PcapKind {
    big: false,
    magic: MICROSECONDS,
    link: ETHERNET,
};
pub const NANO: PcapKind = PcapKind {
    big: false,
    magic: NANOSECONDS,
    link: ETHERNET,
};

pub fn pcap(kind: PcapKind, frames: &[Frame]) -> Vec<u8> {
    let four = |number: u32| {
        if kind.big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let two = |number: u16| {
        if kind.big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let mut out = Vec::new();
    out.extend(four(kind.magic));
    out.extend(two(2));
    out.extend(two(4));
    for number in [0, 0, 262_144, kind.link] {
        out.extend(four(number));
    }
    let unit = if kind.magic == NANOSECONDS { 1 } else { 1000 };
    for frame in frames {
        let (seconds, fraction) = (frame.at / 1_000_000_000, frame.at % 1_000_000_000 / unit);
        for number in [
            seconds as u32,
            fraction as u32,
            frame.bytes.len() as u32,
            frame.wire,
        ] {
            out.extend(four(number));
        }
        if kind.magic == MODIFIED {
            out.extend([0; 8]);
        }
        out.extend(&frame.bytes);
    }
    out
}

pub fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let four = |number: u32| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let padded = body.len().next_multiple_of(4);
    let length = (padded + 12) as u32;
    let mut out = Vec::new();
    out.extend(four(kind));
    out.extend(four(length));
    out.extend(body);
    out.resize(8 + padded, 0);
    out.extend(four(length));
    out
}

pub fn section(big: bool) -> Vec<u8> {
    let four = |number: u32| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let two = |number: u16| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let mut body = Vec::new();
    body.extend(four(0x1a2b_3c4d));
    body.extend(two(1));
    body.extend(two(0));
    body.extend([0xff; 8]);
    block(big, 0x0a0d_0d0a, &body)
}

pub fn interface(
    big: bool,
    link: u16,
    snap_length: u32,
    resolution: Option<u8>,
    offset: Option<i64>,
) -> Vec<u8> {
    let four = |number: u32| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let two = |number: u16| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let mut body = Vec::new();
    body.extend(two(link));
    body.extend(two(0));
    body.extend(four(snap_length));
    body.extend(two(2));
    body.extend(two(3));
    body.extend(b"lo0\0");
    if let Some(resolution) = resolution {
        body.extend(two(9));
        body.extend(two(1));
        body.extend([resolution, 0, 0, 0]);
    }
    if let Some(offset) = offset {
        body.extend(two(14));
        body.extend(two(8));
        body.extend(if big {
            offset.to_be_bytes()
        } else {
            offset.to_le_bytes()
        });
    }
    body.extend([0; 4]);
    block(big, 1, &body)
}

/// `units` is the time in the interface's resolution.
pub fn enhanced(big: bool, interface: u32, units: u64, frame: &Frame) -> Vec<u8> {
    let four = |number: u32| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let mut body = Vec::new();
    for number in [
        interface,
        (units >> 32) as u32,
        units as u32,
        frame.bytes.len() as u32,
        frame.wire,
    ] {
        body.extend(four(number));
    }
    body.extend(&frame.bytes);
    block(big, 6, &body)
}

pub fn simple(big: bool, frame: &Frame) -> Vec<u8> {
    let mut body = if big {
        frame.wire.to_be_bytes()
    } else {
        frame.wire.to_le_bytes()
    }
    .to_vec();
    body.extend(&frame.bytes);
    block(big, 3, &body)
}

pub fn obsolete(big: bool, interface: u16, units: u64, frame: &Frame) -> Vec<u8> {
    let four = |number: u32| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let two = |number: u16| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let mut body = Vec::new();
    body.extend(two(interface));
    body.extend(two(0));
    for number in [
        (units >> 32) as u32,
        units as u32,
        frame.bytes.len() as u32,
        frame.wire,
    ] {
        body.extend(four(number));
    }
    body.extend(&frame.bytes);
    block(big, 2, &body)
}

#[derive(Debug, Clone)]
pub struct Tcp {
    /// Microseconds since the start of the test.
    pub at_us: u64,
    pub from_client: bool,
    pub sequence: u32,
    pub acknowledgement: u32,
    /// Any of `S`, `A`, `F`, `R`, `P`.
    pub flags: &'static str,
    pub payload: Vec<u8>,
    pub window: u16,
    pub identification: u16,
}

pub const CLIENT: &str = "10.0.0.1:40000";
pub const SERVER: &str = "10.0.0.2:5432";
pub const EPOCH: u64 = 1_700_000_000_000_000_000;

pub fn tcp(at_us: u64, from_client: bool, flags: &'static str, sequence: u32, acknowledgement: u32) -> Tcp {
    Tcp {
        at_us,
        from_client,
        sequence,
        acknowledgement,
        flags,
        payload: Vec::new(),
        window: 64_000,
        identification: (at_us * 7_919 % 65_521) as u16 + 1,
    }
}

impl Tcp {
    pub fn with(mut self, payload: &[u8]) -> Self {
        self.payload = payload.to_vec();
        self
    }

    /// The frame on Ethernet, between endpoints of one address family.
    pub fn frame_between(&self, client: &str, server: &str) -> Frame {
        let address = |text: &str| text.parse::<SocketAddr>().expect("endpoint");
        let (mut from, mut to) = (address(client), address(server));
        if !self.from_client {
            std::mem::swap(&mut from, &mut to);
        }
        let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let network = match (from, to) {
            (SocketAddr::V4(from), SocketAddr::V4(to)) => {
                let mut header = etherparse::Ipv4Header::new(
                    0,
                    64,
                    etherparse::IpNumber::TCP,
                    from.ip().octets(),
                    to.ip().octets(),
                )
                .expect("header");
                header.identification = self.identification;
                link.ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
            }
            (SocketAddr::V6(from), SocketAddr::V6(to)) => link.ipv6(from.ip().octets(), to.ip().octets(), 64),
            _ => panic!("one address family"),
        };
        let mut packet = network.tcp(from.port(), to.port(), self.sequence, self.window);
        for flag in self.flags.chars() {
            packet = match flag {
                'S' => packet.syn(),
                'A' => packet.ack(self.acknowledgement),
                'F' => packet.fin(),
                'R' => packet.rst(),
                'P' => packet.psh(),
                _ => panic!("unknown flag"),
            };
        }
        if self.flags.contains('S') {
            let options = [etherparse::TcpOptionElement::MaximumSegmentSize(1460)];
            packet = packet.options(&options).expect("options");
        }
        let mut bytes = Vec::new();
        packet.write(&mut bytes, &self.payload).expect("written");
        let wire = bytes.len() as u32;
        Frame {
            at: EPOCH + self.at_us * 1000,
            bytes,
            wire,
        }
    }

    pub fn frame(&self) -> Frame {
        self.frame_between(CLIENT, SERVER)
    }
}

pub fn capture_of(packets: &[Tcp]) -> Vec<u8> {
    let frames: Vec<Frame> = packets.iter().map(Tcp::frame).collect();
    pcap(NANO, &frames)
}

/// A handshake that begins at 0: SYN, SYN-ACK after 300 us, ACK after 100 more. First bytes are
/// 1001 and 5001.
pub fn handshake() -> Vec<Tcp> {
    vec![
        tcp(0, true, "S", 1000, 0),
        tcp(300, false, "SA", 5000, 1001),
        tcp(400, true, "A", 1001, 5001),
    ]
}

pub fn snapped(frames: &[Frame], snap: usize) -> Vec<Frame> {
    frames
        .iter()
        .map(|frame| Frame {
            bytes: frame.bytes[..frame.bytes.len().min(snap)].to_vec(),
            ..frame.clone()
        })
        .collect()
}
