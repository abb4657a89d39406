//! Runs the driver in a separate thread, since only the end of its connection can interrupt it.

use super::super::SessionError;
use super::super::deadline::Deadline;
use crate::without_values;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use sys::StopToken;
use sys::error::OsError;
use sys::signals::block_all_signals;
use sys::target::Target;

/// Last result of the driver: the server's version after login, empty after a query.
pub(super) type Outcome = Result<String, SessionError>;

#[derive(Debug)]
pub(super) struct Driver {
    asks: mpsc::SyncSender<String>,
    outcomes: mpsc::Receiver<Outcome>,
    bell: UnixStream,
}

impl Driver {
    /// Starts the driver's login, and returns its connection.
    pub(super) fn start(
        target: &Target,
        deadline: &Deadline,
        stop: &StopToken,
    ) -> Result<(Self, TcpStream), SessionError> {
        let (user, password) = target
            .user
            .clone()
            .zip(target.password.clone())
            .ok_or(SessionError::NoPassword)?;
        let listener = sys::listening::on_loopback().map_err(local)?;
        let port = listener.local_addr().map_err(local)?.port();
        let service = target.database.as_deref().unwrap_or_default();
        let config = oracledb::Config::default()
            .set_credentials(&user, password.reveal())
            .set_driver_name("longwire")
            .set_connect_string(&descriptor(port, service))
            .map_err(|error| failure(&error))?;
        let mut driver = Self::in_a_thread(move |asked, tell| drive(config, asked, tell)).map_err(local)?;
        let stream = driver.accept(&listener, deadline, stop)?;
        Ok((driver, stream))
    }

    fn in_a_thread(
        run: impl FnOnce(&mpsc::Receiver<String>, &mut dyn FnMut(Outcome) -> bool) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (asks, asked) = mpsc::sync_channel(MAX_WAITING);
        let (tell, outcomes) = mpsc::sync_channel(MAX_WAITING);
        let (bell, mut ring) = UnixStream::pair()?;
        std::thread::Builder::new()
            .name("longwire oracle".to_owned())
            .spawn(move || {
                block_all_signals();
                run(&asked, &mut |outcome| {
                    tell.send(outcome).is_ok() && ring.write_all(&[1]).is_ok()
                });
            })?;
        Ok(Self { asks, outcomes, bell })
    }

    #[cfg(test)]
    pub(super) fn scripted(
        run: impl FnOnce(&mpsc::Receiver<String>, &mut dyn FnMut(Outcome) -> bool) + Send + 'static,
    ) -> Self {
        Self::in_a_thread(run).expect("a thread")
    }

    pub(super) fn send_request(&mut self, sql: &str) -> Result<(), SessionError> {
        self.asks.send(sql.to_owned()).map_err(|_| SessionError::Closed)
    }

    pub(super) fn outcome(&mut self) -> Option<Outcome> {
        let outcome = self.outcomes.try_recv().ok()?;
        // Rung once per outcome.
        std::io::Read::read(&mut self.bell, &mut [0]).ok();
        Some(outcome)
    }

    pub(super) const fn bell(&self) -> &UnixStream {
        &self.bell
    }

    /// The driver may also have failed before it connects.
    pub(super) fn accept(
        &mut self,
        listener: &TcpListener,
        deadline: &Deadline,
        stop: &StopToken,
    ) -> Result<TcpStream, SessionError> {
        listener.set_nonblocking(true).map_err(local)?;
        loop {
            let fds = [Some(self.bell.as_fd()), Some(listener.as_fd())];
            let [has_outcome, _] = stop.until_readable(fds, deadline.left()?);
            if let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false).map_err(local)?;
                stream.set_nodelay(true).map_err(local)?;
                return Ok(stream);
            }
            if has_outcome {
                self.outcome().ok_or(SessionError::Closed)??;
            }
            if stop.is_stopped() {
                return Err(SessionError::Stopped);
            }
        }
    }
}

/// Waiting queries and outcomes: a session sends the next query after the outcome.
const MAX_WAITING: usize = 16;

/// Connect descriptor of the service. By default the driver sleeps for a second after each failure.
fn descriptor(port: u16, service: &str) -> String {
    format!(
        "(DESCRIPTION=(RETRY_DELAY=0)(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={port}))(CONNECT_DATA=(SERVICE_NAME={service})))"
    )
}

/// Logs in, then runs the queries. `tell` returns false if no receiver is left.
fn drive(config: oracledb::Config, asked: &mpsc::Receiver<String>, tell: &mut dyn FnMut(Outcome) -> bool) {
    let connection = match oracledb::connect(config) {
        Ok(connection) => connection,
        Err(error) => {
            tell(Err(failure(&error)));
            return;
        }
    };
    let version = connection
        .version()
        .map(|version| format!("Oracle Database {version}"));
    if !tell(version.map_err(|error| failure(&error))) {
        return;
    }
    while let Ok(sql) = asked.recv() {
        let outcome = match connection.query_row(&sql, &[]) {
            Ok(_) => Ok(String::new()),
            Err(error) => Err(failure(&error)),
        };
        if !tell(outcome) {
            return;
        }
    }
}

fn failure(error: &oracledb::Error) -> SessionError {
    let refused = |code: usize, text: &str| SessionError::Login {
        code: format!("ORA-{code:05}"),
        text: text.to_owned(),
    };
    match error.kind() {
        oracledb::ErrorKind::InvalidServiceName(..) => {
            refused(12514, "the listener does not know the service")
        }
        oracledb::ErrorKind::InvalidSid(..) => refused(12505, "the listener does not know the SID"),
        oracledb::ErrorKind::ListenerRefusedConnection(_, _, _, code) => {
            refused(*code, "the listener refused the connection")
        }
        oracledb::ErrorKind::UnexpectedRefuse(_) => refused(0, "the listener refused and did not say why"),
        oracledb::ErrorKind::DbError(error) => {
            let said = error.message().lines().next().unwrap_or_default();
            let text = said.split_once(": ").map_or(said, |(_, text)| text);
            refused(error.code(), &without_values(text.as_bytes()))
        }
        oracledb::ErrorKind::DeadConnection | oracledb::ErrorKind::StreamOperation => SessionError::Closed,
        _ => SessionError::Driver {
            text: without_values(error.to_string().as_bytes()),
        },
    }
}

pub(super) fn local(error: std::io::Error) -> SessionError {
    SessionError::Broken {
        reason: OsError::from_io_error(&error),
    }
}
