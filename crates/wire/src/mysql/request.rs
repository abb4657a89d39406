//! Commands of the client, and the data that follows them.

use super::capabilities::{Capabilities, QUERY_ATTRIBUTES};
use super::conversation::{Conversation, ConversationPhase, Part, PendingReply};
use super::lane::{FULL_FRAME, Interest, MessageStart, Unit};
use super::signature;
use super::values::skip_query_attributes;
use super::wrong_byte;
use decoding::decoder::MessageSink;
use decoding::framing::HeaderFault;
use decoding::reader::Reader;
use model::{Content, Direction, Message, Phase, Role, StatementId};

impl Conversation {
    pub(super) fn request_interest(&mut self, opening: MessageStart) -> Interest {
        let look = |need, like| Interest {
            need,
            like,
            watch: false,
        };
        if self.sends_file {
            return look(0, 0);
        }
        if self.stage == ConversationPhase::Greeted || opening.sequence != 0 {
            return look(LOGIN_NEED, LOGIN_LIMIT);
        }
        match opening.first {
            Some(QUERY | STMT_PREPARE) => look(1, 1 + TEXT_LIMIT),
            Some(CHANGE_USER) => look(1, LOGIN_LIMIT),
            Some(STMT_BULK_EXECUTE) => {
                self.sets.start();
                Interest {
                    need: 5,
                    like: COMMAND_LIMIT,
                    watch: true,
                }
            }
            Some(STMT_EXECUTE) => look(6, EXECUTE_LIMIT),
            Some(STMT_FETCH) => look(9, COMMAND_LIMIT),
            Some(STMT_CLOSE) => look(5, COMMAND_LIMIT),
            Some(_) | None => look(1, COMMAND_LIMIT),
        }
    }

    pub(super) fn request(&mut self, unit: Unit<'_>, sink: &mut MessageSink<'_>) -> Result<(), HeaderFault> {
        let resumes = std::mem::take(&mut self.resumes[Direction::ClientToServer.index()]);
        let is_command =
            unit.opening.sequence == 0 && signature::is_plausible_command(unit.head, unit.length);
        if resumes && !is_command {
            return Err(wrong_byte("a command", unit.opening.first));
        }
        let part = if self.sends_file {
            self.file_part(&unit)
        } else if self.stage == ConversationPhase::Greeted || unit.opening.sequence != 0 {
            self.login_leg(&unit)?
        } else {
            self.command(&unit)?
        };
        let message = part.message(Direction::ClientToServer, &unit);
        if let Some((statement, number)) = self.unseen.take() {
            sink(Message {
                bytes: 0,
                role: Role::RequestPart,
                content: Content::Unseen {
                    statement,
                    name: number.to_string().as_bytes(),
                    parameters: None,
                },
                ..message
            });
        }
        match self.introduced.take() {
            None => sink(message),
            Some(client) => {
                let share = message.bytes.min(client.len() as u64);
                sink(Message {
                    bytes: share,
                    role: Role::RequestPart,
                    content: Content::Client { text: &client },
                    ..message
                });
                sink(Message {
                    bytes: message.bytes - share,
                    ..message
                });
            }
        }
        Ok(())
    }

    fn file_part<'a>(&mut self, unit: &Unit<'_>) -> Part<'a> {
        let role = if unit.length == 0 {
            Role::Request
        } else {
            Role::RequestPart
        };
        self.sends_file = unit.length != 0;
        Part::new(role, Phase::Work, Content::Other)
    }

    fn command<'a>(&mut self, unit: &Unit<'a>) -> Result<Part<'a>, HeaderFault> {
        let Some((&command, body)) = unit.head.split_first() else {
            return Err(wrong_byte("a command", None));
        };
        if self.stage == ConversationPhase::Start {
            if !signature::is_plausible_command(unit.head, unit.length) {
                return Err(wrong_byte("a greeting or a command", Some(command)));
            }
            self.stage = ConversationPhase::Work;
            self.capabilities = Capabilities::ALL;
        }
        let content = self.command_content(command, body, unit)?;
        Ok(match command {
            QUIT => Part::new(Role::OneWay, Phase::Close, content),
            STMT_CLOSE | STMT_SEND_LONG_DATA | SEMI_SYNC_ACKNOWLEDGEMENT => {
                Part::new(Role::OneWay, Phase::Work, content)
            }
            CHANGE_USER => {
                self.owe(PendingReply::Login);
                Part::new(Role::Request, Phase::Login, content)
            }
            _ => {
                self.owe(pending_reply(command, content));
                Part::new(Role::Request, Phase::Work, content)
            }
        })
    }

    fn command_content<'a>(
        &mut self,
        command: u8,
        body: &'a [u8],
        unit: &Unit<'a>,
    ) -> Result<Content<'a>, HeaderFault> {
        let mut fields = Reader::new(body);
        let incomplete = || wrong_byte("a command with its fields", Some(command));
        Ok(match command {
            QUERY => Content::Statement {
                text: self.statement_text(body),
            },
            STMT_PREPARE => {
                let whole = body.len() as u64 + 1 == unit.length;
                Content::Prepare {
                    statement: self.statements.prepare(body, whole),
                    text: body,
                }
            }
            STMT_EXECUTE => {
                let statement = self.statement(fields.u32_le().ok_or_else(incomplete)?);
                if self.pending.is_empty() {
                    self.inspected = statement.filter(|statement| self.statements.is_unshaped(*statement));
                }
                let has_cursor = fields.u8().ok_or_else(incomplete)? & CURSOR_FLAGS != 0;
                Content::Execute {
                    statement,
                    fetch_rows: has_cursor.then_some(0),
                    fetch_bytes: None,
                    sets: 1,
                    values: (body.len() as u64 + 1 == unit.length).then_some(fields.rest()),
                }
            }
            STMT_BULK_EXECUTE => {
                let statement = self.statement(fields.u32_le().ok_or_else(incomplete)?);
                Content::Execute {
                    statement,
                    fetch_rows: None,
                    fetch_bytes: None,
                    sets: self.sets.sets().unwrap_or(1),
                    values: None,
                }
            }
            STMT_FETCH => {
                let statement = self.statement(fields.u32_le().ok_or_else(incomplete)?);
                Content::Fetch {
                    statement,
                    fetch_rows: Some(fields.u32_le().ok_or_else(incomplete)?),
                    fetch_bytes: None,
                }
            }
            STMT_CLOSE => {
                self.statements.close(fields.u32_le().ok_or_else(incomplete)?);
                Content::Close
            }
            RESET_CONNECTION => {
                self.statements.forget();
                Content::Command {
                    name: "COM_RESET_CONNECTION",
                    number: None,
                }
            }
            CHANGE_USER => {
                self.statements.forget();
                let value = fields.cstr();
                value.map_or(Content::Other, |value| Content::Parameter {
                    name: b"user",
                    value,
                })
            }
            _ => name(command).map_or(Content::Other, |name| Content::Command { name, number: None }),
        })
    }

    /// Finds the statement of a command. If its preparation was not seen, it is announced before
    /// the command.
    fn statement(&mut self, number: u32) -> Option<StatementId> {
        let known = self.statements.find_or_number(number);
        let statement = known.or_else(|| {
            let unseen = self.statements.unseen(number)?;
            self.unseen = Some((unseen.id, number));
            Some(unseen)
        });
        statement.map(|statement| statement.id)
    }

    /// SQL of a `COM_QUERY`, after the query attributes if both sides support them. With an unseen
    /// login, a first byte below a tab shows attributes: no statement begins so.
    fn statement_text<'a>(&self, body: &'a [u8]) -> &'a [u8] {
        let has_attributes = if self.capabilities == Capabilities::ALL {
            body.first().is_some_and(|&byte| byte < b'\t')
        } else {
            self.capabilities.has(QUERY_ATTRIBUTES)
        };
        let mut fields = Reader::new(body);
        if !has_attributes {
            body
        } else if skip_query_attributes(&mut fields).is_some() {
            fields.rest()
        } else {
            &[]
        }
    }
}

const fn name(command: u8) -> Option<&'static str> {
    Some(match command {
        INIT_DB => "COM_INIT_DB",
        FIELD_LIST => "COM_FIELD_LIST",
        REFRESH => "COM_REFRESH",
        STATISTICS => "COM_STATISTICS",
        PROCESS_INFO => "COM_PROCESS_INFO",
        DEBUG => "COM_DEBUG",
        PING => "COM_PING",
        STMT_RESET => "COM_STMT_RESET",
        SET_OPTION => "COM_SET_OPTION",
        BINLOG_DUMP | BINLOG_DUMP_GTID => "COM_BINLOG_DUMP",
        _ => return None,
    })
}

fn pending_reply(command: u8, content: Content<'_>) -> PendingReply {
    match (command, content) {
        (_, Content::Prepare { statement, .. }) => PendingReply::Preparation(statement),
        (STMT_FETCH, _) => PendingReply::Rows,
        (FIELD_LIST, _) => PendingReply::Definitions,
        (STATISTICS, _) => PendingReply::Text,
        (BINLOG_DUMP | BINLOG_DUMP_GTID, _) => PendingReply::Events,
        (
            INIT_DB | CREATE_DB | DROP_DB | REFRESH | SHUTDOWN | PROCESS_KILL | DEBUG | PING | REGISTER_SLAVE
            | STMT_RESET | SET_OPTION | RESET_CONNECTION,
            _,
        ) => PendingReply::Single,
        _ => PendingReply::Results,
    }
}

/// Whether `command` can have a body of `length` bytes with this kept part. Used for connections
/// seen from the middle.
pub(super) fn is_plausible(command: u8, length: u64, body: &[u8]) -> bool {
    let has_text = body
        .first()
        .is_some_and(|&byte| byte < b'\t' || byte == b'\n' || byte >= b' ');
    match command {
        QUIT | STATISTICS | DEBUG | PING | RESET_CONNECTION | PROCESS_INFO => length == 1,
        QUERY | STMT_PREPARE => length > 1 && (has_text || body.is_empty() || is_white_space(body)),
        INIT_DB | FIELD_LIST => length > 1 && has_text,
        STMT_EXECUTE => (10..=u64::from(FULL_FRAME)).contains(&length),
        STMT_SEND_LONG_DATA => length >= 7,
        STMT_CLOSE | STMT_RESET | PROCESS_KILL => length == 5,
        STMT_FETCH => length == 9,
        SET_OPTION => length == 3,
        STMT_BULK_EXECUTE => length > 7,
        CHANGE_USER => length > 3,
        BINLOG_DUMP | BINLOG_DUMP_GTID | REGISTER_SLAVE => length > 10,
        _ => false,
    }
}

pub(super) const fn has_text(command: u8) -> bool {
    matches!(command, QUERY | STMT_PREPARE)
}

/// Whether no other protocol has a whole message like this: quit, or an execution, with mostly
/// fixed fields.
pub(super) fn is_sure(command: u8, fields: &[u8]) -> bool {
    command == QUIT || (command == STMT_EXECUTE && has_fields(command, fields))
}

pub(super) fn has_fields(command: u8, fields: &[u8]) -> bool {
    let is_text = |text: &[u8]| text.iter().all(|&byte| byte >= b' ');
    match command {
        // Fields of an execution: the statement, kinds of cursor, and always one iteration.
        STMT_EXECUTE => {
            fields.get(4).is_some_and(|&flags| flags < 16) && fields.get(5..9) == Some(&[1, 0, 0, 0])
        }
        INIT_DB => is_text(fields),
        FIELD_LIST => {
            let mut parts = fields.splitn(2, |&byte| byte == 0);
            parts.next().is_some_and(is_text) && parts.next().is_some_and(is_text)
        }
        CHANGE_USER => fields.contains(&0),
        SET_OPTION => matches!(fields, [0 | 1, 0]),
        _ => true,
    }
}

fn is_white_space(body: &[u8]) -> bool {
    body.first().is_some_and(u8::is_ascii_whitespace)
}

const TEXT_LIMIT: usize = 64 * 1024;
const COMMAND_LIMIT: usize = 16;
/// Inspected bytes of an execution: its parameters show repeated calls.
const EXECUTE_LIMIT: usize = 1024;
/// Inspected bytes of the handshake response: 32 fixed ones, the user, and the client's attributes.
const LOGIN_LIMIT: usize = 2048;
const LOGIN_NEED: usize = 32;
/// Flags of `COM_STMT_EXECUTE` for read-only, for update, scrollable.
const CURSOR_FLAGS: u8 = 0x07;

const QUIT: u8 = 0x01;
const INIT_DB: u8 = 0x02;
const QUERY: u8 = 0x03;
const FIELD_LIST: u8 = 0x04;
const CREATE_DB: u8 = 0x05;
const DROP_DB: u8 = 0x06;
const REFRESH: u8 = 0x07;
const SHUTDOWN: u8 = 0x08;
const STATISTICS: u8 = 0x09;
const PROCESS_INFO: u8 = 0x0a;
const PROCESS_KILL: u8 = 0x0c;
const DEBUG: u8 = 0x0d;
const PING: u8 = 0x0e;
const CHANGE_USER: u8 = 0x11;
const BINLOG_DUMP: u8 = 0x12;
const REGISTER_SLAVE: u8 = 0x15;
const STMT_PREPARE: u8 = 0x16;
const STMT_EXECUTE: u8 = 0x17;
const STMT_SEND_LONG_DATA: u8 = 0x18;
const STMT_CLOSE: u8 = 0x19;
const STMT_RESET: u8 = 0x1a;
const SET_OPTION: u8 = 0x1b;
const STMT_FETCH: u8 = 0x1c;
const BINLOG_DUMP_GTID: u8 = 0x1e;
const RESET_CONNECTION: u8 = 0x1f;
/// A replica's acknowledgement of an event, sent while events continue.
const SEMI_SYNC_ACKNOWLEDGEMENT: u8 = 0xef;
const STMT_BULK_EXECUTE: u8 = 0xfa;
