//! One connection of a driver, on its own channel.

use super::frames::{Frame, Writer, reply, request};
use super::process::Bridge;
use super::request::{
    Column, Execute, Executed, HowInserted, HowRun, HowUpdated, Insert, Login, Parameter, Update, Wait,
};
use super::{BridgeError, JdbcDialect};
use crate::without_values;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::receiver::StoppableReceiver;

/// A connection opened by the driver. Do not use it after [`BridgeError::TimedOut`] and
/// [`BridgeError::Stopped`]: a reply may still arrive.
#[derive(Debug)]
pub struct BridgeConnection {
    bridge: Arc<Bridge>,
    number: u32,
    replies: StoppableReceiver<Frame>,
    dialect: JdbcDialect,
    shown: String,
    secrets: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Introduction {
    /// Duration of `Driver.connect`: name resolution, TCP, TLS, login and initial queries of the
    /// driver.
    pub duration: Duration,
    pub class: String,
    pub driver: Option<String>,
    pub server: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overhead {
    /// Median duration of an empty call, by the bridge's clock. Every reported duration includes
    /// it.
    pub call: Duration,
    /// Median round trip of an empty request, measured by longwire. It falls between two
    /// statements, and no reported duration includes it.
    pub round_trip: Duration,
}

impl Bridge {
    /// Opens a connection through the driver.
    ///
    /// # Errors
    /// If no driver accepts the URL, or the driver or the server refuses.
    pub fn connect(
        self: &Arc<Self>,
        login: &Login,
        wait: Wait<'_>,
    ) -> Result<(BridgeConnection, Introduction), BridgeError> {
        BridgeConnection::open(self, login, wait)
    }

    /// Measures the overhead, which takes some milliseconds.
    ///
    /// # Errors
    /// If the process is gone.
    pub fn overhead(&self, wait: Wait<'_>) -> Result<Overhead, BridgeError> {
        let (number, replies) = self.channel()?;
        let ask = |times: u64| -> Result<(Executed, Duration), BridgeError> {
            let mut request = Writer::new(number, request::OVERHEAD);
            request.count(times);
            let began = Instant::now();
            self.send(request)?;
            let done = done(self, &replies, wait, &|error| error)?;
            Ok((done, began.elapsed()))
        };
        // First in Java's interpreter, then compiled.
        let mut call = ask(WARM)?.0.durations;
        call.drain(..call.len() / 2);
        let trips = (0..TRIPS).map(|_| ask(1).map(|(_, took)| took));
        let mut trips = trips.collect::<Result<Vec<_>, _>>()?;
        trips.drain(..trips.len() / 2);
        self.send(Writer::new(number, request::CLOSE))?;
        done(self, &replies, wait, &|error| error)?;
        self.forget(number);
        Ok(Overhead {
            call: model::median(call).unwrap_or_default(),
            round_trip: model::median(trips).unwrap_or_default(),
        })
    }
}

impl BridgeConnection {
    fn open(
        bridge: &Arc<Bridge>,
        login: &Login,
        wait: Wait<'_>,
    ) -> Result<(Self, Introduction), BridgeError> {
        let (number, replies) = bridge.channel()?;
        let connection = Self {
            bridge: bridge.clone(),
            number,
            replies,
            dialect: login.url.dialect(),
            shown: login.url.to_string(),
            secrets: login.secrets(),
        };
        let mut open = Writer::new(number, request::OPEN);
        open.text(login.class.as_deref());
        open.text(Some(login.url.reveal()));
        open.count(login.properties.len() as u64);
        for (name, value) in &login.properties {
            open.text(Some(name));
            open.text(Some(value.reveal()));
        }
        bridge.send(open)?;
        let mut frame = connection.receive(wait)?;
        if frame.kind != reply::OPENED {
            return Err(BridgeError::Garbled);
        }
        let introduction = introduction(&mut frame)?;
        Ok((connection, introduction))
    }

    /// Runs a statement to the end of its results, as often as requested.
    ///
    /// # Errors
    /// If the driver or the server refuses; earlier executions are discarded.
    pub fn execute(&mut self, execute: &Execute<'_>, wait: Wait<'_>) -> Result<Executed, BridgeError> {
        let mut frame = Writer::new(self.number, request::EXECUTE);
        frame.tag(match execute.how {
            HowRun::Text => 0,
            HowRun::PreparedEachTime => 1,
            HowRun::PreparedOnce => 2,
        });
        frame.text(Some(execute.sql));
        frame.number(execute.fetch_size);
        frame.count(u64::from(execute.times));
        frame.flag(execute.keep);
        frame.flag(execute.weigh);
        frame.count(execute.parameters.len() as u64);
        for parameter in execute.parameters {
            write_parameter(&mut frame, parameter);
        }
        self.send_request(frame, wait)
    }

    /// Generates rows and inserts them.
    ///
    /// # Errors
    /// As [`BridgeConnection::execute`].
    pub fn insert(&mut self, insert: &Insert<'_>, wait: Wait<'_>) -> Result<Executed, BridgeError> {
        let mut frame = Writer::new(self.number, request::INSERT);
        frame.tag(match insert.how {
            HowInserted::Text => 0,
            HowInserted::Prepared => 1,
            HowInserted::Batch => 2,
            HowInserted::ManyRows => 3,
        });
        frame.text(Some(insert.insert));
        frame.count(insert.size);
        frame.large(i64::try_from(insert.rows).unwrap_or(i64::MAX));
        frame.flag(insert.weigh);
        frame.count(insert.columns.len() as u64);
        for column in insert.columns {
            frame.text(Some(&column.name));
            frame.number(column.kind);
            frame.number(column.width);
        }
        self.send_request(frame, wait)
    }

    /// Reads rows and changes each.
    ///
    /// # Errors
    /// As [`BridgeConnection::execute`].
    pub fn update(&mut self, update: &Update<'_>, wait: Wait<'_>) -> Result<Executed, BridgeError> {
        let mut frame = Writer::new(self.number, request::UPDATE);
        frame.tag(match update.how {
            HowUpdated::ByKey => 0,
            HowUpdated::InResult => 1,
            HowUpdated::Batch => 2,
        });
        for text in [update.select, update.update, update.column, update.value] {
            frame.text(Some(text));
        }
        frame.number(update.fetch_size);
        frame.count(update.batch);
        self.send_request(frame, wait)
    }

    /// Calls `Connection.setAutoCommit` in the driver.
    ///
    /// # Errors
    /// As [`BridgeConnection::execute`].
    pub fn set_autocommit(&mut self, on: bool, wait: Wait<'_>) -> Result<Executed, BridgeError> {
        let mut frame = Writer::new(self.number, request::AUTOCOMMIT);
        frame.flag(on);
        self.send_request(frame, wait)
    }

    /// Calls `Connection.commit` in the driver.
    ///
    /// # Errors
    /// As [`BridgeConnection::execute`].
    pub fn commit(&mut self, wait: Wait<'_>) -> Result<Executed, BridgeError> {
        self.send_request(Writer::new(self.number, request::COMMIT), wait)
    }

    /// Calls `Connection.rollback` in the driver.
    ///
    /// # Errors
    /// As [`BridgeConnection::execute`].
    pub fn rollback(&mut self, wait: Wait<'_>) -> Result<Executed, BridgeError> {
        self.send_request(Writer::new(self.number, request::ROLLBACK), wait)
    }

    /// Columns of a query's result, which is not read.
    ///
    /// # Errors
    /// As [`BridgeConnection::execute`].
    pub fn columns(&mut self, query: &str, wait: Wait<'_>) -> Result<Vec<Column>, BridgeError> {
        let mut frame = Writer::new(self.number, request::COLUMNS);
        frame.text(Some(query));
        self.bridge.send(frame)?;
        let mut frame = self.receive(wait)?;
        if frame.kind != reply::COLUMNS {
            return Err(BridgeError::Garbled);
        }
        let mut columns = Vec::new();
        for _ in 0..frame.number()? {
            columns.push(Column {
                name: frame.text()?.unwrap_or_default(),
                kind: frame.number()?,
                width: frame.number()?,
            });
        }
        Ok(columns)
    }

    /// Closes the connection as the driver does, and waits for the end.
    ///
    /// # Errors
    /// As [`BridgeConnection::execute`].
    pub fn close(mut self, wait: Wait<'_>) -> Result<(), BridgeError> {
        let frame = Writer::new(self.number, request::CLOSE);
        self.send_request(frame, wait).map(|_| ())
    }

    fn send_request(&mut self, frame: Writer, wait: Wait<'_>) -> Result<Executed, BridgeError> {
        self.bridge.send(frame)?;
        let done = done(&self.bridge, &self.replies, wait, &|error| {
            self.without_secrets(error)
        });
        self.given_up(done)
    }

    fn receive(&self, wait: Wait<'_>) -> Result<Frame, BridgeError> {
        let frame = self.bridge.receive(&self.replies, wait);
        match self.given_up(frame)? {
            frame if frame.kind == reply::FAILED => {
                Err(self.without_secrets(failed(frame, self.bridge.java())))
            }
            frame => Ok(frame),
        }
    }

    fn given_up<T>(&self, result: Result<T, BridgeError>) -> Result<T, BridgeError> {
        if let Err(BridgeError::TimedOut { .. } | BridgeError::Stopped) = &result {
            // A failure to cancel has no consequence.
            self.bridge.send(Writer::new(self.number, request::CANCEL)).ok();
        }
        result
    }

    fn without_secrets(&self, error: BridgeError) -> BridgeError {
        let hidden = |text: String| {
            let secrets = self.secrets.iter().filter(|secret| secret.len() > 2);
            secrets.fold(text, |text, secret| text.replace(secret, "***"))
        };
        match error {
            BridgeError::Sql { code, text } => BridgeError::Sql {
                code: self.dialect.code(&code),
                text: without_values(hidden(text).as_bytes()),
            },
            BridgeError::Driver { class, text } => BridgeError::Driver {
                class,
                text: without_values(hidden(text).as_bytes()),
            },
            BridgeError::NoDriver { drivers, .. } => BridgeError::NoDriver {
                url: self.shown.clone(),
                drivers,
            },
            other => other,
        }
    }
}

impl Drop for BridgeConnection {
    fn drop(&mut self) {
        // It may be closed, or its process be gone.
        self.bridge.send(Writer::new(self.number, request::CLOSE)).ok();
        self.bridge.forget(self.number);
    }
}

fn introduction(frame: &mut Frame) -> Result<Introduction, BridgeError> {
    let duration = nanos(frame)?;
    let class = frame.text()?.unwrap_or_default();
    let mut named = || -> Result<Option<String>, BridgeError> {
        let parts = [frame.text()?, frame.text()?];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        Ok((!parts.is_empty()).then(|| parts.join(" ")))
    };
    Ok(Introduction {
        duration,
        class,
        driver: named()?,
        server: named()?,
    })
}

fn write_parameter(frame: &mut Writer, parameter: &Parameter) {
    match parameter {
        Parameter::Null => frame.tag(0),
        Parameter::Whole(number) => {
            frame.tag(1);
            frame.large(*number);
        }
        Parameter::Fraction(number) => {
            frame.tag(2);
            frame.large(number.to_bits() as i64);
        }
        Parameter::Text(text) => {
            frame.tag(3);
            frame.text(Some(text));
        }
        Parameter::Truth(truth) => {
            frame.tag(4);
            frame.flag(*truth);
        }
    }
}

fn done(
    bridge: &Bridge,
    replies: &StoppableReceiver<Frame>,
    wait: Wait<'_>,
    shown: &dyn Fn(BridgeError) -> BridgeError,
) -> Result<Executed, BridgeError> {
    let mut executed = Executed::default();
    loop {
        let mut frame = bridge.receive(replies, wait)?;
        match frame.kind {
            reply::SAMPLES => {
                for _ in 0..frame.number()? {
                    executed.durations.push(nanos(&mut frame)?);
                }
            }
            reply::DONE => {
                executed.duration = nanos(&mut frame)?;
                executed.rows = frame.large()?.unsigned_abs();
                executed.changed = frame.large()?.unsigned_abs();
                executed.heap = u64::try_from(frame.large()?).ok();
                for _ in 0..frame.number()? {
                    executed
                        .kept
                        .push((frame.text()?.unwrap_or_default(), frame.text()?));
                }
                return Ok(executed);
            }
            reply::FAILED => return Err(shown(failed(frame, bridge.java()))),
            _ => return Err(BridgeError::Garbled),
        }
    }
}

fn nanos(frame: &mut Frame) -> Result<Duration, BridgeError> {
    Ok(Duration::from_nanos(frame.large()?.unsigned_abs()))
}

fn failed(frame: Frame, java: &str) -> BridgeError {
    read_failure(frame, java).unwrap_or_else(|error| error)
}

fn read_failure(mut frame: Frame, java: &str) -> Result<BridgeError, BridgeError> {
    let kind = frame.tag()?;
    let class = frame.text()?.unwrap_or_default();
    let state = frame.text()?.filter(|state| !state.is_empty());
    let number = frame.number()?;
    let text = frame.text()?.unwrap_or_default();
    Ok(match kind {
        1 => BridgeError::Sql {
            code: match (state, number) {
                (Some(state), 0) => state,
                (Some(state), number) => format!("{state}/{number}"),
                (None, 0) => "an error:".to_owned(),
                (None, number) => number.to_string(),
            },
            text,
        },
        2 => BridgeError::NoDriver {
            url: String::new(),
            drivers: text,
        },
        3 => BridgeError::NoClass { class: text },
        4 => BridgeError::NotADriver { class: text },
        5 => BridgeError::NoMemory,
        _ if class == "java.lang.UnsupportedClassVersionError" => BridgeError::DriverTooNew {
            java: java.to_owned(),
            said: text,
        },
        _ => BridgeError::Driver { class, text },
    })
}

/// Enough executions for Java to compile the path to a statement.
const WARM: u64 = 20_000;
const TRIPS: u32 = 400;
