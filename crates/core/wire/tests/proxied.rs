//! Every recorded connection decodes the same after a header of the PROXY protocol.

mod streams;

use model::{Direction, Timestamp};
use streams::{Segment, play, recordings};

fn header_2(command: u8, family: u8, addresses: usize) -> Vec<u8> {
    let length = u16::try_from(addresses).expect("short").to_be_bytes();
    let head = [
        b"\r\n\r\n\0\r\nQUIT\n".as_slice(),
        &[0x20 | command, family],
        &length,
    ]
    .concat();
    [head, vec![7; addresses]].concat()
}

fn headers() -> Vec<Vec<u8>> {
    vec![
        b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 5432\r\n".to_vec(),
        b"PROXY TCP6 2001:db8::1 2001:db8::2 56324 5432\r\n".to_vec(),
        b"PROXY UNKNOWN\r\n".to_vec(),
        header_2(1, 0x11, 12),
        header_2(1, 0x21, 36),
        // With further values after the addresses, and a health check of the balancer itself.
        header_2(1, 0x11, 12 + 60),
        header_2(0, 0, 0),
    ]
}

fn segment(bytes: &[u8]) -> Segment {
    Segment {
        direction: Direction::ClientToServer,
        at: Timestamp::default(),
        bytes: bytes.to_vec(),
        hole: 0,
    }
}

#[test]
fn behind_a_header_every_connection_decodes_as_without() {
    for recording in recordings() {
        let (plain, stream) = play(recording.server_port, &recording.segments);
        let expected = stream.decoding();
        for header in headers() {
            let mut together = recording.segments.clone();
            let first = together
                .iter_mut()
                .find(|segment| segment.direction == Direction::ClientToServer);
            let asks_first = recording.segments[0].direction == Direction::ClientToServer;
            if let Some(first) = first.filter(|first| asks_first && first.hole == 0) {
                first.bytes.splice(..0, header.iter().copied());
            } else {
                together.insert(0, segment(&header));
            }
            let alone = [vec![segment(&header)], recording.segments.clone()].concat();
            let pieces: Vec<Segment> = header.chunks(5).map(segment).collect();
            let split = [pieces, recording.segments.clone()].concat();
            for segments in [together, alone, split] {
                let (seen, stream) = play(recording.server_port, &segments);
                let name = recording.path.display();
                let (first, rest) = seen.split_first().expect("a header");
                assert_eq!(first.bytes, header.len() as u64, "{name}");
                assert!(first.what.starts_with("Connect"), "{name}: {first:?}");
                let rest: Vec<_> = rest.iter().map(|seen| (&seen.what, seen.bytes)).collect();
                let plain: Vec<_> = plain.iter().map(|seen| (&seen.what, seen.bytes)).collect();
                assert_eq!(rest, plain, "{name}");
                assert_eq!(stream.decoding().protocol, expected.protocol, "{name}");
            }
        }
    }
}

#[test]
fn what_only_begins_like_a_header_is_no_header() {
    let others: [&[u8]; 6] = [
        b"PROXY",
        b"PROXY TCP5 192.0.2.1 192.0.2.2 56324 5432\r\n",
        b"PROXYING is a word\r\n",
        b"\r\n\r\n\0\r\nQUIT\n",
        b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c",
        b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 5432 and so on without an end, far beyond the hundred and seven bytes that there may be",
    ];
    for other in others {
        let (seen, _) = play(9999, &[segment(other)]);
        let bytes: u64 = seen.iter().map(|seen| seen.bytes).sum();
        assert_eq!(bytes, other.len() as u64);
        assert!(
            seen.iter().all(|seen| !seen.what.starts_with("Connect")),
            "{seen:?}"
        );
    }
}
