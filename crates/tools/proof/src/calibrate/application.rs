//! The measured requests: of a command, of longwire's own statements, or to an echo.

use super::CalibrationPlan;
use anyhow::{Context, Result, bail, ensure};
use client::session::{Session, SessionOptions};
use relay::command::{NotStarted, RelayedTarget, prepare};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::Stdio;
use std::thread::JoinHandle;
use std::time::Duration;
use sys::program::Program;
use sys::wait::PollFlags;
use sys::{ClientTls, StopToken, Target, listening, threads};

pub(super) struct Application<'a> {
    target: Target,
    command: &'a [OsString],
    address: Option<SocketAddr>,
    program: Option<Program>,
    stop: StopToken,
    client: Option<JoinHandle<Result<()>>>,
    server: Option<JoinHandle<()>>,
}

impl<'a> Application<'a> {
    pub(super) fn prepare(plan: &CalibrationPlan<'a>, stop: &StopToken) -> Result<Self> {
        let stop = stop.child()?;
        let (target, server) = match &plan.target {
            Some(target) => (target.clone(), None),
            None => {
                let listener = listening::on_loopback().context("could not listen on loopback")?;
                let target = Target::parse(&format!("tcp://{}", listener.local_addr()?))?;
                let stop = stop.clone();
                let server = threads::spawn("echo".to_owned(), move || serve_echo(&listener, &stop))?;
                (target, Some(server))
            }
        };
        Ok(Self {
            target,
            command: plan.command,
            address: None,
            program: None,
            stop,
            client: None,
            server,
        })
    }

    pub(super) const fn target(&self) -> &Target {
        &self.target
    }

    /// Starts it with its requests going to `address`.
    pub(super) fn start(&mut self, address: SocketAddr) -> Result<()> {
        self.address = Some(address);
        if !self.command.is_empty() {
            return self.start_command(address);
        }
        let stop = self.stop.clone();
        let own_server = self.server.is_some();
        let target = Target::parse(&self.target.url_through(endpoint(address), ClientTls::LeftOut))?;
        let client = std::thread::Builder::new().spawn(move || match own_server {
            true => run_echo_client(address, &stop),
            false => run_statements(&target, &stop),
        });
        self.client = Some(client.context("could not start a thread")?);
        Ok(())
    }

    fn start_command(&mut self, address: SocketAddr) -> Result<()> {
        let relayed = RelayedTarget {
            name: self.target.scheme.name(),
            target: &self.target,
            relay: endpoint(address),
            tls: ClientTls::LeftOut,
        };
        let mut command = prepare(self.command, &[relayed])?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let program = Program::start(&mut command).map_err(|error| NotStarted::new(&command, error))?;
        self.program = Some(program);
        Ok(())
    }

    /// Returns after `longest` or earlier. A command that has ended is started again.
    ///
    /// # Errors
    /// If it failed.
    pub(super) fn run_on(&mut self, longest: Duration, stop: &StopToken) -> Result<()> {
        if let Some(program) = &mut self.program {
            if let Some(ended) = program.wait(stop, longest)? {
                self.program = None;
                ensure!(ended.status.success(), "the command ended with {}", ended.status);
                return self.address.map_or(Ok(()), |address| self.start_command(address));
            }
        } else if self.client.as_ref().is_some_and(JoinHandle::is_finished) {
            return self.join_client();
        } else {
            stop.wait_timeout(longest);
        }
        Ok(())
    }

    fn join_client(&mut self) -> Result<()> {
        match self.client.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            Some(Err(_)) | None => Ok(()),
        }
    }

    /// Leaves neither process nor thread.
    pub(super) fn end(&mut self) {
        self.stop.stop();
        if let Some(program) = self.program.take() {
            program.end();
        }
        // Its error no longer matters: the measurement is over.
        self.join_client().ok();
        if let Some(server) = self.server.take() {
            // Its connection is that of the relay, which ends with the client's.
            server.join().ok();
        }
    }
}

fn endpoint(address: SocketAddr) -> model::Endpoint {
    model::Endpoint {
        address: address.ip(),
        port: address.port(),
    }
}

/// Two statements in turn, computing between them.
fn run_statements(target: &Target, stop: &StopToken) -> Result<()> {
    let mut session = Session::open(target, SessionOptions::new(stop))?;
    let mut work = Work::default();
    while !stop.is_stopped() {
        for (sql, size) in STATEMENTS.iter().zip(WORK_BYTES) {
            let rows = session.query(sql, STATEMENT_TIMEOUT)?;
            if let Some(error) = rows.reply.error {
                bail!("the server refused a statement: {}", error.text);
            }
            work.compute(size);
        }
    }
    session.close();
    Ok(())
}

fn run_echo_client(address: SocketAddr, stop: &StopToken) -> Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut work = Work::default();
    while !stop.is_stopped() {
        for (index, size) in WORK_BYTES.into_iter().enumerate() {
            // The length says how much the server computes.
            let mut request = vec![b'.'; index + 1];
            request.push(b'\n');
            stream.write_all(&request)?;
            stream.read_exact(&mut [0; 1])?;
            work.compute(size);
        }
    }
    Ok(())
}

/// Serves one connection until its end; a stop ends the wait for it.
fn serve_echo(listener: &TcpListener, stop: &StopToken) {
    if !stop.until_ready(listener.as_fd(), PollFlags::IN, ACCEPT_LIMIT) {
        return;
    }
    let Ok((mut stream, _)) = listener.accept() else {
        return;
    };
    stream.set_nodelay(true).ok();
    let mut work = Work::default();
    let mut request = [0; 8];
    while let Ok(count @ 2..) = stream.read(&mut request) {
        work.compute(WORK_BYTES.get(count - 2).copied().unwrap_or_default());
        if stream.write_all(b".").is_err() {
            return;
        }
    }
}

/// Computing on data that caches can hold, as of a small page.
struct Work {
    memory: Vec<u64>,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            memory: (0..WORK_BYTES[1] as u64 / 8).collect(),
        }
    }
}

impl Work {
    fn compute(&mut self, bytes: usize) {
        let words = self.memory.len().min(bytes / 8).max(1);
        let mut place = 0;
        for _ in 0..words {
            let word = &mut self.memory[place];
            *word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            place = (*word >> 33) as usize % words;
        }
        std::hint::black_box(&self.memory);
    }
}

const STATEMENTS: [&str; 2] = [
    "select 1",
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) select sum(i) from n",
];
/// Of the computing after each request.
const WORK_BYTES: [usize; 2] = [64 << 10, 512 << 10];
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
const ACCEPT_LIMIT: Duration = Duration::from_secs(3600);
