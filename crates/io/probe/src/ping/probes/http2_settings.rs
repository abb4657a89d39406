//! SETTINGS of HTTP/2 on a persistent connection, acknowledged at once: no path, no method.

use super::Probe;
use crate::ping::plain::{Answer, ProbeContext};
use crate::ping::{AnswerTime, Opened, PingError};
use client::session::{ClientConnection, Deadline, Session};
use model::{Direction, Leg, PerDirection, Phase};
use std::time::Duration;
use sys::TlsSettings;
use wire::http2::{OPENING, PingClient, SETTINGS};

pub(super) struct Http2Settings<'a> {
    context: ProbeContext<'a>,
    connection: Option<Http2Connection<'a>>,
}

struct Http2Connection<'a> {
    line: ClientConnection<'a>,
    client: PingClient,
}

impl<'a> Http2Settings<'a> {
    pub(super) fn new(context: ProbeContext<'a>) -> Self {
        Self {
            context,
            connection: None,
        }
    }
}

impl Probe for Http2Settings<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        // Refuses a target that requires TLS.
        TlsSettings::from_target(self.context.target)?;
        let session = Session::connect(self.context.target, self.context.session_options())?;
        let (server, mut legs) = (session.server(), session.legs().to_vec());
        let (_, connected) = session.opened();
        let mut connection = Http2Connection {
            line: session.into_connection(),
            client: PingClient::default(),
        };
        let preface = connection.exchange(OPENING, self.context.timeout)?;
        legs.push(Leg {
            name: "preface".into(),
            phase: Phase::Connect,
            duration: connection.line.arrived().since(connected),
            turns: preface.turns.unwrap_or_default(),
            payload_bytes: PerDirection::new(preface.request_bytes, preface.reply_bytes),
            remedy: None,
            saves_turns: 0,
        });
        self.connection = Some(connection);
        Ok(Opened {
            server,
            question: "SETTINGS, acknowledged at once".to_owned(),
            legs,
            answer_time: AnswerTime::Negligible,
            ..Opened::default()
        })
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let connection = self.connection.as_mut().ok_or(PingError::Closed)?;
        connection.exchange(SETTINGS, self.context.timeout)
    }

    fn close(&mut self) {
        self.connection = None;
    }
}

impl Http2Connection<'_> {
    /// Sends bytes that end with SETTINGS, and waits for the ACK.
    fn exchange(&mut self, request: &[u8], timeout: Duration) -> Result<Answer, PingError> {
        let deadline = Deadline::after(timeout);
        let before = self.line.passed();
        let known = self.client.acknowledged();
        let at = self.line.send(request, &deadline)?;
        let mut answers = Vec::new();
        while self.client.acknowledged().unwrap_or(0) <= known.unwrap_or(0) {
            let came = self.line.receive(&deadline)?;
            if came.is_empty() {
                let fault = self.client.fault_of_end();
                return Err(fault.map_or(PingError::Closed, PingError::from));
            }
            self.client.process_bytes(came, &mut answers)?;
        }
        let passed = self.line.passed();
        let moved = |direction| passed.bytes[direction].saturating_sub(before.bytes[direction]);
        let answer = Answer {
            at,
            duration: self.line.arrived().since(at),
            server: None,
            turns: Some(passed.turns.saturating_sub(before.turns)),
            kernel_rtt: self
                .line
                .transport()
                .socket()
                .info()
                .and_then(|figures| figures.rtt),
            request_bytes: moved(Direction::ClientToServer),
            reply_bytes: moved(Direction::ServerToClient),
            error: None,
        };
        // Not before, so that they begin no round trip of this sample.
        self.line.send(&answers, &deadline)?;
        Ok(answer)
    }
}
