//! A capture of what passes the loopback, taken by tcpdump while a test runs.

use std::fs::OpenOptions;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use servers::{Account, Here, Process, Readiness};
use tempfile::TempDir;

use crate::binary::{longwire, program};
use crate::process::{given, heed_interrupts, require};

/// A running capture of one TCP port of the loopback.
#[derive(Debug)]
pub struct Capture {
    // Dropped in this order: tcpdump ends before its directory goes.
    process: Process,
    directory: TempDir,
    marker: UdpSocket,
}

/// A finished capture; its file goes when the value is dropped.
#[derive(Debug)]
pub struct CaptureFile {
    directory: TempDir,
}

impl Capture {
    /// Starts capturing TCP `port` of the loopback, whole packets, nanosecond time stamps; returns when every
    /// later packet will be in the file.
    ///
    /// # Panics
    /// With tcpdump's message, when it may not capture (it needs root or `CAP_NET_RAW`).
    pub fn start(port: u16) -> Capture {
        Capture::start_ports(&[port])
    }

    /// As [`Capture::start`] for several ports in one file.
    ///
    /// # Panics
    /// As [`Capture::start`].
    pub fn start_ports(ports: &[u16]) -> Capture {
        let directory = tempfile::Builder::new().prefix("testbed-").tempdir();
        let directory = directory.unwrap_or_else(|error| panic!("temporary directory: {error}"));
        let marker = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
        let marker = marker.unwrap_or_else(|error| panic!("socket for the end mark: {error}"));
        let mut filter: Vec<String> = ports.iter().map(|port| format!("tcp port {port}")).collect();
        filter.push(format!("udp port {}", local_port(&marker)));

        let mut command = Command::new(tcpdump());
        command.args([
            "-i",
            "lo",
            "-n",
            "-U",
            "--immediate-mode",
            "--time-stamp-precision=nano",
        ]);
        command.args(["-s", "0", "-B", KERNEL_BUFFER_KIB]);
        if given(Account::unprivileged("nobody")) != Account::Own {
            // Started by root, tcpdump would otherwise become a user who cannot write here.
            command.args(["-Z", "root"]);
        }
        command.arg("-w");
        command.arg(directory.path().join(FILE)).arg(filter.join(" or "));
        let log = directory.path().join("log");
        let mut process = given(Process::start(command, &Here, Account::Own, &log, libc::SIGINT));
        let listening = Readiness::Log("listening on lo".to_owned());
        let within = Duration::from_secs(20);
        if let Err(error) = listening.wait("tcpdump", &mut process, &Here, Account::Own, within) {
            panic!("tcpdump cannot capture on the loopback (it needs root or CAP_NET_RAW): {error}");
        }
        Capture {
            process,
            directory,
            marker,
        }
    }

    /// Ends the capture when all that passed before this call is in the file.
    ///
    /// A datagram sent now is the end mark: packets reach tcpdump in the order in which they passed, so the
    /// file is complete when the mark is in it. The mark is then cut off.
    ///
    /// # Panics
    /// When the mark does not arrive, or the kernel dropped packets: such a capture would prove nothing.
    pub fn stop(mut self) -> CaptureFile {
        let path = self.directory.path().join(FILE);
        let port = local_port(&self.marker);
        let mark = format!("end of capture {port} {}", std::process::id());
        let sent = self.marker.send_to(mark.as_bytes(), (Ipv4Addr::LOCALHOST, port));
        sent.unwrap_or_else(|error| panic!("end mark of the capture: {error}"));
        let length = wait_for_mark(&path, mark.as_bytes());
        self.process.stop();
        let log = self.process.log();
        let complete = log
            .lines()
            .any(|line| line.starts_with("0 packets dropped by kernel"));
        assert!(complete, "the capture lacks packets:\n{log}");
        let file = OpenOptions::new().write(true).open(&path);
        file.and_then(|file| file.set_len(length))
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        CaptureFile {
            directory: self.directory,
        }
    }
}

impl CaptureFile {
    /// The file: classic pcap, nanosecond time stamps, Ethernet.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(FILE)
    }
}

/// The length of the file at `path` before the record that carries `mark`, once that is in it.
fn wait_for_mark(path: &Path, mark: &[u8]) -> u64 {
    let started = Instant::now();
    loop {
        let bytes = std::fs::read(path).unwrap_or_default();
        // Packets may pass behind the mark (connections taking leave): they go with it.
        if let Some(at) = bytes.windows(mark.len()).rposition(|window| window == mark) {
            return (at - BEFORE_MARK) as u64;
        }
        assert!(
            started.elapsed() < MARK_WITHIN,
            "the end mark did not reach {} in time",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn local_port(socket: &UdpSocket) -> u16 {
    socket
        .local_addr()
        .unwrap_or_else(|error| panic!("socket for the end mark: {error}"))
        .port()
}

/// tcpdump itself, or the copy of it that the set-up gave the right to capture for an ordinary user.
fn tcpdump() -> PathBuf {
    std::env::var_os("LONGWIRE_TCPDUMP").map_or_else(|| require("tcpdump"), PathBuf::from)
}

/// Longwire with these arguments and the right to capture: as root it has it, else a copy of setpriv passes
/// it on that the set-up gave it to.
pub fn may_capture(arguments: &[&str]) -> Command {
    let Some(setpriv) = std::env::var_os("LONGWIRE_SETPRIV") else {
        return longwire(arguments);
    };
    let mut command = Command::new(setpriv);
    command.args(["--inh-caps", "+net_raw", "--ambient-caps", "+net_raw"]);
    command.arg(program()).args(arguments).stdin(Stdio::null());
    heed_interrupts(&mut command);
    command
}

const FILE: &str = "capture.pcap";
/// A packet that is to be seen at once takes as much of it as the largest one could: this is room for some
/// 4,000.
const KERNEL_BUFFER_KIB: &str = "262144";
const MARK_WITHIN: Duration = Duration::from_secs(20);
/// A pcap record's header, Ethernet, IPv4 and UDP.
const BEFORE_MARK: usize = 16 + 14 + 20 + 8;
