//! A peer without keys that violates the protocol is refused with one line.

use crate::stand::{self, Told};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;
use testbed::waiting::wait_until;

const GREETING: &[u8] = b"lwt\n";

/// The current version, at level 1.
const HELLO: &[u8] = b"l\0\0\x0d\0\0\0\0longwire\0\x02\x01\0\0";

fn refused(far: SocketAddr, told: &Told, words: &[u8]) -> String {
    let before = told.lock().expect("told").len();
    let mut stranger = stand::client(far);
    stranger.write_all(GREETING).expect("write");
    stranger.write_all(words).expect("write");
    stranger.shutdown(Shutdown::Write).expect("shutdown");
    let address = stranger.local_addr().expect("address").to_string();
    // In every case the connection is closed.
    let mut rest = Vec::new();
    stranger.read_to_end(&mut rest).ok();
    wait_until("it is reported", || told.lock().expect("told").len() > before);
    let told = told.lock().expect("told");
    assert_eq!(told.len(), before + 1, "one line: {told:?}");
    told[before].replace(&address, "PEER")
}

#[test]
fn who_says_no_hello_of_this_version_is_refused_with_one_line() {
    let (far, told) = stand::far(stand::echo_server(), stand::any_port());
    let address = far.addresses()[0];
    let newer = HELLO
        .iter()
        .enumerate()
        .map(|(place, byte)| if place == 17 { 7 } else { *byte });
    let cases: [(Vec<u8>, &str); 5] = [
        (stand::bytes(3, 5000), "does not speak the tunnel's protocol"),
        (
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            "does not speak the tunnel's protocol",
        ),
        (
            newer.collect(),
            "speaks version 7 of the tunnel's protocol, this longwire version 2",
        ),
        (HELLO[..11].to_vec(), "closed the lane"),
        (Vec::new(), "closed the lane"),
    ];
    for (words, says) in &cases {
        let line = refused(address, &told, words);
        assert_eq!(line, format!("refused: the near end PEER {says}"));
    }
    assert_eq!(far.totals().refused_peers, 5);
    assert_eq!(far.totals().lanes, 0);
    // The port still works.
    let (near, _) = stand::near(address, 1, 1);
    let mut client = stand::client(near.addresses()[0]);
    client.write_all(b"x").expect("write");
    client.read_exact(&mut [0; 1]).expect("an echo");
}

#[test]
fn a_breach_after_the_hello_ends_that_lane_alone() {
    let (far, told) = stand::far(stand::echo_server(), stand::any_port());
    let (near, _) = stand::near(far.addresses()[0], 1, 1);
    let mut client = stand::client(near.addresses()[0]);
    client.write_all(b"x").expect("write");
    client.read_exact(&mut [0; 1]).expect("an echo");
    let mut stranger = stand::client(far.addresses()[0]);
    stranger
        .write_all(&[GREETING, HELLO, &[0x55; 100]].concat())
        .expect("write");
    let mut rest = Vec::new();
    stranger.read_to_end(&mut rest).ok();
    wait_until("reported", || {
        let told = told.lock().expect("told");
        told.iter()
            .any(|line| line.ends_with("sent a frame of the unknown kind 85; 0 streams ended with it"))
    });
    std::thread::sleep(Duration::from_millis(10));
    client.write_all(b"x").expect("write");
    client.read_exact(&mut [0; 1]).expect("an echo");
    assert_eq!(far.totals().lanes, 1);
}
