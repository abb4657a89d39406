//! The ports of a tunnel: CPU time, and availability regardless of the answering process.

use super::process::{IDLE, cores_used};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};
use testbed::Started;
use testbed::binary::longwire;

fn far(listen: &str, to: SocketAddr) -> (Started, SocketAddr) {
    let mut command = longwire(&["tunnel", "far", "--listen", listen, "--to", &to.to_string()]);
    Started::listening(command.stdout(Stdio::null()), " listens on ")
}

fn database() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || std::io::copy(&mut &stream, &mut &stream));
        }
    });
    address
}

#[test]
fn a_full_door_costs_no_processor() {
    let (far, address) = far("127.0.0.1:0", database());
    let silent: Vec<TcpStream> = (0..64)
        .map(|_| TcpStream::connect(address).expect("it listens"))
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    let cores = cores_used(&far);
    assert!(
        cores < IDLE,
        "{cores:.2} cores for {} silent connections",
        silent.len()
    );
}

const CREDIT: [u8; 12] = [6, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1];

#[test]
fn who_floods_a_lane_with_credit_is_turned_out() {
    let (far, address) = far("127.0.0.1:0", database());
    let mut lane = TcpStream::connect(address).expect("it listens");
    lane.write_all(b"lwt\n").expect("it takes it");
    let mut welcome = [0; 4];
    lane.read_exact(&mut welcome).expect("it answers");
    let hello = [b"l\0\0\x0d\0\0\0\0longwire".as_slice(), &[0, 1, 0, 0, 0]].concat();
    let open = [2, 0, 0, 0, 0, 0, 0, 1];
    lane.write_all(&[hello.as_slice(), &open].concat())
        .expect("it takes it");
    let mut reading = lane.try_clone().expect("a socket");
    std::thread::spawn(move || std::io::copy(&mut reading, &mut std::io::sink()));
    let flood = CREDIT.repeat(1000);
    let until = Instant::now() + Duration::from_secs(10);
    while lane.write_all(&flood).is_ok() {
        assert!(Instant::now() < until, "it takes credit for ever");
    }
    let cores = cores_used(&far);
    assert!(cores < IDLE, "{cores:.2} cores");
}

#[test]
fn the_near_end_survives_any_first_answer() {
    let place = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let to = place.local_addr().expect("it has one");
    let mut command = longwire(&[
        "tunnel",
        "near",
        "--listen",
        "127.0.0.1:0",
        "--lanes",
        "1",
        "--to",
    ]);
    command.arg(to.to_string()).stdout(Stdio::null());
    let (mut near, address) = Started::listening(&mut command, " listens on ");
    let answers: [&[u8]; 5] = [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        &[21, 3, 3, 0, 2, 2, 40],
        b"lwt\nl\0\0\x0d\0\0\0\0longwire\0\x63\0\0\0",
        b"lwt\n\xff\xff\xff\xff\xff\xff\xff\xff",
    ];
    for answer in answers {
        let (mut lane, _) = place.accept().expect("it comes");
        lane.write_all(answer).expect("it is taken");
        // Until the tunnel disconnects.
        lane.set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a socket");
        let _ = lane.shutdown(std::net::Shutdown::Write);
        let _ = std::io::copy(&mut lane, &mut std::io::sink());
        assert!(
            near.child().try_wait().expect("it can be asked").is_none(),
            "it goes on: {answer:?}"
        );
    }
    drop(place);
    let (_far, _) = far(&to.to_string(), database());
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let mut client = TcpStream::connect(address).expect("it listens");
        client
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a socket");
        let mut heard = [0; 8];
        if client.write_all(b"select 1").is_ok() && client.read_exact(&mut heard).is_ok() {
            return assert_eq!(&heard, b"select 1");
        }
        assert!(Instant::now() < until, "no lane comes up");
    }
}
