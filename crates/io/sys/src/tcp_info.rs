//! Kernel figures of a socket from `getsockopt(TCP_INFO)`.

use crate::socket::options;
use model::BitRate;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// The kernel's figures for one TCP socket; `None` for fields that this kernel lacks.
///
/// They are from `struct tcp_info` in Linux `include/uapi/linux/tcp.h`, which only grows at its
/// end. Times have microsecond resolution. Packets with data and pure acknowledgements are
/// distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelFigures {
    /// Smoothed round-trip time (7/8 of the old value, 1/8 of the new). Each sample ends with an
    /// acknowledgement; if the reply carries it, the sample includes server time.
    pub rtt: Option<Duration>,
    pub rtt_deviation: Option<Duration>,
    /// The recent minimum, or that of the handshake until data was acknowledged. A delayed
    /// acknowledgement raises single samples, not the minimum.
    pub min_rtt: Option<Duration>,
    /// Rate of acknowledged payload, over the last round trip with a full send queue, or the best
    /// of shorter bursts since, each including its round trip.
    pub delivery_rate: Option<BitRate>,
    /// Maximum payload bytes of a packet sent.
    pub segment_size: Option<u32>,
    /// Payload bytes of a full packet received, estimated.
    pub received_segment_size: Option<u32>,
    /// With acknowledgements and retransmissions.
    pub packets_out: Option<u32>,
    pub packets_in: Option<u32>,
    /// With payload, including retransmissions.
    pub data_packets_out: Option<u32>,
    pub data_packets_in: Option<u32>,
    pub retransmitted: Option<u32>,
    /// Bytes in the send buffer that were not sent yet.
    pub unsent: Option<u32>,
    /// The congestion window in packets.
    pub window: Option<u32>,
    /// Whether packets carry TCP timestamps, which take 12 header bytes.
    pub timestamps: Option<bool>,
}

impl KernelFigures {
    pub fn read_socket(socket: BorrowedFd<'_>) -> Option<Self> {
        let mut bytes = [0_u8; 256];
        let given = options::get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes).ok()?;
        let microseconds = |offset| word(given, offset).map(|count| Duration::from_micros(count.into()));
        Some(Self {
            rtt: microseconds(RTT).filter(|rtt| !rtt.is_zero()),
            rtt_deviation: microseconds(RTT_DEVIATION),
            min_rtt: word(given, MIN_RTT)
                .filter(|microseconds| *microseconds != u32::MAX)
                .map(|microseconds| Duration::from_micros(microseconds.into())),
            delivery_rate: long_word(given, DELIVERY_RATE)
                .and_then(|bytes| BitRate::from_bits_per_second(bytes.saturating_mul(8))),
            segment_size: word(given, SND_MSS).filter(|size| *size > 0),
            received_segment_size: word(given, RCV_MSS).filter(|size| *size > 0),
            packets_out: word(given, SEGS_OUT),
            packets_in: word(given, SEGS_IN),
            data_packets_out: word(given, DATA_SEGS_OUT),
            data_packets_in: word(given, DATA_SEGS_IN),
            retransmitted: word(given, TOTAL_RETRANS),
            unsent: word(given, NOTSENT_BYTES),
            window: word(given, SND_CWND),
            timestamps: given.get(OPTIONS).map(|options| options & OPTION_TIMESTAMPS != 0),
        })
    }

    /// The rate that the congestion window allows.
    pub fn window_rate(&self) -> Option<BitRate> {
        let bytes = u64::from(self.window?) * u64::from(self.segment_size?);
        let rate = bytes as f64 * 8.0 / self.min_rtt.filter(|rtt| !rtt.is_zero())?.as_secs_f64();
        BitRate::from_bits_per_second(rate as u64)
    }
}

fn word(given: &[u8], offset: usize) -> Option<u32> {
    let bytes = given.get(offset..offset.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

fn long_word(given: &[u8], offset: usize) -> Option<u64> {
    let bytes = given.get(offset..offset.checked_add(8)?)?;
    bytes.try_into().ok().map(u64::from_ne_bytes)
}

const OPTION_TIMESTAMPS: u8 = 1;
// Offsets in `struct tcp_info`.
const OPTIONS: usize = 5;
const SND_MSS: usize = 16;
const RCV_MSS: usize = 20;
const RTT: usize = 68;
const RTT_DEVIATION: usize = 72;
const SND_CWND: usize = 80;
const TOTAL_RETRANS: usize = 100;
const SEGS_OUT: usize = 136;
const SEGS_IN: usize = 140;
const NOTSENT_BYTES: usize = 144;
const MIN_RTT: usize = 148;
const DATA_SEGS_IN: usize = 152;
const DATA_SEGS_OUT: usize = 156;
const DELIVERY_RATE: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn the_kernel_counts_packets_and_times_the_handshake() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let mut client = TcpStream::connect(listener.local_addr().expect("address")).expect("connect");
        let (mut server, _) = listener.accept().expect("accept");
        client.write_all(b"ping").expect("write");
        let mut bytes = [0; 4];
        server.read_exact(&mut bytes).expect("read");
        let info = KernelFigures::read_socket(server.as_fd()).expect("TCP");
        assert!(info.packets_in >= Some(2), "ACK and data: {info:?}");
        assert!(info.segment_size > Some(500), "{info:?}");
        assert!(
            info.min_rtt < Some(Duration::from_secs(1)) && info.min_rtt.is_some(),
            "{info:?}"
        );
        assert_eq!((info.retransmitted, info.unsent), (Some(0), Some(0)));
        assert!(info.window > Some(1), "{info:?}");
        assert!(info.window_rate().is_some());
        assert_eq!((info.data_packets_in, info.data_packets_out), (Some(1), Some(0)));
        assert!(
            info.rtt >= info.min_rtt && info.rtt_deviation.is_some(),
            "{info:?}"
        );
    }

    #[test]
    fn what_is_not_tcp_has_no_figures() {
        let file = std::fs::File::open("/dev/null").expect("open");
        assert_eq!(KernelFigures::read_socket(file.as_fd()), None);
    }
}
