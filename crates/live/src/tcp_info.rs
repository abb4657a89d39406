//! What the kernel knows about one of our sockets: `getsockopt(TCP_INFO)`.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The kernel's own figures for one TCP socket. A field that this kernel does not give is absent.
///
/// Source: `struct tcp_info` in Linux `include/uapi/linux/tcp.h`, which only ever grows at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Smallest round trip seen lately, microsecond resolution; from the handshake until data was acknowledged.
    /// A delayed acknowledgement raises single samples, not the minimum.
    pub(crate) min_rtt: Option<Duration>,
    /// Payload bytes a full packet carries at most.
    pub(crate) segment_size: Option<u32>,
    /// Packets sent, with acknowledgements and retransmissions.
    pub(crate) packets_out: Option<u32>,
    /// Packets received, likewise.
    pub(crate) packets_in: Option<u32>,
    /// Packets sent again.
    pub(crate) retransmitted: Option<u32>,
}

impl TcpInfo {
    /// The figures of a socket now; absent when it is not TCP.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> Option<Self> {
        let mut bytes = [0_u8; 256];
        let mut length = libc::socklen_t::try_from(bytes.len()).ok()?;
        // SAFETY: the kernel writes at most `length` bytes into `bytes` and says in `length` how many.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                bytes.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        let given = bytes.get(..usize::try_from(length).ok()?)?;
        (result == 0).then(|| Self {
            min_rtt: word(given, MIN_RTT)
                .filter(|microseconds| *microseconds != u32::MAX)
                .map(|microseconds| Duration::from_micros(microseconds.into())),
            segment_size: word(given, SND_MSS).filter(|size| *size > 0),
            packets_out: word(given, SEGS_OUT),
            packets_in: word(given, SEGS_IN),
            retransmitted: word(given, TOTAL_RETRANS),
        })
    }
}

fn word(given: &[u8], offset: usize) -> Option<u32> {
    let bytes = given.get(offset..offset.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

// Offsets in `struct tcp_info`.
const SND_MSS: usize = 16;
const TOTAL_RETRANS: usize = 100;
const SEGS_OUT: usize = 136;
const SEGS_IN: usize = 140;
const MIN_RTT: usize = 148;

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
        let info = TcpInfo::of(server.as_fd()).expect("TCP");
        assert!(info.packets_in >= Some(2), "ACK and data: {info:?}");
        assert!(info.segment_size > Some(500), "{info:?}");
        assert!(
            info.min_rtt < Some(Duration::from_secs(1)) && info.min_rtt.is_some(),
            "{info:?}"
        );
        assert_eq!(info.retransmitted, Some(0));
    }

    #[test]
    fn what_is_not_tcp_has_no_figures() {
        let file = std::fs::File::open("/dev/null").expect("open");
        assert_eq!(TcpInfo::of(file.as_fd()), None);
    }
}
