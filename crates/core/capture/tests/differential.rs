//! Packets and addresses agree with independent readers of the same formats.

mod support;

use etherparse::{SlicedPacket, TransportSlice};
use model::Direction;
use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{Block, LegacyPcapReader, PcapBlockOwned, PcapError, PcapNGReader};
use std::collections::BTreeMap;
use support::build::{self};
use support::read_bytes;

fn by_port<'a>(frames: impl Iterator<Item = &'a [u8]>) -> BTreeMap<u16, (u64, u64)> {
    let mut ports = BTreeMap::new();
    for frame in frames {
        let packet = SlicedPacket::from_ethernet(frame).expect("whole headers");
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else {
            continue;
        };
        let entry: &mut (u64, u64) = ports.entry(tcp.source_port()).or_default();
        entry.0 += 1;
        entry.1 += tcp.payload().len() as u64;
    }
    ports
}

fn ours(bytes: &[u8]) -> BTreeMap<u16, (u64, u64)> {
    let (observed, _) = read_bytes(bytes).expect("a capture");
    let mut ports = BTreeMap::new();
    for observed in observed {
        let totals = observed.totals();
        for direction in Direction::ALL {
            let port = match direction {
                Direction::ClientToServer => observed.client.port,
                Direction::ServerToClient => observed.server.port,
            };
            let entry: &mut (u64, u64) = ports.entry(port).or_default();
            entry.0 += totals.packets.expect("counted")[direction];
            entry.1 += totals.payload_bytes[direction];
        }
    }
    ports
}

fn packets(mut reader: impl PcapReaderIterator) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    loop {
        match reader.next() {
            Ok((offset, block)) => {
                match block {
                    PcapBlockOwned::Legacy(packet) => packets.push(packet.data.to_vec()),
                    PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                        packets.push(packet.data[..packet.caplen as usize].to_vec());
                    }
                    PcapBlockOwned::LegacyHeader(_) | PcapBlockOwned::NG(_) => {}
                }
                reader.consume(offset);
            }
            Err(PcapError::Eof) => return packets,
            Err(PcapError::Incomplete(_)) => reader.refill().expect("in memory"),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn pcap_and_pcapng_agree_with_pcap_parser_and_etherparse() {
    for name in support::all_data() {
        let plain = support::data(&name);
        let expected = packets(LegacyPcapReader::new(1 << 20, plain.as_slice()).expect("a pcap"));
        assert_eq!(
            ours(&plain),
            by_port(expected.iter().map(Vec::as_slice)),
            "{name}"
        );
        for big in [false, true] {
            let mut next_generation = build::section(big);
            next_generation.extend(build::interface(big, 1, 0, None, None));
            for frame in build::frames(&plain) {
                next_generation.extend(build::enhanced(big, 0, frame.at / 1000, &frame));
            }
            let found = packets(PcapNGReader::new(1 << 20, next_generation.as_slice()).expect("a pcapng"));
            assert_eq!(found, expected);
            assert_eq!(
                ours(&next_generation),
                by_port(found.iter().map(Vec::as_slice)),
                "{name}"
            );
        }
    }
}
