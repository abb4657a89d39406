//! The server's side: replies to commands.

use super::capabilities::{CACHE_METADATA, Capabilities, MYSQL, OPTIONAL_METADATA};
use super::conversation::{Conversation, Owed, Part, Progress, Stage};
use super::lane::{FULL_FRAME, Interest, Opening, Unit};
use super::{fault, wrong_byte};
use crate::decoder::Sink;
use crate::framing::Fault;
use crate::reader::Reader;
use model::{Content, Direction, Phase, Role, StatementId, TransactionState};

/// What a reply's message plays and says; [`Role::Reply`] settles the reply.
type Said<'a> = (Role, Content<'a>);

impl Conversation {
    /// How much of the server's message that begins with `opening` has to be seen.
    pub(super) fn reply_interest(&mut self, opening: Opening) -> Interest {
        if self.is_row(opening) {
            return Interest::default();
        }
        let is_definition = matches!(
            self.progress,
            Progress::Columns(_) | Progress::ParameterDefinitions(..) | Progress::ColumnDefinitions(_)
        );
        let is_event = self.owed.front() == Some(&Owed::Events);
        match opening.first {
            Some(ERROR) => Interest {
                need: 3,
                like: ERROR_LIMIT,
                watch: false,
            },
            _ if is_definition || is_event => Interest::default(),
            Some(OK | EOF) => Interest {
                need: OK_NEED,
                like: REPLY_LIMIT,
                watch: false,
            },
            Some(_) | None if self.stage == Stage::Start => Interest {
                need: REPLY_LIMIT,
                like: REPLY_LIMIT,
                watch: false,
            },
            Some(_) | None => Interest {
                need: 1,
                like: REPLY_LIMIT,
                watch: false,
            },
        }
    }

    /// Takes a complete message of the server.
    pub(super) fn reply(&mut self, unit: Unit<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if self.is_row(unit.opening) {
            self.rows += 1;
            let row = Part::new(Role::ReplyPart, Phase::Work, Content::Row);
            sink(row.of(Direction::ServerToClient, &unit));
            return Ok(());
        }
        let mut code = [0; 11];
        let part = self.reply_part(&unit, &mut code)?;
        sink(part.of(Direction::ServerToClient, &unit));
        Ok(())
    }

    /// Whether a row begins with `opening`: the shortest way for the commonest message.
    fn is_row(&self, opening: Opening) -> bool {
        self.progress == Progress::Rows && opening.first != Some(ERROR) && !is_end_of_rows(opening)
    }

    fn reply_part<'a>(&mut self, unit: &Unit<'a>, code: &'a mut [u8; 11]) -> Result<Part<'a>, Fault> {
        // In blocks the server's frames go on counting.
        let resumes = std::mem::take(&mut self.resumes[Direction::ServerToClient.index()]);
        if resumes && unit.opening.sequence != 1 && !self.has_compression {
            return Err(wrong_byte("the beginning of a reply", unit.opening.first));
        }
        if let Some(sequence) = self.late_eof.take()
            && sequence == unit.opening.sequence
            && is_plain_eof(unit)
        {
            self.omits_eof = Some(false);
            return Ok(Part::new(Role::Notice, Phase::Work, Content::Other));
        }
        let Some(&owed) = self.owed.front() else {
            return self.unasked(unit, code);
        };
        if owed == Owed::Login {
            return Ok(self.login_reply(unit, code));
        }
        let (role, content) = self.command_reply(owed, unit, code)?;
        if role == Role::Reply {
            self.settle();
        }
        Ok(Part::new(role, Phase::Work, content))
    }

    /// A message nobody asked for: the greeting, or why the server ends the connection.
    fn unasked<'a>(&mut self, unit: &Unit<'a>, code: &'a mut [u8; 11]) -> Result<Part<'a>, Fault> {
        if self.stage == Stage::Start {
            return self.greeting(unit, code);
        }
        if self.too_many_owed {
            return Err(fault(
                "a reply to one of at most 65,536 requests",
                "more requests",
            ));
        }
        match unit.opening.first {
            Some(ERROR) => Ok(Part::new(
                Role::Notice,
                Phase::Work,
                error_content(unit.head, code),
            )),
            other => Err(wrong_byte("nothing, as nothing was asked", other)),
        }
    }

    fn command_reply<'a>(
        &mut self,
        owed: Owed,
        unit: &Unit<'a>,
        code: &'a mut [u8; 11],
    ) -> Result<Said<'a>, Fault> {
        if unit.opening.first == Some(ERROR) {
            let is_progress = unit.head.get(1..3) == Some(&PROGRESS_REPORT);
            return Ok(if is_progress {
                (Role::ReplyPart, Content::Other)
            } else {
                (Role::Reply, error_content(unit.head, code))
            });
        }
        match owed {
            Owed::Single => Ok((Role::Reply, ready(unit))),
            Owed::Text => Ok((Role::Reply, Content::Other)),
            Owed::Login | Owed::Results => self.result_message(unit),
            Owed::Preparation(statement) => self.preparation_message(statement, unit),
            Owed::Rows => self.row_or_end(unit),
            Owed::Definitions | Owed::Events if unit.opening.first == Some(EOF) => {
                Ok((Role::Reply, ready(unit)))
            }
            Owed::Definitions | Owed::Events => Ok((Role::ReplyPart, Content::Other)),
        }
    }

    fn result_message<'a>(&mut self, unit: &Unit<'_>) -> Result<Said<'a>, Fault> {
        match self.progress {
            Progress::Columns(left) => {
                self.progress = if left > 1 {
                    Progress::Columns(left - 1)
                } else {
                    Progress::AfterColumns
                };
                Ok((Role::ReplyPart, Content::Other))
            }
            Progress::AfterColumns => self.after_columns(unit),
            Progress::Rows => self.row_or_end(unit),
            Progress::Start
            | Progress::ParameterDefinitions(..)
            | Progress::AfterParameters(_)
            | Progress::ColumnDefinitions(_)
            | Progress::AfterDefinitions => self.result_start(unit),
        }
    }

    /// OK, LOCAL INFILE, or the column count of a result.
    fn result_start<'a>(&mut self, unit: &Unit<'_>) -> Result<Said<'a>, Fault> {
        match unit.opening.first {
            Some(OK) if unit.length >= OkFields::LEAST => {
                let ok = OkFields::read(unit.head).ok_or_else(|| fault("an OK", "a shorter message"))?;
                Ok((ok.role(), ok.done(ok.affected)))
            }
            Some(EOF) if unit.length < 9 => self.row_or_end(unit),
            Some(LOCAL_INFILE) => {
                self.sends_file = true;
                Ok((Role::ReplyPause, Content::Other))
            }
            first => {
                let (columns, follow) = self
                    .column_count(unit)
                    .filter(|&(columns, _)| (1..=MAX_COLUMNS).contains(&columns))
                    .ok_or_else(|| wrong_byte("OK, an error, or a column count", first))?;
                self.rows = 0;
                self.progress = if follow {
                    Progress::Columns(columns)
                } else {
                    Progress::AfterColumns
                };
                Ok((Role::ReplyPart, Content::Other))
            }
        }
    }

    /// The column count of a result, and whether the definitions follow.
    fn column_count(&self, unit: &Unit<'_>) -> Option<(u64, bool)> {
        let mut fields = Reader::new(unit.head);
        if self.capabilities != Capabilities::ALL && self.has_optional_metadata() {
            let follow = fields.u8()? != 0;
            return Some((fields.lenenc_int()?, follow));
        }
        let columns = fields.lenenc_int()?;
        // Of a login that was not seen: whoever sends one more byte has agreed on it.
        let follow = !self.capabilities.has(CACHE_METADATA) || fields.u8().is_none_or(|follow| follow != 0);
        fields.rest().is_empty().then_some((columns, follow))
    }

    const fn has_optional_metadata(&self) -> bool {
        self.capabilities.has(MYSQL) && self.capabilities.has(OPTIONAL_METADATA)
    }

    /// The EOF that ends the definitions, or already the first row. An EOF has 5 bytes, an OK in its place at
    /// least 7, so this holds also when the login was not seen.
    fn after_columns<'a>(&mut self, unit: &Unit<'_>) -> Result<Said<'a>, Fault> {
        self.progress = Progress::Rows;
        if !is_plain_eof(unit) {
            self.omits_eof = Some(true);
            return self.row_or_end(unit);
        }
        self.omits_eof = Some(false);
        let end = EndFields::read(unit.head)?;
        if end.status & CURSOR_EXISTS == 0 {
            return Ok((Role::ReplyPart, Content::Other));
        }
        Ok(self.end_result(end))
    }

    fn row_or_end<'a>(&mut self, unit: &Unit<'_>) -> Result<Said<'a>, Fault> {
        if is_end_of_rows(unit.opening) {
            return Ok(self.end_result(EndFields::read(unit.head)?));
        }
        self.progress = Progress::Rows;
        self.rows += 1;
        Ok((Role::ReplyPart, Content::Row))
    }

    fn end_result<'a>(&mut self, end: EndFields) -> Said<'a> {
        let rows = self.rows;
        self.rows = 0;
        self.progress = Progress::Start;
        (end.role(), end.done(rows))
    }

    fn preparation_message<'a>(
        &mut self,
        statement: StatementId,
        unit: &Unit<'_>,
    ) -> Result<Said<'a>, Fault> {
        let is_eof = is_plain_eof(unit);
        match self.progress {
            Progress::ParameterDefinitions(left, columns) => {
                self.progress = if left > 1 {
                    Progress::ParameterDefinitions(left - 1, columns)
                } else {
                    self.after_parameters(columns)
                };
            }
            Progress::AfterParameters(columns) if is_eof => {
                self.omits_eof = Some(false);
                self.progress = columns_or_end(columns);
            }
            Progress::AfterParameters(columns) => {
                self.omits_eof = Some(true);
                self.progress = self.after_column(columns);
            }
            Progress::ColumnDefinitions(left) => self.progress = self.after_column(left),
            Progress::AfterDefinitions => {
                self.omits_eof = Some(!is_eof);
                return Ok((Role::Reply, ready(unit)));
            }
            Progress::Start | Progress::Columns(_) | Progress::AfterColumns | Progress::Rows => {
                self.begin_preparation(statement, unit)?;
            }
        }
        if self.progress != Progress::Start {
            return Ok((Role::ReplyPart, Content::Other));
        }
        if self.omits_eof.is_none() && unit.opening.sequence > 1 {
            self.late_eof = Some(unit.opening.sequence.wrapping_add(1));
        }
        Ok((Role::Reply, Content::Other))
    }

    /// Reads the answer's first message and finds what follows it; nothing, when the progress stays at its start.
    fn begin_preparation(&mut self, statement: StatementId, unit: &Unit<'_>) -> Result<(), Fault> {
        let shorter = || wrong_byte("the answer to a preparation", unit.opening.first);
        let mut fields = Reader::new(unit.head);
        if fields.u8() != Some(OK) {
            return Err(shorter());
        }
        let number = fields.u32_le().ok_or_else(shorter)?;
        let columns = fields.u16_le().ok_or_else(shorter)?;
        let parameters = fields.u16_le().ok_or_else(shorter)?;
        self.statements.prepared(statement, number, parameters);
        let follow = !self.has_optional_metadata() || unit.head.get(12).is_none_or(|&follow| follow != 0);
        self.progress = if !follow {
            Progress::Start
        } else if parameters > 0 {
            Progress::ParameterDefinitions(parameters, columns)
        } else {
            columns_or_end(columns)
        };
        Ok(())
    }

    /// What follows the last parameter definition.
    const fn after_parameters(&self, columns: u16) -> Progress {
        match self.omits_eof {
            Some(true) => columns_or_end(columns),
            Some(false) => Progress::AfterParameters(columns),
            // Not known: with columns the next message shows it, without them the reply seems over.
            None if columns > 0 => Progress::AfterParameters(columns),
            None => Progress::Start,
        }
    }

    /// What follows a column definition when `left` were to come with it.
    const fn after_column(&self, left: u16) -> Progress {
        match self.omits_eof {
            _ if left > 1 => Progress::ColumnDefinitions(left - 1),
            Some(false) => Progress::AfterDefinitions,
            Some(true) | None => Progress::Start,
        }
    }
}

const fn columns_or_end(columns: u16) -> Progress {
    if columns > 0 {
        Progress::ColumnDefinitions(columns)
    } else {
        Progress::Start
    }
}

/// Fields of an OK that are looked at.
pub(super) struct OkFields {
    affected: u64,
    status: u16,
}

impl OkFields {
    /// Length of the shortest OK.
    pub const LEAST: u64 = 7;

    pub fn read(head: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(head);
        fields.u8()?;
        let affected = fields.lenenc_int()?;
        fields.lenenc_int()?; // last generated key
        Some(Self {
            affected,
            status: fields.u16_le()?,
        })
    }

    pub const fn transaction(&self) -> TransactionState {
        transaction(self.status)
    }

    const fn role(&self) -> Role {
        role_with(self.status)
    }

    const fn done<'a>(&self, rows: u64) -> Content<'a> {
        Content::Done {
            rows: Some(rows),
            transaction: Some(self.transaction()),
        }
    }
}

/// The status at the end of a result: of an EOF, or of an OK in its place.
struct EndFields {
    status: u16,
}

impl EndFields {
    fn read(head: &[u8]) -> Result<Self, Fault> {
        let status = if head.len() < 7 {
            head.get(3..5).and_then(|status| Reader::new(status).u16_le())
        } else {
            OkFields::read(head).map(|ok| ok.status)
        };
        status
            .map(|status| Self { status })
            .ok_or_else(|| fault("the end of a result", "a shorter message"))
    }

    const fn role(&self) -> Role {
        role_with(self.status)
    }

    const fn done<'a>(&self, rows: u64) -> Content<'a> {
        Content::Done {
            rows: Some(rows),
            transaction: Some(transaction(self.status)),
        }
    }
}

/// What an OK or EOF that ends a reply says where no rows are counted.
fn ready<'a>(unit: &Unit<'_>) -> Content<'a> {
    match EndFields::read(unit.head) {
        Ok(end) if matches!(unit.opening.first, Some(OK | EOF)) => Content::Ready(transaction(end.status)),
        Ok(_) | Err(_) => Content::Other,
    }
}

const fn transaction(status: u16) -> TransactionState {
    if status & IN_TRANSACTION == 0 {
        TransactionState::Idle
    } else {
        TransactionState::Open
    }
}

const fn role_with(status: u16) -> Role {
    if status & MORE_RESULTS == 0 {
        Role::Reply
    } else {
        Role::ReplyPart
    }
}

/// An error's code as its number and SQLSTATE, `1146/42S02`, written to `code`, and its text. Only the number where the
/// server sends no SQLSTATE (before login).
pub(super) fn error_content<'a>(head: &'a [u8], code: &'a mut [u8; 11]) -> Content<'a> {
    let mut fields = Reader::new(head);
    fields.u8();
    let number = fields.u16_le().unwrap_or_default();
    let after_number = fields;
    let state = fields.take(6).and_then(|state| state.strip_prefix(b"#"));
    let text = state.map_or(after_number.rest(), |_| fields.rest());
    let mut length = 0;
    let digits = [10_000, 1_000, 100, 10, 1].map(|power| b'0' + (number / power % 10) as u8);
    let significant = digits.iter().position(|&digit| digit != b'0').unwrap_or(4);
    let parts = [digits.get(significant..), state.map(|_| &b"/"[..]), state];
    for &byte in parts.into_iter().flatten().flatten() {
        if let Some(place) = code.get_mut(length) {
            *place = byte;
            length += 1;
        }
    }
    Content::Error {
        code: code.get(..length).unwrap_or_default(),
        text,
    }
}

fn is_plain_eof(unit: &Unit<'_>) -> bool {
    unit.opening.first == Some(EOF) && unit.length == 5
}

/// A row's first byte is 0xfe only for a first value of 16 MiB or more, which fills the frame.
fn is_end_of_rows(opening: Opening) -> bool {
    opening.first == Some(EOF) && opening.length < FULL_FRAME
}

/// Bytes of a reply that are looked at; a greeting is the longest.
const REPLY_LIMIT: usize = 512;
/// Bytes of an error that are kept.
const ERROR_LIMIT: usize = 1024;
/// Bytes of an OK that hold what is looked at: header, two length-encoded integers, status.
const OK_NEED: usize = 1 + 9 + 9 + 2;
/// Columns a table may have at most, several times over.
const MAX_COLUMNS: u64 = 65_535;

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// Error number of MariaDB's progress reports.
const PROGRESS_REPORT: [u8; 2] = [0xff, 0xff];

const IN_TRANSACTION: u16 = 0x0001;
const MORE_RESULTS: u16 = 0x0008;
const CURSOR_EXISTS: u16 = 0x0040;
