//! Measures what this machine adds to a round trip through a link without delay.

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};
use sys::OsError;
use sys::signals::block_all_signals;

/// The lower quartile of echo times from the kernel of `peer`, over a link without delay, with
/// pauses as on a link with delay. `None` if this process may not ping.
pub(super) fn measure(peer: Ipv4Addr) -> Option<Duration> {
    let socket = ping_socket().ok()?;
    socket.set_read_timeout(Some(TIMEOUT)).ok()?;
    socket.connect(SocketAddr::from((peer, 0))).ok()?;
    let mut spans: Vec<Duration> = (0..ECHOES).filter_map(|_| echo(&socket)).collect();
    spans.sort_unstable();
    // The lower quartile excludes moments when the machine was busy.
    spans.get(spans.len() / 4).copied()
}

/// Median of TCP exchanges with a server of this system over a link without delay and its gateway,
/// less that of direct exchanges. `connect` connects from inside.
pub(super) fn measure_gateway(connect: impl FnOnce(u16) -> io::Result<TcpStream>) -> Option<Duration> {
    let listener = sys::listening::on_loopback().ok()?;
    let port = listener.local_addr().ok()?.port();
    let server = std::thread::spawn(move || {
        block_all_signals();
        // The two connections, in order of their creation, each until its end.
        let accepted: Vec<TcpStream> = listener.incoming().take(2).flatten().collect();
        std::thread::scope(|scope| {
            for stream in accepted {
                scope.spawn(move || mirror(stream));
            }
        });
    });
    let straight = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    // Without a way from inside the server must not wait for it.
    let through = connect(port)
        .or_else(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)))
        .ok()?;
    let mut spans: [Vec<Duration>; 2] = Default::default();
    for stream in [&straight, &through] {
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    }
    for _ in 0..ECHOES / 2 {
        spans[0].extend(exchange(&straight));
        spans[1].extend(exchange(&through));
    }
    drop((straight, through));
    server.join().ok()?;
    let [straight, through] = spans.map(model::median);
    Some(through?.saturating_sub(straight?))
}

fn mirror(mut stream: TcpStream) {
    block_all_signals();
    let mut byte = [0];
    stream.set_nodelay(true).ok();
    while stream.read(&mut byte).is_ok_and(|count| count > 0) && stream.write_all(&byte).is_ok() {}
}

fn exchange(mut stream: &TcpStream) -> Option<Duration> {
    std::thread::sleep(REST * 2);
    let begin = Instant::now();
    stream.write_all(&[0]).ok()?;
    stream.read_exact(&mut [0]).ok()?;
    Some(begin.elapsed())
}

fn echo(socket: &UdpSocket) -> Option<Duration> {
    std::thread::sleep(REST);
    let begin = Instant::now();
    // Type 8, code 0 (RFC 792); the kernel fills in identifier and checksum.
    socket.send(&[8, 0, 0, 0, 0, 0, 0, 0]).ok()?;
    socket.recv(&mut [0; 64]).ok()?;
    Some(begin.elapsed())
}

/// A socket for ICMP echoes without privileges (`icmp(7)`), then used like UDP.
fn ping_socket() -> Result<UdpSocket, OsError> {
    let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, Some(ipproto::ICMP))?;
    Ok(socket.into())
}

const ECHOES: u32 = 24;
const REST: Duration = Duration::from_millis(1);
const TIMEOUT: Duration = Duration::from_millis(100);
