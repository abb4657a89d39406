//! A relay with a recorder, in front of a server that a test provides.

use crate::recorder::{Recorder, Story};
use relay::{Counters, Options, Relay};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use sys::{Clock, Target};
use testbed::waiting::wait_for;

pub const TIMEOUT: Duration = Duration::from_secs(20);

pub struct Stand {
    pub relay: Relay,
    pub recorder: Arc<Recorder>,
}

pub fn relay_to(server: SocketAddr) -> Stand {
    relay_to_target(&format!("tcp://{server}"))
}

pub fn relay_to_target(target: &str) -> Stand {
    start(target, None)
}

pub fn relay_with_link(server: SocketAddr, link: &str) -> Stand {
    start(&format!("tcp://{server}"), Some(link.parse().expect("a link")))
}

fn start(target: &str, link: Option<link::LinkDescription>) -> Stand {
    let recorder = Arc::new(Recorder::default());
    let options = Options {
        listen: "127.0.0.1:0".parse().expect("valid"),
        target: Target::parse(target).expect("valid"),
        link,
        sparing: None,
        tls: relay::RelayTls::default(),
        plain_clients: sys::listening::PlainClients::default(),
        numbers: relay::ConnectionNumbers::default(),
    };
    let relay = relay::start(options, Clock::anchored_now(), recorder.clone()).expect("relay starts");
    Stand { relay, recorder }
}

impl Stand {
    pub fn connect(&self) -> TcpStream {
        patient(TcpStream::connect(self.relay.local_addr()).expect("the relay accepts"))
    }

    pub fn stop(self) -> (Counters, Vec<Story>) {
        let counters = self.relay.stop(TIMEOUT);
        (counters, self.recorder.stories())
    }

    pub fn until(&self, wanted: impl Fn(&Counters) -> bool) -> Counters {
        wait_for("the relay's counters", || {
            Some(self.relay.counters()).filter(|counters| wanted(counters))
        })
    }
}

pub fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("bound");
    (listener, address)
}

pub fn accept(listener: &TcpListener) -> TcpStream {
    patient(listener.accept().expect("the relay connects").0)
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(TIMEOUT)).expect("set");
    stream.set_write_timeout(Some(TIMEOUT)).expect("set");
    stream
}

/// Pseudorandom bytes from a seed (xorshift64*).
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random(seed | 1);
    (0..length.div_ceil(8))
        .flat_map(|_| random.next().to_le_bytes())
        .take(length)
        .collect()
}

pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn up_to(&mut self, most: usize) -> usize {
        (self.next() % most as u64) as usize + 1
    }
}
