//! The packets of a block. Offsets are those of `struct tpacket_block_desc`, `tpacket3_hdr` and
//! `sockaddr_ll`; data outside of the block is ignored.

use crate::clock::WallStamp;

#[derive(Debug, Clone, Copy)]
pub struct SeenPacket<'a> {
    pub at: WallStamp,
    pub interface: u32,
    /// One of `ARPHRD_...` of `linux/if_arp.h`.
    pub device: u16,
    pub carries: u16,
    pub frame: &'a [u8],
    /// Offset of the network header.
    pub network: usize,
    /// The frame is shorter only if it exceeded a block.
    pub wire: u32,
    /// Removed by the kernel from the frame.
    pub vlan: Option<VlanTag>,
}

/// As in IEEE 802.1Q.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanTag {
    /// 0x8100, or 0x88a8 of a service provider.
    pub kind: u16,
    pub control: u16,
}

/// Returns the number of packets.
pub(super) fn each_of(block: &[u8], each: &mut dyn FnMut(&SeenPacket<'_>)) -> usize {
    let (Some(count), Some(first)) = (u32_at(block, 12), u32_at(block, 16)) else {
        return 0;
    };
    let mut at = first as usize;
    let mut seen = 0;
    for _ in 0..count {
        let Some(rest) = block.get(at..) else { break };
        let Some(packet) = packet(rest) else { break };
        each(&packet);
        seen += 1;
        match u32_at(rest, 0) {
            Some(next) if next > 0 => at += next as usize,
            _ => break,
        }
    }
    seen
}

fn packet(bytes: &[u8]) -> Option<SeenPacket<'_>> {
    let (seconds, nanoseconds) = (u32_at(bytes, 4)?, u32_at(bytes, 8)?);
    let (captured, wire, status) = (u32_at(bytes, 12)?, u32_at(bytes, 16)?, u32_at(bytes, 20)?);
    let (link, network) = (u16_at(bytes, 24)?, u16_at(bytes, 26)?);
    let vlan = (status & libc::TP_STATUS_VLAN_VALID != 0).then_some(VlanTag {
        kind: match status & libc::TP_STATUS_VLAN_TPID_VALID {
            0 => 0x8100,
            _ => u16_at(bytes, 36)?,
        },
        control: u16::try_from(u32_at(bytes, 32)? & 0xffff).ok()?,
    });
    let from = usize::from(link);
    Some(SeenPacket {
        at: WallStamp(u64::from(seconds) * 1_000_000_000 + u64::from(nanoseconds)),
        interface: u32_at(bytes, ADDRESS + 4)?,
        device: u16_at(bytes, ADDRESS + 8)?,
        carries: u16::from_be(u16_at(bytes, ADDRESS + 2)?),
        frame: bytes.get(from..from + captured as usize)?,
        network: usize::from(network).saturating_sub(from),
        wire,
        vlan,
    })
}

/// Offset of the address (`struct sockaddr_ll`) after the header.
const ADDRESS: usize = 48;

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_ne_bytes(*four))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_ne_bytes(*two))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Each packet has 14 bytes of link header and a byte of payload.
    fn block(statuses: &[u32]) -> Vec<u8> {
        let mut block = vec![0; 48];
        block[12..16].copy_from_slice(&(statuses.len() as u32).to_ne_bytes());
        block[16..20].copy_from_slice(&48_u32.to_ne_bytes());
        for (place, status) in (1..).zip(statuses) {
            let mut packet = vec![0; 112];
            let next = if place == statuses.len() { 0 } else { 112_u32 };
            let words = [next, 1_700_000_000, 5, 15, 900, *status];
            for (at, word) in words.into_iter().enumerate() {
                packet[4 * at..4 * at + 4].copy_from_slice(&word.to_ne_bytes());
            }
            packet[24..26].copy_from_slice(&82_u16.to_ne_bytes());
            packet[26..28].copy_from_slice(&96_u16.to_ne_bytes());
            packet[32..36].copy_from_slice(&7_u32.to_ne_bytes());
            packet[36..38].copy_from_slice(&0x88a8_u16.to_ne_bytes());
            packet[50..52].copy_from_slice(&0x0800_u16.to_be_bytes());
            packet[52..56].copy_from_slice(&3_u32.to_ne_bytes());
            packet[56..58].copy_from_slice(&1_u16.to_ne_bytes());
            packet[96] = place as u8;
            block.extend(packet);
        }
        block
    }

    #[test]
    fn packets_come_in_their_order_with_the_tag_that_was_taken_off() {
        let known = libc::TP_STATUS_VLAN_VALID;
        let mut tags = Vec::new();
        let count = each_of(
            &block(&[0, known, known | libc::TP_STATUS_VLAN_TPID_VALID]),
            &mut |seen| {
                tags.push((seen.vlan.map(|tag| (tag.kind, tag.control)), seen.frame[14]));
                assert_eq!(
                    (seen.at, seen.interface, seen.device),
                    (WallStamp(1_700_000_000_000_000_005), 3, 1)
                );
                assert_eq!(
                    (seen.carries, seen.network, seen.wire, seen.frame.len()),
                    (0x0800, 14, 900, 15)
                );
            },
        );
        assert_eq!(count, 3);
        assert_eq!(tags, [(None, 1), (Some((0x8100, 7)), 2), (Some((0x88a8, 7)), 3)]);
    }

    proptest! {
        #[test]
        fn no_block_reaches_beyond_itself(at in 0_usize..400, changed in any::<[u8; 4]>(), length in 0_usize..400) {
            let mut bytes = block(&[0, 0, 0]);
            let room = bytes.iter_mut().skip(at).zip(changed);
            room.for_each(|(byte, changed)| *byte = changed);
            bytes.truncate(length);
            let seen = each_of(&bytes, &mut |seen| assert!(seen.frame.len() <= length));
            prop_assert!(seen <= 400);
        }
    }
}
