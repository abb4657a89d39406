//! Replies to `COM_STMT_PREPARE` with the statement's number, then definitions of its parameters
//! and columns.

use super::conversation::{Conversation, Progress, Shown};
use super::endings::{is_plain_eof, ready};
use super::messages::reply::OK;
use super::reply::Said;
use super::unit::Unit;
use super::wrong_byte;
use crate::decoding::framing::HeaderFault;
use crate::decoding::reader::Reader;
use model::{Content, Role, StatementId};

impl Conversation {
    pub(super) fn preparation_message<'a>(
        &mut self,
        statement: StatementId,
        unit: &Unit<'_>,
    ) -> Result<Said<'a>, HeaderFault> {
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

    /// Reads the first message and derives the next; if the progress stays at the start, no message
    /// follows.
    fn begin_preparation(&mut self, statement: StatementId, unit: &Unit<'_>) -> Result<(), HeaderFault> {
        let shorter = || wrong_byte("the answer to a preparation", unit.opening.first);
        let mut fields = Reader::new(unit.head);
        if fields.u8() != Some(OK) {
            return Err(shorter());
        }
        let number = fields.u32_le().ok_or_else(shorter)?;
        let columns = fields.u16_le().ok_or_else(shorter)?;
        let parameters = fields.u16_le().ok_or_else(shorter)?;
        self.statements.prepared(statement, number, parameters);
        self.shown = Some(Shown {
            statement,
            prepared: Some((number, parameters)),
            columns,
        });
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

    const fn after_parameters(&self, columns: u16) -> Progress {
        match self.omits_eof {
            Some(true) => columns_or_end(columns),
            Some(false) => Progress::AfterParameters(columns),
            // Unknown: with columns the next message shows it, without them the reply seems
            // complete.
            None if columns > 0 => Progress::AfterParameters(columns),
            None => Progress::Start,
        }
    }

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
