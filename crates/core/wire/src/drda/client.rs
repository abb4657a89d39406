//! Messages of the client.

use super::codepoint::{
    ACCRDB, ACCSEC, CLSQRY, CNTQRY, EXCSAT, EXCSQLIMM, EXCSQLSET, EXCSQLSTT, EXTNAM, NBRROW, OPNQRY,
    PKGNAMCSN, PRPSQLSTT, QRYBLKSZ, QRYROWSET, RDBCMM, RDBRLLBCK, SECCHK, SQLDTA, SQLSTT, SRVRLSLV,
    TYPDEFNAM,
};
use super::lane::HalfConnection;
use super::values::{Encoding, Parameters, readable, statement};
use super::{Command, Execution, PendingReply, Session, What, ebcdic, message};
use crate::decoding::decoder::MessageSink;
use model::{Content, Direction, Message, Phase, Role, StatementId};

impl Session {
    pub(super) fn client(&mut self, half: &HalfConnection, sink: &mut MessageSink<'_>) {
        let code = half.code().unwrap_or_default();
        let body = half.body();
        let is_command = code != SQLSTT && half.structure().is_some_and(|it| !it.is_data());
        if is_command {
            self.commands(half, code, body);
        }
        let phase = *self.phase.get_or_insert(Phase::Work);
        let role = if !half.ends_chain() {
            Role::RequestPart
        } else if half.structure().is_some_and(|it| it.is_one_way()) {
            Role::OneWay
        } else {
            self.pending = self.pending.saturating_add(1);
            Role::Request
        };
        if half.ends_chain() {
            self.phase = None;
        }
        let section = self.command.section;
        let used = match code {
            EXCSQLSTT | OPNQRY | CNTQRY => self.statement_used(half, phase, section, sink),
            _ => None,
        };
        let limit = |code| Parameters::new(body).number(code).filter(|&limit| limit > 0);
        let content = match (code, self.command.what) {
            (TYPDEFNAM, _) => {
                self.encodings[half.direction] = Encoding::named(body);
                Content::Other
            }
            (EXCSAT, _) => self.introduction(body),
            (SQLSTT, What::Prepare) => Content::Prepare {
                statement: self.sections.prepare(section),
                text: self.statement(body),
            },
            (SQLSTT, What::Immediate) => Content::Statement {
                text: self.statement(body),
            },
            (EXCSQLSTT | OPNQRY, _) => {
                self.execution = Some(Execution {
                    statement: used,
                    fetch_rows: limit(QRYROWSET),
                    fetch_bytes: limit(QRYBLKSZ),
                    sets: limit(NBRROW).unwrap_or(1),
                });
                self.execute(half)
            }
            (SQLDTA, _) => self.execute(half),
            (CNTQRY, _) => Content::Fetch {
                statement: used,
                fetch_rows: limit(QRYROWSET),
                fetch_bytes: limit(QRYBLKSZ),
            },
            (RDBCMM, _) => Content::Statement { text: b"commit" },
            (RDBRLLBCK, _) => Content::Statement { text: b"rollback" },
            _ => Content::Other,
        };
        sink(&message(half, role, phase, content));
    }

    /// Finds the statement in a section; one with unseen preparation is announced under our number.
    fn statement_used(
        &mut self,
        half: &HalfConnection,
        phase: Phase,
        section: Option<u32>,
        sink: &mut MessageSink<'_>,
    ) -> Option<StatementId> {
        let known = self.sections.statement(section);
        if known.is_some() {
            return known;
        }
        let statement = self.sections.unseen(section)?;
        let name = format!("section {}", section?);
        let unseen = Content::Unseen {
            statement,
            name: name.as_bytes(),
            parameters: None,
        };
        let announced = message(half, Role::RequestPart, phase, unseen);
        sink(&Message {
            bytes: 0,
            ..announced
        });
        Some(statement)
    }

    fn commands(&mut self, half: &HalfConnection, code: u16, body: &[u8]) {
        let name = Parameters::new(body).find(PKGNAMCSN);
        let section = name.and_then(|name| self.sections.named(name));
        let what = match code {
            PRPSQLSTT => What::Prepare,
            EXCSQLIMM | EXCSQLSET => What::Immediate,
            EXCSQLSTT | OPNQRY | CNTQRY => What::Run,
            _ => What::Other,
        };
        if code == CLSQRY {
            self.sections.close(section);
        }
        if code == ACCRDB
            && let Some(name) = Parameters::new(body).find(TYPDEFNAM)
        {
            self.encodings[Direction::ClientToServer] = Encoding::named(name);
        }
        self.command = Command { what, section };
        let is_login = matches!(code, EXCSAT | ACCSEC | SECCHK | ACCRDB);
        self.phase
            .get_or_insert(if is_login { Phase::Login } else { Phase::Work });
        if let Some(structure) = half.structure() {
            let pending_reply = PendingReply {
                correlation: structure.correlation,
                command: self.command,
                is_login,
            };
            // Room was checked before the object.
            self.pending_reply.push(pending_reply).ok();
        }
    }

    /// An execution is reported with its last data, so that its values are included.
    fn execute<'a>(&mut self, half: &'a HalfConnection) -> Content<'a> {
        let goes_on = half.structure().is_some_and(|it| it.has_more_of_command());
        let is_data = half.code() == Some(SQLDTA);
        if goes_on && !is_data && !half.ends_chain() {
            return Content::Other;
        }
        let Some(execution) = self.execution.take() else {
            return Content::Other;
        };
        // Values that do not fit in their row follow it as separate objects.
        let whole = !is_data || (half.is_whole() && !goes_on);
        Content::Execute {
            statement: execution.statement,
            fetch_rows: execution.fetch_rows,
            fetch_bytes: execution.fetch_bytes,
            sets: execution.sets,
            values: whole.then_some(if is_data { half.body() } else { b"" }),
        }
    }

    fn statement<'a>(&'a mut self, body: &'a [u8]) -> &'a [u8] {
        let encoding = self.encodings[Direction::ClientToServer];
        readable(statement(body, encoding), encoding, &mut self.text)
    }

    /// The release of the client's driver, and the program's name, but no host and no user.
    fn introduction<'a>(&'a mut self, body: &[u8]) -> Content<'a> {
        self.text.clear();
        for code in [SRVRLSLV, EXTNAM] {
            let mut text = String::new();
            ebcdic::append(Parameters::new(body).find(code).unwrap_or_default(), &mut text);
            let name = text.split(' ').next().unwrap_or_default();
            if !self.text.is_empty() && !name.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(name);
        }
        let text = self.text.as_bytes();
        if text.is_empty() {
            Content::Other
        } else {
            Content::Client { text }
        }
    }
}
