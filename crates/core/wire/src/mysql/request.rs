//! Commands of the client, and the data that follows them.

use super::capabilities::{Capabilities, QUERY_ATTRIBUTES};
use super::conversation::{Conversation, ConversationPhase, Part, PendingReply};
use super::messages::{
    COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID, COM_CHANGE_USER, COM_CREATE_DB, COM_DEBUG, COM_DROP_DB,
    COM_FIELD_LIST, COM_INIT_DB, COM_PING, COM_PROCESS_INFO, COM_PROCESS_KILL, COM_QUERY, COM_QUIT,
    COM_REFRESH, COM_REGISTER_SLAVE, COM_RESET_CONNECTION, COM_SET_OPTION, COM_SHUTDOWN, COM_STATISTICS,
    COM_STMT_BULK_EXECUTE, COM_STMT_CLOSE, COM_STMT_EXECUTE, COM_STMT_FETCH, COM_STMT_PREPARE,
    COM_STMT_RESET, COM_STMT_SEND_LONG_DATA, COMMANDS, SEMI_SYNC_ACK,
};
use super::unit::{Interest, MessageStart, Unit};
use super::values::skip_query_attributes;
use super::wrong_byte;
use crate::decoding::decoder::MessageSink;
use crate::decoding::framing::HeaderFault;
use crate::decoding::reader::Reader;
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
            Some(COM_QUERY | COM_STMT_PREPARE) => look(1, 1 + TEXT_LIMIT),
            Some(COM_CHANGE_USER) => look(1, LOGIN_LIMIT),
            Some(COM_STMT_BULK_EXECUTE) => {
                self.sets.start();
                Interest {
                    need: 5,
                    like: COMMAND_LIMIT,
                    watch: true,
                }
            }
            Some(COM_STMT_EXECUTE) => look(6, EXECUTE_LIMIT),
            Some(COM_STMT_FETCH) => look(9, COMMAND_LIMIT),
            Some(COM_STMT_CLOSE) => look(5, COMMAND_LIMIT),
            Some(_) | None => look(1, COMMAND_LIMIT),
        }
    }

    pub(super) fn request(&mut self, unit: Unit<'_>, sink: &mut MessageSink<'_>) -> Result<(), HeaderFault> {
        let resumes = std::mem::take(&mut self.resumes[Direction::ClientToServer]);
        let is_command = unit.opening.sequence == 0 && is_plausible_command(unit.head, unit.length);
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
            sink(&Message {
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
            None => sink(&message),
            Some(client) => {
                let share = message.bytes.min(client.len() as u64);
                sink(&Message {
                    bytes: share,
                    role: Role::RequestPart,
                    content: Content::Client { text: &client },
                    ..message
                });
                sink(&Message {
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
            if !is_plausible_command(unit.head, unit.length) {
                return Err(wrong_byte("a greeting or a command", Some(command)));
            }
            self.stage = ConversationPhase::Work;
            self.capabilities = Capabilities::ALL;
        }
        let content = self.command_content(command, body, unit)?;
        Ok(match command {
            COM_QUIT => Part::new(Role::OneWay, Phase::Close, content),
            COM_STMT_CLOSE | COM_STMT_SEND_LONG_DATA | SEMI_SYNC_ACK => {
                Part::new(Role::OneWay, Phase::Work, content)
            }
            COM_CHANGE_USER => {
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
            COM_QUERY => Content::Statement {
                text: self.statement_text(body),
            },
            COM_STMT_PREPARE => {
                let whole = body.len() as u64 + 1 == unit.length;
                Content::Prepare {
                    statement: self.statements.prepare(body, whole),
                    text: body,
                }
            }
            COM_STMT_EXECUTE => {
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
            COM_STMT_BULK_EXECUTE => {
                let statement = self.statement(fields.u32_le().ok_or_else(incomplete)?);
                Content::Execute {
                    statement,
                    fetch_rows: None,
                    fetch_bytes: None,
                    sets: self.sets.sets().unwrap_or(1),
                    values: None,
                }
            }
            COM_STMT_FETCH => {
                let statement = self.statement(fields.u32_le().ok_or_else(incomplete)?);
                Content::Fetch {
                    statement,
                    fetch_rows: Some(fields.u32_le().ok_or_else(incomplete)?),
                    fetch_bytes: None,
                }
            }
            COM_STMT_CLOSE => {
                self.statements.close(fields.u32_le().ok_or_else(incomplete)?);
                Content::Close
            }
            COM_RESET_CONNECTION => {
                self.statements.forget();
                Content::Command {
                    name: "COM_RESET_CONNECTION",
                    number: None,
                }
            }
            COM_CHANGE_USER => {
                self.statements.forget();
                let value = fields.cstr();
                value.map_or(Content::Other, |value| Content::Parameter {
                    name: b"user",
                    value,
                })
            }
            _ => shown_name(command).map_or(Content::Other, |name| Content::Command { name, number: None }),
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

fn shown_name(command: u8) -> Option<&'static str> {
    let command = match command {
        COM_INIT_DB | COM_FIELD_LIST | COM_REFRESH | COM_STATISTICS | COM_PROCESS_INFO | COM_DEBUG
        | COM_PING | COM_STMT_RESET | COM_SET_OPTION => command,
        COM_BINLOG_DUMP | COM_BINLOG_DUMP_GTID => COM_BINLOG_DUMP,
        _ => return None,
    };
    COMMANDS.find(command).map(|row| row.name)
}

fn pending_reply(command: u8, content: Content<'_>) -> PendingReply {
    match (command, content) {
        (_, Content::Prepare { statement, .. }) => PendingReply::Preparation(statement),
        (COM_STMT_FETCH, _) => PendingReply::Rows,
        (COM_FIELD_LIST, _) => PendingReply::Definitions,
        (COM_STATISTICS, _) => PendingReply::Text,
        (COM_BINLOG_DUMP | COM_BINLOG_DUMP_GTID, _) => PendingReply::Events,
        (
            COM_INIT_DB | COM_CREATE_DB | COM_DROP_DB | COM_REFRESH | COM_SHUTDOWN | COM_PROCESS_KILL
            | COM_DEBUG | COM_PING | COM_REGISTER_SLAVE | COM_STMT_RESET | COM_SET_OPTION
            | COM_RESET_CONNECTION,
            _,
        ) => PendingReply::Single,
        _ => PendingReply::Results,
    }
}

/// For connections seen from the middle.
pub(super) fn is_plausible_command(head: &[u8], length: u64) -> bool {
    head.split_first()
        .is_some_and(|(&command, body)| is_plausible(command, length, body))
}

/// Whether `command` can have a body of `length` bytes with this kept part.
pub(super) fn is_plausible(command: u8, length: u64, body: &[u8]) -> bool {
    COMMANDS
        .find(command)
        .is_some_and(|row| row.lengths.contains(&length) && (row.check_start)(body))
}

pub(super) const fn has_text(command: u8) -> bool {
    matches!(command, COM_QUERY | COM_STMT_PREPARE)
}

/// Whether no other protocol has a whole message like this: quit, or an execution, with mostly
/// fixed fields.
pub(super) fn is_sure(command: u8, fields: &[u8]) -> bool {
    command == COM_QUIT || (command == COM_STMT_EXECUTE && has_fields(command, fields))
}

pub(super) fn has_fields(command: u8, fields: &[u8]) -> bool {
    COMMANDS.find(command).is_none_or(|row| (row.check)(fields))
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
