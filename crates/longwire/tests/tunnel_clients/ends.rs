//! Both ends of a tunnel as processes of the real binary.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A near end and a far end with a shared key, gone when dropped.
pub(crate) struct Tunnel {
    pub(crate) far: End,
    pub(crate) near: End,
    _key: tempfile::NamedTempFile,
}

/// What a tunnel is to be like.
pub(crate) struct Wanted<'a> {
    /// The server behind it, as the far end reaches it.
    pub(crate) to: SocketAddr,
    /// Where the far end listens for the near one.
    pub(crate) far: IpAddr,
    /// More words of the near end's command line.
    pub(crate) near_options: &'a [&'a str],
    /// Makes a command run where its end is to be; see [`here`].
    pub(crate) place_near: &'a dyn Fn(&mut Command),
    pub(crate) place_far: &'a dyn Fn(&mut Command),
}

impl<'a> Wanted<'a> {
    /// A tunnel on this host to a port of 127.0.0.1.
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

/// Leaves a command on this host.
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

    /// The port of 127.0.0.1 where clients connect.
    pub(crate) fn port(&self) -> u16 {
        self.near.address.port()
    }
}

/// One end.
pub(crate) struct End {
    process: Child,
    words: Vec<String>,
    pub(crate) address: SocketAddr,
    told: Arc<Mutex<String>>,
}

impl End {
    /// Starts `longwire tunnel` with `words` on a free port of `address`; it listens when this returns.
    fn start(words: Vec<String>, address: IpAddr, place: &dyn Fn(&mut Command)) -> Self {
        let address = SocketAddr::from((address, testbed::process::free_port()));
        let told = Arc::default();
        let process = launch(&words, address, place, &told);
        Self {
            process,
            words,
            address,
            told,
        }
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it can be killed");
        self.process.wait().expect("it ends");
    }

    /// Starts it again as it was, on the same port.
    pub(crate) fn start_again(&mut self, place: &dyn Fn(&mut Command)) {
        self.process = launch(&self.words, self.address, place, &self.told);
    }

    /// What it said on standard error so far.
    pub(crate) fn told(&self) -> String {
        self.told.lock().expect("a reader does not panic").clone()
    }

    /// A size of `/proc/PID/status` in bytes: `VmRSS` at present, `VmHWM` at most; absent when it has ended.
    pub(crate) fn memory(&self, name: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: u64 = line
            .trim_matches([':', ' ', '\t'])
            .split(' ')
            .next()?
            .parse()
            .ok()?;
        Some(kilobytes * 1024)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn launch(
    words: &[String],
    listen: SocketAddr,
    place: &dyn Fn(&mut Command),
    told: &Arc<Mutex<String>>,
) -> Child {
    let mut command = Command::new(testbed::binary::program());
    command
        .arg("tunnel")
        .args(words)
        .args(["--listen", &listen.to_string()]);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    place(&mut command);
    let mut process = command.spawn().expect("the binary starts");
    let stderr = process.stderr.take().expect("piped");
    let listening = follow(stderr, listen, Arc::clone(told));
    if listening.recv_timeout(READY_WITHIN).is_err() {
        process.kill().ok();
        let told = told.lock().expect("a reader does not panic");
        panic!("{command:?} does not say that it listens at {listen}; it said:\n{told}");
    }
    process
}

/// Keeps what an end says, and sends when it has named the address it listens at.
fn follow(stderr: ChildStderr, listen: SocketAddr, told: Arc<Mutex<String>>) -> Receiver<()> {
    let (sender, receiver) = channel();
    let named = listen.to_string();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if line.contains(&named) {
                sender.send(()).ok();
            }
            let mut told = told.lock().expect("nobody panics while holding it");
            told.push_str(&line);
            told.push('\n');
        }
    });
    receiver
}

const KEY: &str = "a key for tests that both ends know 0123456789\n";
const READY_WITHIN: Duration = Duration::from_secs(60);
