//! Packets that the gateway sends if the outside refuses.

use super::packet_filter::{ACK, ICMP, RST, TCP};
use std::net::{Ipv4Addr, SocketAddrV4};
use sys::checksum::checksum;

/// Refuses a connection (RFC 9293, 3.10.7.1).
pub(super) fn refusal(client: SocketAddrV4, server: SocketAddrV4, sequence: u32) -> Vec<u8> {
    let mut segment = [0; 20];
    segment[..2].copy_from_slice(&server.port().to_be_bytes());
    segment[2..4].copy_from_slice(&client.port().to_be_bytes());
    segment[8..12].copy_from_slice(&sequence.wrapping_add(1).to_be_bytes());
    segment[12] = 5 << 4;
    segment[13] = RST | ACK;
    let mut summed = Vec::from(server.ip().octets());
    summed.extend(client.ip().octets());
    summed.extend([0, TCP, 0, segment.len() as u8]);
    summed.extend(segment);
    segment[16..18].copy_from_slice(&checksum(&summed).to_be_bytes());
    packet(*server.ip(), *client.ip(), TCP, &segment)
}

/// "Host unreachable" (RFC 792) for `unanswered`.
pub(super) fn unreachable(gateway: Ipv4Addr, client: Ipv4Addr, unanswered: &[u8]) -> Vec<u8> {
    let mut message = vec![3, 1, 0, 0, 0, 0, 0, 0];
    let header = usize::from(unanswered.first().copied().unwrap_or(0x45) & 0x0f) * 4;
    message.extend(unanswered.iter().take(header + 8));
    let sum = checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    packet(gateway, client, ICMP, &message)
}

fn packet(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + content.len()).unwrap_or(u16::MAX);
    let [high, low] = length.to_be_bytes();
    let mut packet = vec![0x45, 0, high, low, 0, 0, 0x40, 0, 64, protocol, 0, 0];
    packet.extend(from.octets());
    packet.extend(to.octets());
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(content);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_right_sums_and_acknowledges_the_opening() {
        let client = "198.18.0.1:40000".parse().unwrap();
        let server = "192.0.2.7:5432".parse().unwrap();
        let packet = refusal(client, server, u32::MAX);
        assert_eq!(checksum(&packet[..20]), 0);
        let mut summed = packet[12..20].to_vec();
        summed.extend([0, TCP, 0, 20]);
        summed.extend(&packet[20..]);
        assert_eq!(checksum(&summed), 0);
        assert_eq!(packet[20 + 8..20 + 12], [0, 0, 0, 0]);
    }

    #[test]
    fn unreachable_quotes_the_packet() {
        let opening = packet([198, 18, 0, 1].into(), [192, 0, 2, 7].into(), TCP, &[9; 40]);
        let answer = unreachable([198, 18, 0, 2].into(), [198, 18, 0, 1].into(), &opening);
        assert_eq!(answer.len(), 20 + 8 + 28);
        assert_eq!(checksum(&answer[20..]), 0);
        assert_eq!(answer[28..], opening[..28]);
    }
}
