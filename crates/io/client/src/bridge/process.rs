//! The helper process, shared by many channels.

use super::frames::{Frame, Writer, reply, request};
use super::request::Wait;
use super::tail::Tail;
use super::{BridgeError, DriverFiles, jar, java};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use sys::StopToken;
use sys::error::{LiveError, OsError};
use sys::receiver::{StoppableReceiver, WaitLimit, WakingSender, stoppable};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeOptions {
    pub drivers: DriverFiles,
    /// The bridge's own jar; `None` for the usual places.
    pub jar: Option<PathBuf>,
    pub timeout: Duration,
}

impl BridgeOptions {
    pub const fn new(drivers: DriverFiles) -> Self {
        Self {
            drivers,
            jar: None,
            timeout: USUAL_START,
        }
    }
}

pub struct Bridge {
    stdin: Mutex<Option<ChildStdin>>,
    child: Mutex<Child>,
    channels: Arc<Channels>,
    tail: Tail,
    threads: Vec<JoinHandle<()>>,
    next_channel: AtomicU32,
    java: String,
}

/// Receivers of replies by channel; `None` once the process has ended.
#[derive(Default)]
pub(super) struct Channels {
    open: Mutex<Option<HashMap<u32, WakingSender<SyncSender<Frame>>>>>,
}

impl std::fmt::Debug for Bridge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Bridge")
            .field("java", &self.java)
            .finish_non_exhaustive()
    }
}

impl Bridge {
    /// Starts the process and agrees on the frames.
    ///
    /// # Errors
    /// Without a jar, a suitable Java, or an answer in time.
    pub fn start(options: &BridgeOptions, stop: &StopToken) -> Result<Arc<Self>, BridgeError> {
        let jar = jar::find(options.jar.as_deref())?;
        let program = java::find()?;
        let mut child = command(&program, &jar, options.drivers.jars())
            .spawn()
            .map_err(|error| BridgeError::NotStarted {
                java: program.display().to_string(),
                reason: OsError::from_io_error(&error),
            })?;
        let channels = Arc::new(Channels {
            open: Mutex::new(Some(HashMap::new())),
        });
        let tail = Tail::default();
        let mut threads = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            let tail = tail.clone();
            threads.extend(thread("bridge stderr", move || tail.follow(stderr)));
        }
        if let Some(stdout) = child.stdout.take() {
            let channels = channels.clone();
            threads.extend(thread("bridge", move || channels.serve(stdout)));
        }
        let mut bridge = Self {
            stdin: Mutex::new(child.stdin.take()),
            child: Mutex::new(child),
            channels,
            tail,
            threads,
            next_channel: AtomicU32::new(1),
            java: String::new(),
        };
        let wait = Wait {
            timeout: options.timeout,
            stop,
        };
        bridge.java = bridge
            .hello(wait)
            .map_err(|error| bridge.too_old(error, &program))?;
        Ok(Arc::new(bridge))
    }

    pub fn java(&self) -> &str {
        &self.java
    }

    pub fn process_id(&self) -> u32 {
        self.child().id()
    }

    pub(super) fn channel(&self) -> Result<(u32, StoppableReceiver<Frame>), BridgeError> {
        let number = self.next_channel.fetch_add(1, Ordering::Relaxed);
        Ok((number, self.channels.add(number)?))
    }

    pub(super) fn forget(&self, number: u32) {
        self.channels.forget(number);
    }

    pub(super) fn send(&self, frame: Writer) -> Result<(), BridgeError> {
        let bytes = frame.finish().ok_or(BridgeError::TooLong)?;
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        let written = stdin.as_mut().map(|stdin| stdin.write_all(&bytes));
        drop(stdin);
        match written {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(self.died()),
        }
    }

    pub(super) fn receive(
        &self,
        replies: &StoppableReceiver<Frame>,
        wait: Wait<'_>,
    ) -> Result<Frame, BridgeError> {
        replies
            .receive(WaitLimit::new(wait.stop, wait.timeout))
            .map_err(|error| match error {
                RecvTimeoutError::Disconnected => self.died(),
                RecvTimeoutError::Timeout if wait.stop.is_stopped() => BridgeError::Stopped,
                RecvTimeoutError::Timeout => BridgeError::TimedOut { after: wait.timeout },
            })
    }

    fn hello(&self, wait: Wait<'_>) -> Result<String, BridgeError> {
        let replies = self.channels.add(0)?;
        let mut hello = Writer::new(0, request::HELLO);
        hello.number(VERSION);
        self.send(hello)?;
        let mut answer = self.receive(&replies, wait)?;
        self.channels.forget(0);
        if answer.kind != reply::HELLO || answer.number()? != VERSION {
            return Err(BridgeError::Garbled);
        }
        Ok(answer.text()?.unwrap_or_default())
    }

    fn too_old(&self, error: BridgeError, program: &Path) -> BridgeError {
        if self.tail.says("UnsupportedClassVersionError") {
            return BridgeError::JavaTooOld {
                java: program.display().to_string(),
            };
        }
        if self.tail.says("longwire speaks version") {
            return BridgeError::Garbled;
        }
        error
    }

    /// Returns the cause of the end. Waits a moment for the last output of the process.
    fn died(&self) -> BridgeError {
        let mut status = None;
        for _ in 0..REAPS {
            status = self.child().try_wait().ok().flatten();
            if status.is_some() && self.tail.is_over() {
                break;
            }
            std::thread::sleep(REAP);
        }
        BridgeError::Died {
            status: status.map_or_else(|| "its output was closed".to_owned(), |status| status.to_string()),
            said: self.tail.told(),
        }
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // Closing its input ends the process.
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let gone = (0..REAPS).any(|_| {
            let ended = matches!(child.try_wait(), Ok(Some(_)));
            if !ended {
                std::thread::sleep(REAP);
            }
            ended
        });
        if !gone {
            // It may have ended meanwhile.
            child.kill().ok();
            child.wait().ok();
        }
        for thread in self.threads.drain(..) {
            // The threads end with the pipes.
            thread.join().ok();
        }
    }
}

impl Channels {
    fn add(&self, number: u32) -> Result<StoppableReceiver<Frame>, LiveError> {
        let (sender, receiver) = stoppable(sync_channel(MAX_FRAMES))?;
        // Without a process, the receiver reports the end.
        if let Some(open) = self.open().as_mut() {
            open.insert(number, sender);
        }
        Ok(receiver)
    }

    fn forget(&self, number: u32) {
        if let Some(open) = self.open().as_mut() {
            open.remove(&number);
        }
    }

    fn serve(&self, stdout: ChildStdout) {
        let mut from = BufReader::with_capacity(64 * 1024, stdout);
        while let Ok(Some(frame)) = Frame::read_from(&mut from) {
            let number = frame.channel;
            if let Some(open) = self.open().as_mut()
                && let Some(receiver) = open.get(&number)
                && receiver.try_send(frame).is_err()
            {
                // The caller has given up or reads nothing: others must not wait for it.
                open.remove(&number);
            }
        }
        *self.open() = None;
    }

    fn open(&self) -> MutexGuard<'_, Option<HashMap<u32, WakingSender<SyncSender<Frame>>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Contains nothing of the target, since every user may read a command line. The serial collector
/// starts fastest and suits many small objects of one thread.
fn command(java: &Path, jar: &Path, drivers: &[PathBuf]) -> Command {
    let mut path = OsString::from(jar);
    for driver in drivers {
        path.push(":");
        path.push(driver);
    }
    let mut command = Command::new(java);
    command
        .args(["-XX:+UseSerialGC", "-Xshare:auto", "-classpath"])
        .arg(path)
        .arg("longwire.jdbc.Bridge")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// If the system refuses a thread, missing replies reveal it.
fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).ok()
}

const VERSION: i32 = 1;
/// Frames of a channel that wait for the receiver, enough for a million samples.
const MAX_FRAMES: usize = 1024;
const USUAL_START: Duration = Duration::from_secs(30);
/// Checks of an ending process, half a second in all.
const REAPS: u32 = 100;
const REAP: Duration = Duration::from_millis(5);
