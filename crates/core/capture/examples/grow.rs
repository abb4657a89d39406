//! Enlarges a capture for benchmarks: `grow SMALL LARGE MEGABYTES [PORT]`; LARGE can be `-`, a
//! pipe. Repeats the small capture with other addresses, sequence numbers and later times, 64
//! copies interleaved packet by packet. Reads little-endian pcap of Ethernet and IPv4. Servers at
//! PORT get addresses that begin with 10, separate from their clients'.

use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Open connections, as a multiple of the small capture's.
const COPIES: u32 = 64;
/// Rounds, and so seconds, until addresses repeat.
const ROUNDS: u32 = 1024;
const IP: usize = 16 + 14;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let ([_, small, large, megabytes] | [_, small, large, megabytes, _]) = arguments.as_slice() else {
        return Err(io::Error::other("usage: grow SMALL LARGE MEGABYTES [PORT]"));
    };
    let apart = arguments.get(4).map(|port| port.parse::<u16>());
    let apart = apart.transpose().map_err(io::Error::other)?;
    let target: u64 = megabytes.parse::<u64>().map_err(io::Error::other)? * 1_000_000;
    let bytes = std::fs::read(small)?;
    let (header, records) = bytes.split_at(24);
    let out: Box<dyn Write> = match large.as_str() {
        "-" => Box::new(io::stdout().lock()),
        path => Box::new(File::create(path)?),
    };
    let mut out = BufWriter::with_capacity(1 << 20, out);
    out.write_all(header)?;
    let (mut written, mut round) = (0u64, 0u32);
    let mut moved = Vec::new();
    while written < target {
        let mut rest = records;
        while rest.len() > 16 {
            let length = 16 + u32::from_le_bytes([rest[8], rest[9], rest[10], rest[11]]) as usize;
            let (record, after) = rest.split_at(length.min(rest.len()));
            for copy in 0..COPIES {
                moved.clear();
                moved.extend_from_slice(record);
                shift(&mut moved, round, copy, apart);
                out.write_all(&moved)?;
                written += moved.len() as u64;
            }
            rest = after;
        }
        round += 1;
    }
    out.flush()
}

fn shift(record: &mut [u8], round: u32, copy: u32, apart: Option<u16>) {
    let seconds = u32::from_le_bytes([record[0], record[1], record[2], record[3]]) + round;
    record[..4].copy_from_slice(&seconds.to_le_bytes());
    let number = round.wrapping_mul(COPIES).wrapping_add(copy);
    let [_, high, middle, low] = (number % (COPIES * ROUNDS)).to_be_bytes();
    let tcp = IP + 4 * usize::from(record[IP] & 0x0f);
    for (address, port) in [(IP + 12, tcp), (IP + 16, tcp + 2)] {
        let port = u16::from_be_bytes([record[port], record[port + 1]]);
        if apart == Some(port) {
            record[address] = 10;
        }
        record[address + 1] = high;
        record[address + 2] = middle;
        record[address + 3] ^= low;
    }
    // Equal numbers at other addresses would be one connection before and after a translation.
    let has_acknowledgement = record[tcp + 13] & 0x10 != 0;
    for place in [Some(tcp + 4), has_acknowledgement.then_some(tcp + 8)]
        .into_iter()
        .flatten()
    {
        let old = u32::from_be_bytes([
            record[place],
            record[place + 1],
            record[place + 2],
            record[place + 3],
        ]);
        let new = old.wrapping_add(number.wrapping_mul(0x9e37_79b9));
        record[place..place + 4].copy_from_slice(&new.to_be_bytes());
    }
}
