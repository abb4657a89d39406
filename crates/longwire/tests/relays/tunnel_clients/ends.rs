//! Both ends of a tunnel as processes of the real binary.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use testbed::Started;

/// A near and a far end with a shared key, stopped on drop.
pub(crate) struct Tunnel {
    pub(crate) far: End,
    pub(crate) near: End,
    _key: tempfile::NamedTempFile,
}

pub(crate) struct Wanted<'a> {
    /// The server, as the far end reaches it.
    pub(crate) to: SocketAddr,
    pub(crate) far: IpAddr,
    pub(crate) near_options: &'a [&'a str],
    /// Wraps a command so that it runs where its end should be, like [`here`].
    pub(crate) place_near: &'a dyn Fn(&mut Command),
    pub(crate) place_far: &'a dyn Fn(&mut Command),
}

impl<'a> Wanted<'a> {
    pub(crate) fn to_port(port: u16, near_options: &'a [&'a str]) -> Self {
        Self {
            to: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            far: IpAddr::V4(Ipv4Addr::LOCALHOST),
            near_options,
            place_near: &here,
            place_far: &here,
        }
    }
}

/// Keeps a command on this host.
pub(crate) fn here(_: &mut Command) {}

impl Tunnel {
    pub(crate) fn start(wanted: &Wanted<'_>) -> Self {
        let key = tempfile::NamedTempFile::new().expect("a file for the key");
        std::fs::write(key.path(), KEY).expect("the key can be written");
        let key_words = vec!["--psk-file".to_owned(), key.path().display().to_string()];
        let to = wanted.to.to_string();
        let mut far = vec!["far".to_owned(), "--to".to_owned(), to];
        far.extend(key_words.clone());
        let far = End::start(far, wanted.far, wanted.place_far);
        let to_far = far.address.to_string();
        let mut near = vec!["near".to_owned(), "--to".to_owned(), to_far];
        near.extend(key_words);
        near.extend(wanted.near_options.iter().map(|word| (*word).to_owned()));
        let near = End::start(near, IpAddr::V4(Ipv4Addr::LOCALHOST), wanted.place_near);
        Self { far, near, _key: key }
    }

    pub(crate) fn port(&self) -> u16 {
        self.near.address.port()
    }
}

pub(crate) struct End {
    started: Started,
    words: Vec<String>,
    pub(crate) address: SocketAddr,
    before: String,
}

impl End {
    /// Starts `longwire tunnel` with `words` on a free port of `address`; returns once it listens.
    fn start(words: Vec<String>, address: IpAddr, place: &dyn Fn(&mut Command)) -> Self {
        let (started, address) = launch(&words, SocketAddr::new(address, 0), place);
        Self {
            started,
            words,
            address,
            before: String::new(),
        }
    }

    /// Kills the process without a shutdown.
    pub(crate) fn kill(&mut self) {
        self.started.kill();
    }

    pub(crate) fn start_again(&mut self, place: &dyn Fn(&mut Command)) {
        self.before = self.reported();
        (self.started, self.address) = launch(&self.words, self.address, place);
    }

    pub(crate) fn reported(&self) -> String {
        self.before.clone() + &self.started.said()
    }

    /// A size from `/proc/PID/status` in bytes: `VmRSS` is current, `VmHWM` is the peak; `None` if
    /// it has ended.
    pub(crate) fn memory(&self, name: &str) -> Option<u64> {
        Some(self.started.figure(name)? * 1024)
    }
}

fn launch(words: &[String], listen: SocketAddr, place: &dyn Fn(&mut Command)) -> (Started, SocketAddr) {
    let mut command = testbed::binary::longwire(&["tunnel"]);
    command
        .args(words)
        .args(["--listen", &listen.to_string()])
        .stdout(Stdio::null());
    place(&mut command);
    Started::listening(&mut command, " listens on ")
}

const KEY: &str = "a key for tests that both ends know 0123456789\n";
