use super::*;
use crate::handshake::ClientHandshake;
use crate::keys::{SecretKey, generate_key_files};
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, channel};

const LONG: Duration = Duration::from_secs(10);

struct Stand {
    acceptor: Acceptor,
    client_handshake: ClientHandshake,
    told: Receiver<AdmissionEvent>,
    _directory: tempfile::TempDir,
}

fn stand(limits: AdmissionLimits) -> Stand {
    let directory = tempfile::tempdir().unwrap();
    let [near, far] = ["near", "far"].map(|name| {
        let path = directory.path().join(name).to_str().unwrap().to_owned();
        generate_key_files(&path).unwrap();
        SecretKey::load(&path).unwrap()
    });
    let at_near = TunnelSecurity::Keys {
        own: near.clone(),
        peers: vec![far.fingerprint()],
    };
    let at_far = TunnelSecurity::Keys {
        peers: vec![near.fingerprint()],
        own: far,
    };
    let (sender, told) = channel();
    let tell = Box::new(move |event| drop(sender.send(event)));
    Stand {
        acceptor: Acceptor::open(&[SocketAddr::from(([127, 0, 0, 1], 0))], &at_far, limits, tell).unwrap(),
        client_handshake: ClientHandshake::new(&at_near).unwrap(),
        told,
        _directory: directory,
    }
}

impl Stand {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.acceptor.addresses()[0]).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream
    }

    /// A near end with the right key, and the acceptor's result.
    fn come_in(&self) -> (Transport, Admitted) {
        let socket = Socket::adopt(self.connect()).unwrap();
        let near = self.client_handshake.complete(socket, LONG).unwrap();
        loop {
            if let AdmissionEvent::Admitted(admitted) = self.told.recv_timeout(LONG).unwrap() {
                return (near, admitted);
            }
        }
    }

    fn refusal(&self) -> PeerFault {
        match self.told.recv_timeout(LONG).unwrap() {
            AdmissionEvent::Refused { fault, .. } => fault,
            other => panic!("{other:?}"),
        }
    }
}

/// Reads until the other end closes.
fn closed(mut stream: TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    // A reset counts as an end.
    stream.read_to_end(&mut said).ok();
    said
}

#[test]
fn who_is_no_tunnel_is_turned_away_with_one_word_each() {
    let stand = stand(AdmissionLimits::default());
    let random: Vec<u8> = (0..4096_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut tls = vec![22, 3, 1, 2, 0];
    tls.extend(&random);
    for hello in [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(),
        b"\x00\x00\x00\x08\x04\xd2\x16\x2f",
        &random,
        &tls,
        &[22, 3, 1, 255, 255, 1],
    ] {
        let mut stream = stand.connect();
        stream.write_all(hello).ok();
        // The peer may close before all is written.
        stream.shutdown(std::net::Shutdown::Write).ok();
        closed(stream);
        assert_eq!(stand.refusal(), PeerFault::NotATunnel, "{:?}", hello.get(..5));
        // Five lines are reported per ten seconds.
    }
    assert_eq!(stand.acceptor.refused(), 5);
    stand.come_in();
}

#[test]
fn a_recorded_handshake_is_worth_nothing() {
    let stand = stand(AdmissionLimits::default());
    // Records a near end's bytes.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = stand.connect();
    let recording = std::thread::spawn(move || {
        let (near, _) = listener.accept().unwrap();
        let (mut back_from, mut back_to) = (acceptor.try_clone().unwrap(), near.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut back_from, &mut back_to));
        let (mut near, mut acceptor) = (near, acceptor);
        let mut recorded = Vec::new();
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = near.read(&mut part) {
            recorded.extend_from_slice(&part[..count]);
            acceptor.write_all(&part[..count]).unwrap();
        }
        recorded
    });
    let socket = Socket::adopt(TcpStream::connect(address).unwrap()).unwrap();
    drop(stand.client_handshake.complete(socket, LONG).unwrap());
    assert!(matches!(
        stand.told.recv_timeout(LONG),
        Ok(AdmissionEvent::Admitted(_))
    ));
    let recorded = recording.join().unwrap();
    let mut replay = stand.connect();
    replay.write_all(&recorded).unwrap();
    closed(replay);
    assert_eq!(stand.refusal(), PeerFault::Undecipherable);
    // Cut off within the first message.
    let mut cut = stand.connect();
    cut.write_all(recorded.get(..100).unwrap()).unwrap();
    cut.shutdown(std::net::Shutdown::Write).unwrap();
    closed(cut);
    assert_eq!(stand.refusal(), PeerFault::Left);
}

#[test]
fn nobody_has_more_than_the_deadline_whatever_dribbles_in() {
    let after = Duration::from_millis(400);
    let stand = stand(AdmissionLimits {
        handshake: after,
        ..AdmissionLimits::default()
    });
    let silent = stand.connect();
    let dribbling = stand.connect();
    let mut writing = dribbling.try_clone().unwrap();
    let dribble = std::thread::spawn(move || {
        // Sends a record so slowly that it takes minutes.
        let bytes = [22, 3, 1, 2, 0].into_iter().chain(std::iter::repeat(1));
        for byte in bytes {
            if writing.write_all(&[byte]).is_err() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let began = Instant::now();
    closed(silent);
    closed(dribbling);
    assert!(began.elapsed() < LONG);
    dribble.join().unwrap();
    assert_eq!(stand.refusal(), PeerFault::TooSlow { after });
    assert_eq!(stand.refusal(), PeerFault::TooSlow { after });
    stand.come_in();
}

#[test]
fn a_crowd_at_the_door_does_not_keep_others_out() {
    let stand = stand(AdmissionLimits::default());
    let crowd: Vec<_> = (0..400).map(|_| stand.connect()).collect();
    let (_near, admitted) = stand.come_in();
    assert!(admitted.peer.ip().is_loopback());
    let oldest = crowd.into_iter().next().unwrap();
    assert_eq!(closed(oldest), b"");
    assert!(
        stand.acceptor.refused() >= 400 - 64,
        "{}",
        stand.acceptor.refused()
    );
}

#[test]
fn the_one_that_gives_way_is_of_the_address_with_most_at_the_door() {
    let stand = stand(AdmissionLimits {
        pending_handshakes: 4,
        ..AdmissionLimits::default()
    });
    let address = stand.acceptor.addresses()[0];
    // The first connection is the only one of its address.
    let lonely = Socket::unconnected(&address).unwrap();
    bind(&lonely, Ipv4Addr::new(127, 0, 0, 2));
    lonely.begin_to_connect(&address).unwrap();
    let crowd: Vec<_> = (0..8).map(|_| stand.connect()).collect();
    for stream in crowd.into_iter().take(5) {
        closed(stream);
        assert_eq!(stand.refusal(), PeerFault::Crowded { most: 4 });
    }
    stand.client_handshake.complete(lonely, LONG).unwrap();
}

#[test]
fn there_are_only_so_many_lanes() {
    let stand = stand(AdmissionLimits {
        lanes: 1,
        ..AdmissionLimits::default()
    });
    let (near, admitted) = stand.come_in();
    let mut second = stand.connect();
    second.write_all(b"x").unwrap();
    assert_eq!(stand.refusal(), PeerFault::NotATunnel);
    let socket = Socket::adopt(stand.connect()).unwrap();
    assert_eq!(
        stand.client_handshake.complete(socket, LONG).unwrap_err(),
        PeerFault::NoRoom
    );
    assert_eq!(stand.refusal(), PeerFault::NoMoreLanes { most: 1 });
    drop((near, admitted));
    stand.come_in();
}

fn bind(socket: &Socket, address: Ipv4Addr) {
    rustix::net::bind(socket, &SocketAddr::from((address, 0))).unwrap();
}
