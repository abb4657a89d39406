//! A statement through a JDBC driver, timed in Java around the driver's calls.

use super::{Kind, Probe};
use crate::ping::plain::{Answer, ProbeContext};
use crate::ping::{DriverQuestion, Opened, PingError};
use client::bridge::{Bridge, BridgeConnection, Execute, HowRun, Introduction, Wait};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) struct Driver<'a> {
    context: ProbeContext<'a>,
    question: &'a DriverQuestion,
    bridge: Option<Arc<Bridge>>,
    connection: Option<BridgeConnection>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(context: ProbeContext<'a>, question: &'a DriverQuestion) -> Self {
        Self {
            context,
            question,
            bridge: None,
            connection: None,
        }
    }

    fn wait(&self) -> Wait<'a> {
        Wait {
            timeout: self.context.timeout,
            stop: self.context.stop,
        }
    }

    fn sql(&self) -> &'a str {
        let least = self.question.login.url.dialect().least_statement();
        self.question.sql.as_deref().unwrap_or(least)
    }

    fn connect(&mut self) -> Result<(BridgeConnection, Introduction), PingError> {
        let bridge = match &self.bridge {
            Some(bridge) => bridge.clone(),
            None => self
                .bridge
                .insert(Bridge::start(&self.question.bridge, self.context.stop)?)
                .clone(),
        };
        Ok(bridge.connect(&self.question.login, self.wait())?)
    }

    /// An application's driver is warm: runs the minimal statement, on a connection not measured
    /// later, until Java has compiled most of the path.
    fn warm_up(&mut self) -> Result<(), PingError> {
        let (mut connection, _) = self.connect()?;
        let began = Instant::now();
        for _ in 0..MAX_WARM_UP_CALLS {
            self.execute(&mut connection)?;
            if began.elapsed() > MAX_WARM_UP {
                break;
            }
        }
        Ok(connection.close(self.wait())?)
    }

    fn execute(&self, connection: &mut BridgeConnection) -> Result<Duration, PingError> {
        let execute = Execute {
            how: match self.question.prepared {
                true => HowRun::PreparedOnce,
                false => HowRun::Text,
            },
            ..Execute::text(self.sql())
        };
        Ok(connection.execute(&execute, self.wait())?.duration)
    }

    fn asked(&self, who: &Introduction) -> Result<String, PingError> {
        let how = match (self.question.connect, self.question.prepared) {
            (true, _) => "a new connection each time, up to the result of ",
            (false, true) => "prepared: ",
            (false, false) => "",
        };
        let driver = who.driver.as_deref().unwrap_or(&who.class);
        let Some(bridge) = &self.bridge else {
            return Err(PingError::Closed);
        };
        let overhead = bridge.overhead(self.wait())?;
        Ok(format!(
            "{how}{} by {driver}, timed in Java {} ({} of the bridge's own in each time; {} from sample to sample, in none)",
            super::statement::shown(self.sql()),
            bridge.java(),
            model::format_duration(overhead.call),
            model::format_duration(overhead.round_trip),
        ))
    }
}

impl Probe for Driver<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        if self.bridge.is_none() && self.question.sql.is_none() && !self.question.connect {
            self.warm_up()?;
        }
        let (connection, who) = self.connect()?;
        let opening = Opened {
            version: who.server.clone(),
            question: self.asked(&who)?,
            ..Opened::default()
        };
        self.connection = (!self.question.connect).then_some(connection);
        Ok(opening)
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let duration = match self.connection.take() {
            Some(mut connection) => {
                let executed = self.execute(&mut connection);
                self.connection = Some(connection);
                executed?
            }
            None if self.question.connect => {
                let (mut connection, who) = self.connect()?;
                let executed = self.execute(&mut connection)?;
                connection.close(self.wait())?;
                who.duration + executed
            }
            None => return Err(PingError::Closed),
        };
        Ok(Answer {
            at: self.context.clock.now().before(duration),
            duration,
            server: None,
            turns: None,
            kernel_rtt: None,
            request_bytes: USUAL_BYTES,
            reply_bytes: USUAL_BYTES,
            error: None,
        })
    }

    fn close(&mut self) {
        self.connection = None;
    }

    fn kind(&self) -> Option<Kind> {
        (!self.question.connect).then_some(Kind::Exchange)
    }
}

/// About the size of a minimal statement and its result.
const USUAL_BYTES: u64 = 64;
/// Java compiles a method again at about this many calls.
const MAX_WARM_UP_CALLS: u32 = 300;
const MAX_WARM_UP: Duration = Duration::from_millis(300);
