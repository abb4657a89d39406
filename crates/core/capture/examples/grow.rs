//! Enlarges a capture for benchmarks: `grow SMALL LARGE MEGABYTES [PORT]`. Repeats the small
//! capture with other addresses and later times, 64 copies interleaved packet by packet. Reads
//! little-endian pcap of Ethernet and IPv4. Servers at PORT get addresses that begin with 10,
//! separate from their clients'.

use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Open connections, as a multiple of the small capture's.
const COPIES: u32 = 64;

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
    let mut out = BufWriter::new(File::create(large)?);
    out.write_all(header)?;
    let (mut written, mut round) = (0u64, 0u32);
    while written < target {
        let mut rest = records;
        while rest.len() > 16 {
            let length = 16 + u32::from_le_bytes([rest[8], rest[9], rest[10], rest[11]]) as usize;
            let (record, after) = rest.split_at(length.min(rest.len()));
            for copy in 0..COPIES {
                out.write_all(&moved(record, round, copy, apart))?;
                written += record.len() as u64;
            }
            rest = after;
        }
        round += 1;
    }
    out.flush()
}

fn moved(record: &[u8], round: u32, copy: u32, apart: Option<u16>) -> Vec<u8> {
    let mut record = record.to_vec();
    let seconds = u32::from_le_bytes([record[0], record[1], record[2], record[3]]) + round;
    record[..4].copy_from_slice(&seconds.to_le_bytes());
    let [_, high, middle, low] = (round * COPIES + copy).to_be_bytes();
    const ADDRESSES: usize = 16 + 14 + 12;
    let ports = ADDRESSES - 12 + 4 * usize::from(record[ADDRESSES - 12] & 0x0f);
    for (address, port) in [(ADDRESSES, ports), (ADDRESSES + 4, ports + 2)] {
        let port = u16::from_be_bytes([record[port], record[port + 1]]);
        if apart == Some(port) {
            record[address] = 10;
        }
        record[address + 1] = high;
        record[address + 2] = middle;
        record[address + 3] ^= low;
    }
    record
}
