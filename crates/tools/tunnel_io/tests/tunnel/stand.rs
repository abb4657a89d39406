//! A database thread with both ends of a tunnel in front of it, and their notices.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use sys::Clock;
use sys::listening::PlainClients;
use tunnel::{CompressionLevel, Isolation, LevelChoice};
use tunnel_io::keys::{SecretKey, generate_key_files};
use tunnel_io::{FarEnd, FarOptions, NearEnd, NearOptions, Notice, TunnelSecurity};

pub type Told = Arc<Mutex<Vec<String>>>;

pub fn any_port() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

/// A far end in front of `database`.
pub fn far(database: SocketAddr, listen: SocketAddr) -> (FarEnd, Told) {
    far_with(database, listen, TunnelSecurity::None)
}

fn far_with(database: SocketAddr, listen: SocketAddr, security: TunnelSecurity) -> (FarEnd, Told) {
    let (told, notify) = ear();
    let far = FarEnd::start(FarOptions {
        listen: vec![listen],
        to: database.to_string(),
        security,
        level: None,
        isolate: None,
        notify,
        clock: Clock::anchored_now(),
    });
    (far.expect("a far end"), told)
}

pub fn near(far: SocketAddr, level: u8, lanes: usize) -> (NearEnd, Told) {
    near_with(far, level, lanes, TunnelSecurity::None)
}

fn near_with(far: SocketAddr, level: u8, lanes: usize, security: TunnelSecurity) -> (NearEnd, Told) {
    let (told, notify) = ear();
    let near = NearEnd::start(NearOptions {
        plain_clients: PlainClients::default(),
        listen: vec![any_port()],
        far: far.to_string(),
        security,
        level: LevelChoice::Fixed(CompressionLevel::from_number(level).expect("a level")),
        isolate: Isolation::None,
        compress_login: false,
        lanes: NonZeroUsize::new(lanes).expect("a lane"),
        connect_timeout: Duration::from_secs(2),
        notify,
        clock: Clock::anchored_now(),
    });
    (near.expect("a near end"), told)
}

fn ear() -> (Told, tunnel_io::Notify) {
    let told = Told::default();
    let notify = {
        let told = Arc::clone(&told);
        Box::new(move |notice: &Notice| told.lock().expect("told").push(notice.to_string()))
    };
    (told, notify)
}

/// Both ends at level 1 in front of `database`.
pub struct Tunnel {
    pub near: NearEnd,
    pub far: FarEnd,
    pub told: [Told; 2],
}

impl Tunnel {
    pub fn before(database: SocketAddr, level: u8, lanes: usize) -> Self {
        Self::between(
            database,
            level,
            lanes,
            [TunnelSecurity::None, TunnelSecurity::None],
        )
    }

    pub fn encrypted(database: SocketAddr, level: u8, lanes: usize) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let keys = ["near", "far"].map(|end| {
            let path = place.path().join(end);
            let path = path.to_str().expect("a path");
            generate_key_files(path).expect("a key");
            SecretKey::load(path).expect("the key")
        });
        let [near, far] = keys.each_ref().map(SecretKey::fingerprint);
        let [near_key, far_key] = keys;
        let of = |own, peer| TunnelSecurity::Keys {
            own,
            peers: vec![peer],
        };
        Self::between(database, level, lanes, [of(near_key, far), of(far_key, near)])
    }

    fn between(database: SocketAddr, level: u8, lanes: usize, security: [TunnelSecurity; 2]) -> Self {
        let [near_security, far_security] = security;
        let (far, far_told) = far_with(database, any_port(), far_security);
        let (near, near_told) = near_with(far.addresses()[0], level, lanes, near_security);
        Self {
            near,
            far,
            told: [near_told, far_told],
        }
    }

    pub fn client(&self) -> TcpStream {
        client(self.near.addresses()[0])
    }
}

/// Reads time out after 20 s.
pub fn client(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connect");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("set");
    stream
        .set_write_timeout(Some(Duration::from_secs(20)))
        .expect("set");
    stream.set_nodelay(true).expect("set");
    stream
}

pub fn server(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind(any_port()).expect("listen");
    let address = listener.local_addr().expect("an address");
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = Arc::clone(&serve);
            let stream = stream.expect("accept");
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Echoes until the client ends.
pub fn echo_server() -> SocketAddr {
    server(|mut stream| {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if stream.write_all(&buffer[..count]).is_err() {
                return;
            }
        }
    })
}

/// Bytes derived from `seed`: text-like if it is even, incompressible if odd.
pub fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        let word = next();
        if seed.is_multiple_of(2) {
            bytes.extend_from_slice(format!("customer {} ", word % 100).as_bytes());
        } else {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    bytes.truncate(count);
    bytes
}
