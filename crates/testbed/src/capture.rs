//! Captures loopback traffic with tcpdump during a test.

use std::fs::OpenOptions;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use servers::{Account, Here, Process, Readiness};
use tempfile::TempDir;

use crate::binary::{longwire, program};
use crate::process::{given, heed_interrupts, require};

#[derive(Debug)]
pub struct Capture {
    // Drop order: tcpdump ends before its directory is removed.
    process: Process,
    directory: TempDir,
    marker: UdpSocket,
}

/// The file is removed on drop.
#[derive(Debug)]
pub struct CaptureFile {
    directory: TempDir,
}

impl Capture {
    /// Starts capturing TCP `port`: whole packets, nanosecond timestamps. Later packets are in the
    /// file. Needs root or `CAP_NET_RAW`.
    pub fn start(port: u16) -> Capture {
        Capture::start_ports(&[port])
    }

    /// Captures several ports in one file.
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
            // As root, tcpdump would otherwise switch to a user without write access here.
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

    /// Ends the capture when all earlier packets are in the file.
    ///
    /// Sends a datagram as end mark: tcpdump receives packets in order, so the file is complete
    /// when it contains the mark. The mark is then cut off.
    ///
    /// # Panics
    /// Panics if the mark does not arrive, or the kernel dropped packets, since such a capture
    /// would not prove anything.
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
    /// Classic pcap, nanosecond timestamps, Ethernet.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(FILE)
    }
}

/// Waits for the record with `mark` and returns the length of the file before it.
fn wait_for_mark(path: &Path, mark: &[u8]) -> u64 {
    let started = Instant::now();
    loop {
        let bytes = std::fs::read(path).unwrap_or_default();
        // Packets after the mark (closing connections) are cut too.
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

/// tcpdump, or its copy with the capability to capture, installed by the set-up.
fn tcpdump() -> PathBuf {
    std::env::var_os("LONGWIRE_TCPDUMP").map_or_else(|| require("tcpdump"), PathBuf::from)
}

/// longwire with the right to capture: as root, or through a copy of setpriv with the capability,
/// installed by the set-up.
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
/// With immediate mode each packet takes the space of the largest possible one: room for some
/// 4,000.
const KERNEL_BUFFER_KIB: &str = "262144";
const MARK_WITHIN: Duration = Duration::from_secs(20);
/// Headers of the pcap record, Ethernet, IPv4 and UDP.
const BEFORE_MARK: usize = 16 + 14 + 20 + 8;
