use super::*;
use crate::keys::{SharedKey, generate_key_files};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU32;

const LONG: Duration = Duration::from_secs(5);

fn key(directory: &tempfile::TempDir, name: &str) -> SecretKey {
    let path = directory.path().join(name).to_str().unwrap().to_owned();
    generate_key_files(&path).unwrap();
    SecretKey::load(&path).unwrap()
}

fn shared(secret: &str) -> TunnelSecurity {
    // The real number of rounds takes a second in unoptimized builds.
    let rounds = NonZeroU32::new(10).unwrap();
    TunnelSecurity::Shared(SharedKey::derive(secret.as_bytes(), rounds).unwrap())
}

fn keys(own: &SecretKey, peer: &SecretKey) -> TunnelSecurity {
    TunnelSecurity::Keys {
        own: own.clone(),
        peers: vec![peer.fingerprint()],
    }
}

fn meet(
    near: &TunnelSecurity,
    far: &TunnelSecurity,
) -> (Result<Transport, PeerFault>, Result<Transport, PeerFault>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    let server_handshake = ServerHandshake::new(far).unwrap();
    let mut pending = server_handshake.answer(Socket::adopt(accepted).unwrap()).unwrap();
    let answering = std::thread::spawn(move || {
        let wait = Wait {
            until: Instant::now() + LONG,
            longest: LONG,
        };
        loop {
            wait.readable(pending.socket())?;
            if server_handshake.go_on(&mut pending)? {
                return pending.welcome();
            }
        }
    });
    let connected = ClientHandshake::new(near)
        .unwrap()
        .complete(Socket::adopt(stream).unwrap(), LONG);
    (connected, answering.join().unwrap())
}

fn carries(from: &mut Transport, to: &mut Transport, text: &[u8]) {
    assert_eq!(from.send(text), Sent::Bytes(text.len()));
    let wait = Wait {
        until: Instant::now() + LONG,
        longest: LONG,
    };
    let mut heard = vec![0; text.len()];
    loop {
        wait.readable(to.socket()).unwrap();
        if let Received::Bytes { count, .. } = to.receive(&mut heard) {
            assert_eq!(heard.get(..count).unwrap(), text);
            return;
        }
    }
}

#[test]
fn ends_that_know_each_other_speak() {
    let directory = tempfile::tempdir().unwrap();
    let [near, far] = ["near", "far"].map(|name| key(&directory, name));
    let secret = shared("one");
    for (near, far) in [
        (TunnelSecurity::None, TunnelSecurity::None),
        (keys(&near, &far), keys(&far, &near)),
        (secret.clone(), secret),
    ] {
        let (near, far) = meet(&near, &far);
        let (mut near, mut far) = (near.unwrap(), far.unwrap());
        carries(&mut near, &mut far, b"select 1");
        carries(&mut far, &mut near, b"one row");
    }
}

#[test]
fn ends_that_do_not_know_each_other_say_why() {
    let directory = tempfile::tempdir().unwrap();
    let [near, far, stranger] = ["near", "far", "stranger"].map(|name| key(&directory, name));
    let [one, other] = ["one", "other"].map(shared);
    let cases = [
        (
            keys(&stranger, &far),
            keys(&far, &near),
            PeerFault::KeyNotAccepted {
                own: stranger.fingerprint(),
            },
            PeerFault::UnknownKey {
                shown: stranger.fingerprint(),
            },
        ),
        (
            keys(&near, &stranger),
            keys(&far, &near),
            PeerFault::UnknownKey {
                shown: far.fingerprint(),
            },
            PeerFault::KeyNotAccepted {
                own: far.fingerprint(),
            },
        ),
        (
            one,
            other.clone(),
            PeerFault::OtherSharedKey,
            PeerFault::OtherSharedKey,
        ),
        (
            TunnelSecurity::None,
            keys(&far, &near),
            PeerFault::Encrypted,
            PeerFault::Unencrypted,
        ),
        (
            keys(&near, &far),
            TunnelSecurity::None,
            PeerFault::Unencrypted,
            PeerFault::Encrypted,
        ),
    ];
    for (near, far, near_says, far_says) in cases {
        let (connected, answered) = meet(&near, &far);
        assert_eq!(connected.unwrap_err(), near_says);
        assert_eq!(answered.unwrap_err(), far_says);
    }
}
