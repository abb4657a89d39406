//! Runs a program once behind a relay.

use super::ProgramPlan;
use super::setting::ProgramSetting;
use analysis::fact::Fact;
use anyhow::Result;
use link::LinkDescription;
use model::{PerDirection, ProgramRun, Timestamp};
use pipeline::fact_channel::FactChannel;
use pipeline::interruption::Interrupted;
use relay::command::{NotStarted, RelayedTarget, connect_to, last_bytes, prepare};
use std::io::Read;
use std::process::{ChildStderr, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::Clock;
use sys::program::{Program, ProgramEnd};

pub enum Tried {
    Succeeded(ProgramRun),
    Failed {
        /// `status 3` or `signal 9`.
        how: String,
        /// Tail of stderr, possibly empty.
        said: String,
    },
}

impl ProgramPlan<'_> {
    /// Runs the program once with `setting` over `link`, discarding stdout.
    pub(super) fn trial(&self, setting: &ProgramSetting, link: Option<LinkDescription>) -> Result<Tried> {
        let channel = Arc::new(FactChannel::new(false)?);
        let options = relay::Options {
            link,
            tls: self.tls.relay,
            ..relay::Options::new(self.target.clone())
        };
        let relay = relay::start(options, Clock::anchored_now(), channel.clone())?;
        let target = setting.target(&self.target)?;
        let relayed = RelayedTarget {
            name: target.scheme.name(),
            target: &target,
            relay: connect_to(&relay),
            tls: self.tls.client,
        };
        let mut command = prepare(self.command, &[relayed])?;
        setting.put_into(&mut command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut program = Program::start(&mut command).map_err(|error| NotStarted::new(&command, error))?;
        let said = program.stderr().map(Said::new);
        let mut seen = Seen::default();
        let ended = loop {
            if let Some(ended) = program.wait(self.stop, INSPECTION_INTERVAL)? {
                break ended;
            }
            seen.process_facts(&channel);
            if let Err(interrupted) = Interrupted::check(self.stop) {
                program.end();
                relay.stop(Duration::ZERO);
                return Err(interrupted.into());
            }
        };
        relay.stop(last_bytes(link.as_ref()));
        seen.process_facts(&channel);
        Ok(match ended.status.success() {
            true => Tried::Succeeded(seen.run(&ended)),
            false => Tried::Failed {
                how: how(ended.status),
                said: said.map(|said| said.told()).unwrap_or_default(),
            },
        })
    }
}

fn how(status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".to_owned(),
    }
}

#[derive(Default)]
struct Seen {
    run: ProgramRun,
    uncounted: bool,
    packets: PerDirection<u64>,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
}

impl Seen {
    fn process_facts(&mut self, channel: &FactChannel) {
        for fact in channel.facts() {
            self.fact(&fact);
        }
    }

    fn fact(&mut self, fact: &Fact) {
        match fact {
            Fact::Exchange { exchange, .. } if exchange.request_bytes + exchange.reply_bytes > 0 => {
                let first = self.first.map_or(exchange.at, |first| first.min(exchange.at));
                self.first = Some(first);
                self.last = self.last.max(Some(exchange.ended()));
            }
            Fact::Closed(outcome) => {
                self.run.connections += 1;
                self.run.turns += outcome.turns;
                for (sum, bytes) in self
                    .run
                    .payload_bytes
                    .iter_mut()
                    .zip(outcome.totals.payload_bytes)
                {
                    *sum += bytes;
                }
                match outcome.totals.packets {
                    Some(packets) => {
                        for (sum, packets) in self.packets.iter_mut().zip(packets) {
                            *sum += packets;
                        }
                    }
                    None => self.uncounted = true,
                }
            }
            Fact::Exchange { .. }
            | Fact::Opened { .. }
            | Fact::Started { .. }
            | Fact::Begun { .. }
            | Fact::Left { .. } => {}
        }
    }

    fn run(self, ended: &ProgramEnd) -> ProgramRun {
        let counted = !self.uncounted && self.run.connections > 0;
        ProgramRun {
            duration: ended.duration,
            connected: self.first.zip(self.last).map(|(first, last)| last.since(first)),
            packets: counted.then_some(self.packets),
            client_memory: ended.memory,
            ..self.run
        }
    }
}

/// The tail of a program's stderr, read on a separate thread so that the program never blocks.
struct Said {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Closed at the end of the stream.
    all_read: Receiver<()>,
}

impl Said {
    fn new(mut stderr: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let shared = kept.clone();
        let (reading, all_read) = sync_channel::<()>(0);
        std::thread::spawn(move || {
            let _reading = reading;
            let mut bytes = [0; 1024];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(bytes.get(..count).unwrap_or_default());
                let beyond = kept.len().saturating_sub(KEPT);
                kept.drain(..beyond);
            }
        });
        Self { kept, all_read }
    }

    /// First and last line: one is the message, the other its location. Call it after the program
    /// has ended; on a busy machine its output may still be unread.
    fn told(&self) -> String {
        // Never receives a message: either the stream has ended, or a child process of the program
        // still holds the pipe.
        let _ = self.all_read.recv_timeout(LAST_WORDS);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        match (lines.next(), lines.next_back()) {
            (Some(first), Some(last)) => format!("{first} ... {last}"),
            (Some(only), None) => only.to_owned(),
            (None, _) => String::new(),
        }
    }
}

/// Of the program's memory.
const INSPECTION_INTERVAL: Duration = Duration::from_millis(20);

/// Maximum length in bytes.
const KEPT: usize = 4096;

/// Time limit for reading the rest after exit.
const LAST_WORDS: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Instant;

    /// The program ended before its stderr was read.
    fn failed(script: &str) -> Said {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stderr(Stdio::piped());
        let mut child = command.spawn().expect("there is a shell");
        child.wait().expect("it ends");
        Said::new(child.stderr.take().expect("piped"))
    }

    #[test]
    fn the_last_words_of_a_program_are_not_lost() {
        let said = failed("echo first >&2; echo last >&2; exit 1");
        assert_eq!(said.told(), "first ... last");
    }

    #[test]
    fn a_program_that_leaves_another_behind_is_not_waited_for_long() {
        let said = failed("sleep 20 & echo words >&2; exit 1");
        let asked = Instant::now();
        assert_eq!(said.told(), "words");
        assert!(asked.elapsed() < Duration::from_secs(15));
    }
}
