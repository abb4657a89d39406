//! Replies of the server to commands.

use super::capabilities::{CACHE_METADATA, Capabilities, MYSQL, OPTIONAL_METADATA};
use super::conversation::{Conversation, ConversationPhase, Part, PendingReply, Progress, Shown};
use super::endings::{EndFields, OkFields, error_content, is_end_of_rows, is_plain_eof, ready};
use super::messages::reply::{EOF, ERR, LOCAL_INFILE, OK};
use super::unit::{Arrival, Interest, MessageStart, Unit};
use super::wrong_byte;
use crate::decoding::decoder::MessageSink;
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use crate::decoding::reader::Reader;
use model::{Content, Direction, Message, Phase, Protocol, Role};

pub(super) type Said<'a> = (Role, Content<'a>);

impl Conversation {
    pub(super) fn reply_interest(&mut self, opening: MessageStart) -> Interest {
        if self.is_row(opening) {
            return Interest::default();
        }
        let is_definition = matches!(
            self.progress,
            Progress::Columns(_) | Progress::ParameterDefinitions(..) | Progress::ColumnDefinitions(_)
        );
        let is_event = self.pending.front() == Some(&PendingReply::Events);
        match opening.first {
            Some(ERR) => Interest {
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
            Some(_) | None if self.stage == ConversationPhase::Start => Interest {
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

    pub(super) fn reply(&mut self, unit: Unit<'_>, sink: &mut MessageSink<'_>) -> Result<(), HeaderFault> {
        if self.is_row(unit.opening) {
            let arrival = Arrival {
                direction: Direction::ServerToClient,
                started: unit.started,
                ended: unit.ended,
            };
            self.row(arrival, unit.bytes, sink);
            return Ok(());
        }
        let mut code = [0; 11];
        let part = self.reply_part(&unit, &mut code)?;
        let message = part.message(Direction::ServerToClient, &unit);
        if let Some(shown) = self.shown.take() {
            announce(shown, message, sink);
        }
        sink(&message);
        Ok(())
    }

    fn show_columns(&mut self, columns: u64) {
        let shown = self.inspected.take().zip(u16::try_from(columns).ok());
        if let Some((statement, columns)) = shown {
            self.statements.shaped(statement);
            self.shown = Some(Shown {
                statement,
                prepared: None,
                columns,
            });
        }
    }

    #[inline]
    pub(super) fn row(&mut self, arrival: Arrival, bytes: u64, sink: &mut MessageSink<'_>) {
        self.rows += 1;
        sink(&Message {
            stream: 0,
            protocol: Protocol::Mysql,
            direction: arrival.direction,
            started: arrival.started,
            ended: arrival.ended,
            bytes,
            role: Role::ReplyPart,
            phase: Phase::Work,
            content: Content::Row,
        });
    }

    /// Whether a row begins with `opening`: the fast path of the most frequent message.
    #[inline]
    pub(super) fn is_row(&self, opening: MessageStart) -> bool {
        self.progress == Progress::Rows && opening.first != Some(ERR) && !is_end_of_rows(opening)
    }

    fn reply_part<'a>(&mut self, unit: &Unit<'a>, code: &'a mut [u8; 11]) -> Result<Part<'a>, HeaderFault> {
        // In blocks the server's frames continue the count.
        let resumes = std::mem::take(&mut self.resumes[Direction::ServerToClient]);
        if resumes && unit.opening.sequence != 1 && !self.has_compression {
            return Err(wrong_byte("the beginning of a reply", unit.opening.first));
        }
        if resumes {
            self.skip_answered_otherwise(unit);
        }
        if let Some(sequence) = self.late_eof.take()
            && sequence == unit.opening.sequence
            && is_plain_eof(unit)
        {
            self.omits_eof = Some(false);
            return Ok(Part::new(Role::Notice, Phase::Work, Content::Other));
        }
        let Some(&pending) = self.pending.front() else {
            return self.unasked(unit, code);
        };
        if pending == PendingReply::Login {
            return Ok(self.login_reply(unit, code));
        }
        let (role, content) = self.command_reply(pending, unit, code)?;
        if role == Role::Reply {
            self.inspected = None;
            self.resolve_reply();
        }
        Ok(Part::new(role, Phase::Work, content))
    }

    fn unasked<'a>(&mut self, unit: &Unit<'a>, code: &'a mut [u8; 11]) -> Result<Part<'a>, HeaderFault> {
        if self.stage == ConversationPhase::Start {
            return self.greeting(unit, code);
        }
        if self.has_too_many_pending {
            return Err(fault(
                "a reply to one of at most 65,536 requests",
                "more requests",
            ));
        }
        match unit.opening.first {
            Some(ERR) => Ok(Part::new(
                Role::Notice,
                Phase::Work,
                error_content(unit.head, code),
            )),
            other => Err(wrong_byte("nothing, because nothing was requested", other)),
        }
    }

    fn command_reply<'a>(
        &mut self,
        pending: PendingReply,
        unit: &Unit<'a>,
        code: &'a mut [u8; 11],
    ) -> Result<Said<'a>, HeaderFault> {
        if unit.opening.first == Some(ERR) {
            let is_progress = unit.head.get(1..3) == Some(&PROGRESS_REPORT);
            return Ok(if is_progress {
                (Role::ReplyPart, Content::Other)
            } else {
                (Role::Reply, error_content(unit.head, code))
            });
        }
        match pending {
            PendingReply::Single => Ok((Role::Reply, ready(unit))),
            PendingReply::Text => Ok((Role::Reply, Content::Other)),
            PendingReply::Login | PendingReply::Results => self.result_message(unit),
            PendingReply::Preparation(statement) => self.preparation_message(statement, unit),
            PendingReply::Rows => self.row_or_end(unit),
            PendingReply::Definitions | PendingReply::Events if unit.opening.first == Some(EOF) => {
                Ok((Role::Reply, ready(unit)))
            }
            PendingReply::Definitions | PendingReply::Events => Ok((Role::ReplyPart, Content::Other)),
        }
    }

    fn result_message<'a>(&mut self, unit: &Unit<'_>) -> Result<Said<'a>, HeaderFault> {
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

    fn result_start<'a>(&mut self, unit: &Unit<'_>) -> Result<Said<'a>, HeaderFault> {
        match unit.opening.first {
            Some(OK) if unit.length >= OkFields::MIN_LEN => {
                let ok = OkFields::parse(unit.head).ok_or_else(|| fault("an OK", "a shorter message"))?;
                self.show_columns(0);
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
                self.show_columns(columns);
                self.progress = if follow {
                    Progress::Columns(columns)
                } else {
                    Progress::AfterColumns
                };
                Ok((Role::ReplyPart, Content::Other))
            }
        }
    }

    fn column_count(&self, unit: &Unit<'_>) -> Option<(u64, bool)> {
        let mut fields = Reader::new(unit.head);
        if self.capabilities != Capabilities::ALL && self.has_optional_metadata() {
            let follow = fields.u8()? != 0;
            return Some((fields.lenenc_int()?, follow));
        }
        let columns = fields.lenenc_int()?;
        // With an unseen login: a server that sends one more byte has agreed on it.
        let follow = !self.capabilities.has(CACHE_METADATA) || fields.u8().is_none_or(|follow| follow != 0);
        fields.rest().is_empty().then_some((columns, follow))
    }

    pub(super) const fn has_optional_metadata(&self) -> bool {
        self.capabilities.has(MYSQL) && self.capabilities.has(OPTIONAL_METADATA)
    }

    /// The EOF after the definitions, or already the first row. An EOF has 5 bytes, an OK in its
    /// place at least 7, so this also holds with an unseen login.
    fn after_columns<'a>(&mut self, unit: &Unit<'_>) -> Result<Said<'a>, HeaderFault> {
        self.progress = Progress::Rows;
        if !is_plain_eof(unit) {
            self.omits_eof = Some(true);
            return self.row_or_end(unit);
        }
        self.omits_eof = Some(false);
        let end = EndFields::parse(unit.head)?;
        if end.status & CURSOR_EXISTS == 0 {
            return Ok((Role::ReplyPart, Content::Other));
        }
        Ok(self.end_result(end))
    }

    fn row_or_end<'a>(&mut self, unit: &Unit<'_>) -> Result<Said<'a>, HeaderFault> {
        if is_end_of_rows(unit.opening) {
            return Ok(self.end_result(EndFields::parse(unit.head)?));
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
}

/// Emits facts about a prepared statement as separate messages before `message`.
fn announce(shown: Shown, message: Message<'_>, sink: &mut MessageSink<'_>) {
    let statement = shown.statement;
    let named = shown
        .prepared
        .map(|(number, parameters)| (number.to_string(), parameters));
    let mut say = |content| {
        sink(&Message {
            bytes: 0,
            role: Role::ReplyPart,
            content,
            ..message
        });
    };
    if let Some((number, parameters)) = &named {
        say(Content::Named {
            statement,
            name: number.as_bytes(),
            parameters: Some(*parameters),
        });
    }
    say(Content::Columns {
        statement,
        count: shown.columns,
    });
}

const REPLY_LIMIT: usize = 512;
const ERROR_LIMIT: usize = 1024;
/// Inspected bytes of an OK: header, two length-encoded integers, status.
const OK_NEED: usize = 1 + 9 + 9 + 2;
/// Maximum columns, several times the limit of a table.
const MAX_COLUMNS: u64 = 65_535;

/// Error number of MariaDB's progress reports.
const PROGRESS_REPORT: [u8; 2] = [0xff, 0xff];

const CURSOR_EXISTS: u16 = 0x0040;
