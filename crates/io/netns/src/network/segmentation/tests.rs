use super::*;

const MSS: usize = 1448;

/// `payload` bytes from `sequence` on, with CWR at the start and PSH at the end.
fn frame(sequence: u32, payload: usize) -> Vec<u8> {
    let mut bytes = vec![LACKS_CHECKSUM, IS_TCP4, 0, 0];
    for field in [MSS, 20, TCP_CHECKSUM] {
        bytes.extend((field as u16).to_ne_bytes());
    }
    bytes.extend([0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, TCP, 0, 0]);
    bytes.extend([198, 18, 0, 1, 198, 18, 0, 2, 0x9c, 0x40, 0x15, 0x38]);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0, 0, 0, 7, 8 << 4, CWR | PSH | 0x10, 1, 0, 0, 0, 0, 0]);
    bytes.extend([1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 8]);
    bytes.extend((0..payload).map(|number| (number % 251) as u8));
    bytes
}

fn cut(mut bytes: Vec<u8>) -> Vec<Packet> {
    let mut frame = Frame::new(&mut bytes).unwrap();
    let mut packets = Vec::new();
    let mut buffers = Buffers::default();
    while let Some(segment) = frame.next_segment() {
        packets.push(buffers.copy(segment).unwrap());
    }
    packets
}

fn joined(packets: Vec<Packet>) -> (Joined, usize) {
    let mut joined = Joined::default();
    let mut taken = 0;
    for packet in packets {
        if !joined.takes(&packet) {
            break;
        }
        taken += 1;
        joined.add(packet);
    }
    (joined, taken)
}

#[test]
fn packets_of_a_frame_are_as_the_kernel_cuts_them() {
    let packets = cut(frame(u32::MAX, 2 * MSS + 100));
    let sequences = [u32::MAX, MSS as u32 - 1, 2 * MSS as u32 - 1];
    let flags = [CWR | 0x10, 0x10, PSH | 0x10];
    for (number, packet) in packets.iter().enumerate() {
        let bytes = &packet.bytes;
        let headers = Headers::parse(bytes).unwrap();
        assert!(packet.is_part);
        assert_eq!(headers.number(2, 2) as usize, bytes.len());
        assert_eq!(headers.number(4, 2), [0xffff, 0, 1][number]);
        assert_eq!(headers.sequence(), sequences[number]);
        assert_eq!(headers.flags(), flags[number]);
        assert_eq!(checksum(&bytes[..20]), 0);
        assert_eq!(sum(&bytes[20..], addresses_sum(bytes, bytes.len() - 20)), 0xffff);
        assert!(
            bytes[52..]
                .iter()
                .enumerate()
                .all(|(at, byte)| *byte == ((number * MSS + at) % 251) as u8)
        );
    }
    assert_eq!(
        packets
            .iter()
            .map(|packet| packet.bytes.len())
            .collect::<Vec<_>>(),
        [1500, 1500, 152]
    );
}

#[test]
fn joined_packets_are_a_frame_of_the_same_packets() {
    // The first packet, with CWR, goes alone.
    let mut packets = cut(frame(1, 40 * MSS + 7));
    packets.remove(0);
    let (joined, taken) = joined(packets);
    assert_eq!(taken, 40);
    let Some([first, last]) = &joined.ends else {
        panic!("a frame")
    };
    let (begin, length) = joined.begin(first, last);
    let mut bytes = begin[..length].to_vec();
    for packet in &joined.packets {
        bytes.extend(&packet.bytes[first.length..]);
    }
    assert_eq!(bytes.len() - PREFIX_BYTES, joined.length);
    assert_eq!(cut(bytes), joined.packets);
}

#[test]
fn only_what_continues_is_joined() {
    let later = |sequence: usize| cut(frame(sequence as u32, 3 * MSS)).remove(1);
    let [one, two, three] = [0, 1, 2].map(|number| later(1 + number * MSS));
    let (mut gap, taken) = joined(vec![one, three]);
    assert_eq!(taken, 1);
    assert!(gap.takes(&two));
    let whole = Packet {
        is_part: false,
        ..later(1 + MSS)
    };
    assert!(!gap.takes(&whole));
    let mut other = later(1 + MSS);
    other.bytes[19] = 3;
    assert!(!gap.takes(&other));
    gap.add(two);
    // PSH ends a frame.
    let (end, _) = joined(cut(frame(1, MSS / 2)));
    assert!(!end.takes(&cut(frame(1 + MSS as u32 / 2, 3 * MSS)).remove(1)));
}

#[test]
fn a_packet_of_its_own_gets_its_checksum() {
    let mut bytes = frame(1, 100);
    bytes[1] = 0;
    let [packet] = <[Packet; 1]>::try_from(cut(bytes)).unwrap();
    assert!(!packet.is_part);
    // The kernel leaves the sum of the addresses in the field; here it is zero.
    assert_eq!(sum(&packet.bytes[20..], 0), 0xffff);
    let (one, _) = joined(vec![packet]);
    assert!(one.ends.is_none());
}
