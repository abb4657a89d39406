//! Counts replies of a session without `CLIENT_DEPRECATE_EOF`, and reads errors.

use super::MAX_PACKET_LEN;
use crate::ErrorReply;
use crate::reply_reader::{MessageCutter, ReplyFault, ReplyReader};
use std::collections::VecDeque;
use wire::mysql::messages::reply::{EOF, ERR, LOCAL_INFILE, OK};

#[derive(Debug, Default)]
pub struct MysqlReplies {
    expected: VecDeque<ExpectedAnswer>,
    asked: u64,
    stage: ReplyState,
    rows: u64,
    statement: u32,
    columns: usize,
    status: u16,
    keeps_keys: bool,
    keys: Vec<u64>,
    packet: MessageCutter<HEADER>,
    /// The current packet continues the previous one, which had the maximum length.
    continues: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedAnswer {
    /// OK, a text result, a result's columns when opening a cursor, or a request for a file.
    Answer,
    Statement,
    Fetched,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ReplyState {
    #[default]
    First,
    /// The answer is complete after this many packets.
    Passing(usize),
    /// EOF follows after this many columns.
    Columns(usize),
    Rows,
}

impl MysqlReplies {
    pub fn expect(&mut self, answer: ExpectedAnswer) {
        self.expected.push_back(answer);
        self.asked += 1;
    }

    pub const fn statement(&self) -> u32 {
        self.statement
    }

    pub const fn has_more(&self) -> bool {
        self.status & CURSOR_EXISTS != 0 && self.status & LAST_ROW_SENT == 0
    }

    /// Reads the first column of each following row, a number.
    pub const fn keep_keys(&mut self) {
        self.keeps_keys = true;
    }

    pub fn take_keys(&mut self, keys: &mut Vec<u64>) {
        keys.clear();
        std::mem::swap(keys, &mut self.keys);
    }

    fn end(&mut self) -> Result<(), ReplyFault> {
        let (length, _) = header(self.packet.header());
        let continued = std::mem::replace(&mut self.continues, length == MAX_PACKET_LEN);
        if continued {
            return Ok(());
        }
        let first = self.packet.body().first();
        if first == Some(&ERR) {
            return Err(ReplyFault::Refused(error(self.packet.body())));
        }
        let is_eof = first == Some(&EOF) && length < 9;
        let fetched = self.expected.front() == Some(&ExpectedAnswer::Fetched);
        match self.stage {
            ReplyState::First if fetched => self.row(is_eof, true),
            ReplyState::First => self.first()?,
            ReplyState::Passing(1) => self.complete(),
            ReplyState::Passing(left) => self.stage = ReplyState::Passing(left.saturating_sub(1)),
            ReplyState::Columns(0) => {
                self.read_status();
                if self.status & CURSOR_EXISTS != 0 {
                    self.complete();
                } else {
                    self.stage = ReplyState::Rows;
                }
            }
            ReplyState::Columns(left) => self.stage = ReplyState::Columns(left - 1),
            ReplyState::Rows => self.row(is_eof, fetched),
        }
        Ok(())
    }

    fn first(&mut self) -> Result<(), ReplyFault> {
        match (self.expected.front(), self.packet.body()) {
            (Some(ExpectedAnswer::Statement), body) => {
                let (statement, passing) =
                    prepared_statement(body)
                        .zip(descriptions(body))
                        .ok_or(ReplyFault::Malformed {
                            found: "no prepared statement",
                        })?;
                self.statement = statement;
                match passing {
                    0 => self.complete(),
                    passing => self.stage = ReplyState::Passing(passing),
                }
            }
            (_, &[OK | LOCAL_INFILE, ..]) => self.complete(),
            (_, &[count @ ..=250]) => self.columns(count.into()),
            (_, &[0xfc, low, high]) => self.columns(u16::from_le_bytes([low, high]).into()),
            _ => self.complete(),
        }
        Ok(())
    }

    fn columns(&mut self, count: usize) {
        self.columns = count;
        self.stage = ReplyState::Columns(count);
    }

    fn row(&mut self, is_eof: bool, binary: bool) {
        if is_eof {
            self.read_status();
            return self.complete();
        }
        self.stage = ReplyState::Rows;
        self.rows += 1;
        if self.keeps_keys {
            let key = if binary {
                binary_key(self.packet.body(), self.columns)
            } else {
                text_key(self.packet.body())
            };
            self.keys.push(key.unwrap_or(0));
        }
    }

    fn read_status(&mut self) {
        if let Some(&[_, _, _, low, high]) = self.packet.body().first_chunk() {
            self.status = u16::from_le_bytes([low, high]);
        }
    }

    fn complete(&mut self) {
        self.stage = ReplyState::First;
        self.expected.pop_front();
    }
}

impl ReplyReader for MysqlReplies {
    fn asked(&self) -> u64 {
        self.asked
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn expected_replies(&self) -> u64 {
        self.expected.len() as u64
    }

    fn process_bytes(&mut self, mut bytes: &[u8]) -> Result<(), ReplyFault> {
        while !bytes.is_empty() {
            // Rows of a cursor have no columns before them.
            let is_row = matches!(self.stage, ReplyState::Rows | ReplyState::First);
            let of_key = (self.keeps_keys && is_row).then_some(BINARY_KEY_WITHIN + self.columns / 8);
            let wanted = |_, first| match first {
                Some(ERR) => MAX_ERROR_LEN,
                _ => of_key.unwrap_or(FEW),
            };
            if self
                .packet
                .next_message(&mut bytes, |bytes| Some(header(bytes).0), wanted)?
            {
                self.end()?;
            }
        }
        Ok(())
    }
}

pub const fn header([low, middle, high, number]: [u8; HEADER]) -> (usize, u8) {
    (u32::from_le_bytes([low, middle, high, 0]) as usize, number)
}

/// Reads the server's statement number from an answer to `COM_STMT_PREPARE`, or the beginning of
/// one.
pub fn prepared_statement(answer: &[u8]) -> Option<u32> {
    match answer {
        [OK, number @ ..] => number.first_chunk().map(|number| u32::from_le_bytes(*number)),
        _ => None,
    }
}

/// Packets of columns and parameters after the answer to `COM_STMT_PREPARE`, with an EOF after
/// each kind.
fn descriptions(answer: &[u8]) -> Option<usize> {
    let &[columns_low, columns_high, low, high] = answer.get(5..)?.first_chunk()?;
    let packets = |count: u16| usize::from(count) + usize::from(count > 0);
    Some(packets(u16::from_le_bytes([columns_low, columns_high])) + packets(u16::from_le_bytes([low, high])))
}

pub fn error(body: &[u8]) -> ErrorReply {
    let number = match body {
        [_, low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    };
    let text = body.get(3..).unwrap_or_default();
    // `#` and an SQLSTATE precede the text, once the login has begun.
    let (state, text) = text
        .strip_prefix(b"#")
        .and_then(|rest| rest.split_at_checked(5))
        .unwrap_or((b"", text));
    let code = match state {
        b"" => number.to_string(),
        state => format!("{number}/{}", String::from_utf8_lossy(state)),
    };
    ErrorReply::new(code.as_bytes(), text)
}

/// The error at the beginning of `bytes`; `None` if it is incomplete, or if there is none.
pub fn begun_error(bytes: &[u8]) -> Option<ErrorReply> {
    let (first, rest) = bytes.split_first_chunk()?;
    let body = rest.get(..header(*first).0)?;
    (body.first() == Some(&ERR)).then(|| error(body))
}

fn text_key(row: &[u8]) -> Option<u64> {
    let (length, rest) = row.split_first()?;
    std::str::from_utf8(rest.get(..usize::from(*length))?)
        .ok()?
        .parse()
        .ok()
}

/// The first value of a row in binary form, after a mark and the bitmap of NULLs, which begins
/// with two unused bits.
fn binary_key(row: &[u8], columns: usize) -> Option<u64> {
    let value = row.get(1 + (columns + 2).div_ceil(8)..)?;
    Some(u64::from_le_bytes(*value.first_chunk()?))
}

const HEADER: usize = 4;
const MAX_ERROR_LEN: usize = 1024;
/// Bytes kept of a packet without a key: OK of a prepared statement has 12.
const FEW: usize = 16;
/// Mark, bitmap without its columns, eight bytes; or length and digits.
const BINARY_KEY_WITHIN: usize = 24;
const CURSOR_EXISTS: u16 = 0x40;
const LAST_ROW_SENT: u16 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;

    /// A result of one column and two rows; the answer to a prepared statement with one parameter;
    /// rows of a cursor.
    const REPLY: &[u8] = b"\x01\0\0\x01\x01\x03\0\0\x02def\x05\0\0\x03\xfe\0\0\x02\0\x03\0\0\x04\x0242\x02\0\0\x05\x017\
        \x05\0\0\x06\xfe\0\0\x02\0\x0c\0\0\x01\0\x09\0\0\0\0\0\x01\0\0\0\0\x03\0\0\x02def\x05\0\0\x03\xfe\0\0\x02\0\
        \x0a\0\0\x01\0\0\x05\0\0\0\0\0\0\0\x05\0\0\x02\xfe\0\0\xc2\0\x07\0\0\x01\0\0\0\x02\0\0\0";

    #[test]
    fn answers_are_the_same_however_they_are_cut() {
        for cut in 0..REPLY.len() {
            let mut replies = MysqlReplies::default();
            replies.keep_keys();
            for answer in [
                ExpectedAnswer::Answer,
                ExpectedAnswer::Statement,
                ExpectedAnswer::Fetched,
                ExpectedAnswer::Answer,
                ExpectedAnswer::Answer,
            ] {
                replies.expect(answer);
            }
            assert_eq!((replies.asked(), replies.expected_replies()), (5, 5));
            let (one, other) = REPLY.split_at(cut);
            replies.process_bytes(one).expect("no error");
            replies.process_bytes(other).expect("no error");
            assert_eq!(
                (replies.rows(), replies.expected_replies(), replies.statement()),
                (3, 1, 9),
                "{cut}"
            );
            assert!(!replies.has_more());
            let mut keys = Vec::new();
            replies.take_keys(&mut keys);
            assert_eq!(keys, [42, 7, 5]);
        }
    }

    #[test]
    fn a_statement_has_the_number_of_its_answer() {
        assert_eq!(prepared_statement(&[0, 5, 0, 0, 0, 1]), Some(5));
        assert_eq!(prepared_statement(&[0xff, 5, 0, 0, 0]), None);
        let mut replies = MysqlReplies::default();
        replies.expect(ExpectedAnswer::Statement);
        replies.process_bytes(&[1, 0, 0, 1, 0]).expect_err("no statement");
    }

    #[test]
    fn an_error_is_told_without_its_values() {
        let body = b"\xff\x26\x04#23000Duplicate entry 'secret' for key";
        let packet = [&[body.len() as u8, 0, 0, 1], &body[..]].concat();
        let refused = ErrorReply::new(b"1062/23000", b"Duplicate entry '?' for key");
        assert_eq!(refused.number(), "1062");
        assert_eq!(begun_error(&packet), Some(refused.clone()));
        assert_eq!(begun_error(&packet[..packet.len() - 1]), None);
        assert_eq!(
            MysqlReplies::default().process_bytes(&packet),
            Err(ReplyFault::Refused(refused))
        );
    }
}
