//! An SQL client as a state machine.

use super::super::engine::machine::{Afterwards, Machine, Next};
use super::super::{ClientSpec, Error, QueryMode};
use super::SqlLoad;
use super::prepared::{Compiled, is_sent_as_text, run_portal};
use crate::script::{Action, Keep, Script, Statement, Values};
use client::session::ReplyProgress;
use client::{ErrorReply, SqlProtocol, mysql, postgres};
use model::{Direction, Timestamp};
use wire::Decoder;

pub(crate) struct SqlMachine<'k> {
    load: &'k SqlLoad,
    decoder: Option<Box<dyn Decoder + Send>>,
    values: Values,
    script: Option<(&'k Script, usize)>,
    at: usize,
    statement: Option<&'k Statement>,
    /// The server's number of each statement on this connection.
    prepared: Vec<Option<u32>>,
    /// A MySQL statement to close with the next request.
    closing: Option<u32>,
    awaits: Awaits,
    reply: Reply,
    pipeline: Option<Vec<u8>>,
    /// Whether the current pause is [`SqlLoad::pausing`].
    is_due: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaits {
    Result,
    Preparation,
}

#[derive(Debug, Default)]
struct Reply {
    expected: u64,
    progress: ReplyProgress,
    /// The reply, or the part of it that is needed.
    bytes: Vec<u8>,
    wanted: usize,
}

impl<'k> SqlMachine<'k> {
    pub fn new(load: &'k SqlLoad, client_spec: &ClientSpec<'_>) -> Self {
        Self {
            load,
            decoder: None,
            values: load
                .scripts
                .values(client_spec.number, client_spec.clients, client_spec.seed),
            script: None,
            at: 0,
            statement: None,
            prepared: vec![None; load.statements.len()],
            closing: None,
            awaits: Awaits::Result,
            reply: Reply::default(),
            pipeline: None,
            is_due: false,
        }
    }

    /// Number of the last statement among all scripts', from 1.
    fn command_index(&self) -> usize {
        self.statement.map_or(0, |statement| statement.number() + 1)
    }

    fn refused(&self, ErrorReply { code, text }: ErrorReply) -> Error {
        Error::Statement {
            number: self.command_index(),
            code,
            text,
        }
    }

    /// Continues the script until there is a request to send.
    fn go_on(&mut self, request: &mut Vec<u8>) -> Result<Next, Error> {
        let Some((script, _)) = self.script else {
            return Ok(Next::Done);
        };
        loop {
            match self.values.next(script, &mut self.at)? {
                Action::Sleep(pause) => return Ok(Next::Sleep(pause)),
                Action::End => return Ok(Next::Done),
                Action::StartPipeline if self.load.protocol == SqlProtocol::Mysql => {
                    return Err(Error::Pipeline);
                }
                Action::StartPipeline => self.pipeline = Some(Vec::new()),
                Action::SyncPipeline => self.sync(),
                Action::EndPipeline => {
                    self.sync();
                    return self.pause_or_send(request);
                }
                Action::Statement(statement) => {
                    self.statement = Some(statement);
                    if let Some(mut pipeline) = self.pipeline.take() {
                        self.write(statement, &mut pipeline);
                        self.pipeline = Some(pipeline);
                    } else {
                        return self.pause_or_send(request);
                    }
                }
            }
        }
    }

    /// Sends the next statement or pipeline, after the pause if configured.
    fn pause_or_send(&mut self, request: &mut Vec<u8>) -> Result<Next, Error> {
        match self.load.pause {
            Some(pause) => {
                self.is_due = true;
                Ok(Next::Sleep(pause))
            }
            None => self.send_due(request),
        }
    }

    fn send_due(&mut self, request: &mut Vec<u8>) -> Result<Next, Error> {
        if let Some(mut pipeline) = self.pipeline.take() {
            request.append(&mut pipeline);
            return Ok(Next::Send);
        }
        match self.statement {
            Some(statement) => self.send_statement(statement, request),
            None => Ok(Next::Done),
        }
    }

    fn sync(&mut self) {
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.extend_from_slice(postgres::SYNC);
            self.reply.expected += 1;
        }
    }

    fn send_statement(&mut self, statement: &'k Statement, request: &mut Vec<u8>) -> Result<Next, Error> {
        self.reply.expected = 1;
        if statement.keep().is_some() {
            self.reply.wanted = MAX_KEPT_BYTES;
        }
        if let Some(closing) = self.closing.take() {
            mysql::close(request, closing);
        }
        self.write(statement, request);
        if self.load.protocol == SqlProtocol::Postgres && self.load.mode != QueryMode::Simple {
            request.extend_from_slice(postgres::SYNC);
        }
        Ok(Next::Send)
    }

    /// Appends the request that runs `statement`, or first prepares it.
    fn write(&mut self, statement: &'k Statement, request: &mut Vec<u8>) {
        let load = self.load;
        let Some(compiled) = load.statements.get(statement.number()) else {
            return;
        };
        self.awaits = Awaits::Result;
        match load.protocol {
            SqlProtocol::Postgres if load.mode == QueryMode::Prepared => {
                self.prepare(statement, compiled, request)
            }
            SqlProtocol::Postgres | SqlProtocol::Mysql => {}
        }
        if let Some(fixed) = &compiled.fixed {
            return request.extend_from_slice(fixed);
        }
        let values = &self.values;
        match (load.protocol, load.mode) {
            (SqlProtocol::Postgres, QueryMode::Simple) => {
                postgres::query(request, |text| values.write(statement, text));
            }
            (SqlProtocol::Postgres, mode) => {
                let name = if mode == QueryMode::Extended {
                    postgres::parse(request, "", &compiled.text);
                    ""
                } else {
                    &compiled.name
                };
                run_portal(request, name, compiled.parameters.len(), |place, text| {
                    compiled.value(values, place, text)
                });
            }
            (SqlProtocol::Mysql, mode) if is_sent_as_text(statement, mode) => {
                mysql::query(request, |text| values.write(statement, text));
            }
            (SqlProtocol::Mysql, _) => self.write_prepared(statement.number(), compiled, request),
        }
    }

    /// PostgreSQL prepares `statement` on first use, in the same request.
    fn prepare(&mut self, statement: &Statement, compiled: &Compiled, request: &mut Vec<u8>) {
        if let Some(prepared) = self.prepared.get_mut(statement.number())
            && prepared.is_none()
        {
            postgres::parse(request, &compiled.name, &compiled.text);
            *prepared = Some(0);
        }
    }

    /// MySQL executes by the server's number, or prepares first.
    fn write_prepared(&mut self, statement: usize, compiled: &Compiled, request: &mut Vec<u8>) {
        match self.prepared.get(statement).copied().flatten() {
            Some(number) => {
                let values = &self.values;
                mysql::execute(request, number, compiled.parameters.len(), |place, body| {
                    let start = body.len();
                    if compiled.value(values, place, body) {
                        return mysql::make_value(body, start);
                    }
                    body.truncate(start);
                    mysql::ParameterType::Null
                });
            }
            None => {
                self.awaits = Awaits::Preparation;
                self.reply.wanted = NUMBER_WITHIN;
                mysql::prepare(request, &compiled.text);
            }
        }
    }

    fn answered(&mut self, request: &mut Vec<u8>) -> Result<Next, Error> {
        let mut reply = self.reply.take_values();
        if let Some(error) = reply.progress.error {
            return Err(self.refused(error));
        }
        match (self.awaits, self.statement) {
            (Awaits::Preparation, Some(statement)) => {
                let body = reply.bytes.get(HEADER..).unwrap_or_default();
                let number = mysql::prepared_statement(body).ok_or(Error::Closed)?;
                if let Some(prepared) = self.prepared.get_mut(statement.number()) {
                    *prepared = Some(number);
                }
                return self.pause_or_send(request);
            }
            (Awaits::Result, Some(statement)) => {
                if let Some(keep) = statement.keep() {
                    self.keep(keep, &reply.bytes)?;
                }
                let forgets =
                    self.load.protocol == SqlProtocol::Mysql && self.load.mode == QueryMode::Extended;
                if let Some(prepared) = self.prepared.get_mut(statement.number())
                    && forgets
                {
                    self.closing = prepared.take();
                }
            }
            (Awaits::Preparation | Awaits::Result, None) => {}
        }
        reply.bytes.clear();
        self.reply.bytes = reply.bytes;
        self.go_on(request)
    }

    /// Assigns the values of a result to variables.
    fn keep(&mut self, keep: &Keep, reply: &[u8]) -> Result<(), Error> {
        if reply.len() >= MAX_KEPT_BYTES {
            return Err(Error::KeptTooLong {
                number: self.command_index(),
            });
        }
        let results = self.load.protocol.text_results(reply);
        let results = match keep {
            Keep::One { .. } => {
                let last = results.last().filter(|result| result.rows.len() == 1);
                std::slice::from_ref(last.ok_or(Error::NotOneRow {
                    number: self.command_index(),
                })?)
            }
            Keep::All { .. } => results.as_slice(),
        };
        for result in results {
            let row = result.rows.last().map(Vec::as_slice).unwrap_or_default();
            for (column, value) in result.columns.iter().zip(row) {
                self.values.keep(keep, column.as_bytes(), value.as_deref());
            }
        }
        Ok(())
    }
}

impl Machine for SqlMachine<'_> {
    fn connected(&mut self, decoder: Option<Box<dyn Decoder + Send>>) {
        self.decoder = decoder;
        self.prepared.fill(None);
        self.closing = None;
    }

    fn begin(&mut self, request: &mut Vec<u8>) -> Result<Next, Error> {
        let scripts = &self.load.scripts;
        self.script = self.values.choose(scripts).map(|chosen| {
            let place = scripts
                .list()
                .iter()
                .position(|script| std::ptr::eq(script, chosen));
            (chosen, place.unwrap_or_default())
        });
        self.at = 0;
        self.statement = None;
        self.pipeline = None;
        self.is_due = false;
        self.reply.take_values();
        self.go_on(request)
    }

    fn sending(&mut self, request: &mut Vec<u8>) -> Result<(), Error> {
        if self.load.is_compressed() {
            mysql::in_blocks(request);
        }
        if let Some(decoder) = &mut self.decoder {
            decoder.feed(
                Timestamp::default(),
                Direction::ClientToServer,
                request,
                &mut |_| {},
            )?;
        }
        Ok(())
    }

    fn wake(&mut self, request: &mut Vec<u8>) -> Result<Next, Error> {
        if std::mem::take(&mut self.is_due) {
            return self.send_due(request);
        }
        self.go_on(request)
    }

    fn process_bytes(&mut self, bytes: &[u8], request: &mut Vec<u8>) -> Result<Next, Error> {
        let Some(decoder) = &mut self.decoder else {
            return Err(Error::Closed);
        };
        let reply = &mut self.reply;
        reply.show(bytes);
        decoder.feed(
            Timestamp::default(),
            Direction::ServerToClient,
            bytes,
            &mut |message| reply.progress.process_message(message),
        )?;
        if std::mem::take(&mut self.reply.progress.paused) {
            request.extend_from_slice(self.load.protocol.refusal());
            return Ok(Next::Send);
        }
        if self.reply.expected > 0 && self.reply.progress.complete >= self.reply.expected {
            self.answered(request)
        } else {
            Ok(Next::Wait)
        }
    }

    fn ended(&mut self) -> Result<Next, Error> {
        let error = self.reply.progress.error.take();
        Err(error.map_or(Error::Closed, |error| self.refused(error)))
    }

    fn script(&self) -> usize {
        self.script.map_or(0, |(_, place)| place)
    }

    fn afterwards(&self) -> Afterwards {
        Afterwards::Kept
    }
}

impl Reply {
    fn take_values(&mut self) -> Self {
        std::mem::take(self)
    }

    fn show(&mut self, bytes: &[u8]) {
        let room = self.wanted.saturating_sub(self.bytes.len());
        if room > 0 {
            self.bytes.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
    }
}

const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;
const HEADER: usize = 4;
/// Bytes of a reply to a preparation up to the statement's number.
const NUMBER_WITHIN: usize = HEADER + 5;
