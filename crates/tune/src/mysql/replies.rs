//! Replies of MySQL and MariaDB: counted, not kept.
//!
//! Source: MySQL 8.4 source documentation, "Client/Server Protocol". Of a session without `CLIENT_DEPRECATE_EOF`.

use crate::native::head::Head;
use crate::native::job_connection::{Refused, Replies};
use client::session::without_values;
use std::collections::VecDeque;

/// What has come on a connection.
#[derive(Debug, Default)]
pub struct MysqlReplies {
    /// What is to come, for each request that is not answered.
    expected: VecDeque<Expected>,
    asked: u64,
    stage: ReplyState,
    rows: u64,
    /// The number of the statement prepared last.
    statement: u32,
    columns: usize,
    /// Status of the result that ended last.
    status: u16,
    keeps_keys: bool,
    keys: Vec<u64>,
    head: Head<HEAD>,
    /// Bytes of the packet under way, and how many of them are still to come.
    length: usize,
    left: usize,
    /// The beginning of the packet under way.
    body: Vec<u8>,
    /// The packet under way goes on with the one before it, which was of the greatest length.
    continues: bool,
}

/// The answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// OK, a result as text, a result's columns where a cursor is opened, or the server's wish for a file.
    Answer,
    /// Of `COM_STMT_PREPARE`.
    Statement,
    /// Rows of a cursor, in binary form.
    Fetched,
}

/// Where in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum ReplyState {
    #[default]
    First,
    /// So many packets are passed over, then the answer is complete.
    Passing(usize),
    /// So many columns are described, then EOF follows.
    Columns(usize),
    Rows,
}

impl MysqlReplies {
    /// One more answer is asked for, with what is said next.
    pub fn expect(&mut self, answer: Expected) {
        self.expected.push_back(answer);
        self.asked += 1;
    }

    /// The server's number of the statement that was prepared last.
    pub const fn statement(&self) -> u32 {
        self.statement
    }

    /// Whether the cursor has more rows than were fetched.
    pub const fn has_more(&self) -> bool {
        self.status & CURSOR_EXISTS != 0 && self.status & LAST_ROW_SENT == 0
    }

    /// From now on reads the first column of each row, a number.
    pub const fn keep_keys(&mut self) {
        self.keeps_keys = true;
    }

    /// The keys that came since this was called last.
    pub fn take_keys(&mut self, keys: &mut Vec<u64>) {
        keys.clear();
        std::mem::swap(keys, &mut self.keys);
    }

    /// Bytes of the packet under way that are looked at.
    fn wanted(&self) -> usize {
        match self.body.first() {
            Some(&ERROR) => LONGEST_ERROR,
            _ if self.keeps_keys && self.stage == ReplyState::Rows => BINARY_KEY_WITHIN + self.columns / 8,
            // Rows of a cursor come without columns before them.
            _ if self.keeps_keys && self.stage == ReplyState::First => BINARY_KEY_WITHIN + self.columns / 8,
            _ => FEW,
        }
    }

    /// The packet under way is complete.
    fn end(&mut self) -> Result<(), Refused> {
        self.head.clear();
        let continued = std::mem::replace(&mut self.continues, self.length == LONGEST_PACKET);
        if continued {
            return Ok(());
        }
        if self.body.first() == Some(&ERROR) {
            return Err(refused(&self.body));
        }
        let is_eof = self.body.first() == Some(&EOF) && self.length < 9;
        let fetched = self.expected.front() == Some(&Expected::Fetched);
        match self.stage {
            ReplyState::First if fetched => self.row(is_eof, true),
            ReplyState::First => self.first(),
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

    fn first(&mut self) {
        match (self.expected.front(), self.body.as_slice()) {
            (Some(Expected::Statement), &[0, a, b, c, d, columns_low, columns_high, low, high, ..]) => {
                self.statement = u32::from_le_bytes([a, b, c, d]);
                let described = |count: u16| match count {
                    0 => 0,
                    count => usize::from(count) + 1,
                };
                let passing = described(u16::from_le_bytes([low, high]))
                    + described(u16::from_le_bytes([columns_low, columns_high]));
                match passing {
                    0 => self.complete(),
                    passing => self.stage = ReplyState::Passing(passing),
                }
            }
            (_, &[OK | WANTS_FILE, ..]) => self.complete(),
            (_, &[count @ ..=250]) => self.columns(count.into()),
            (_, &[0xfc, low, high]) => self.columns(u16::from_le_bytes([low, high]).into()),
            _ => self.complete(),
        }
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
                binary_key(&self.body, self.columns)
            } else {
                text_key(&self.body)
            };
            self.keys.push(key.unwrap_or(0));
        }
    }

    fn read_status(&mut self) {
        if let Some(&[_, _, _, low, high]) = self.body.first_chunk() {
            self.status = u16::from_le_bytes([low, high]);
        }
    }

    fn complete(&mut self) {
        self.stage = ReplyState::First;
        self.expected.pop_front();
    }
}

impl Replies for MysqlReplies {
    fn asked(&self) -> u64 {
        self.asked
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn owed(&self) -> u64 {
        self.expected.len() as u64
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), Refused> {
        while !bytes.is_empty() {
            if !self.head.is_whole() {
                bytes = self.head.take(bytes);
                if !self.head.is_whole() {
                    return Ok(());
                }
                let [low, middle, high, _] = self.head.bytes();
                self.length = u32::from_le_bytes([low, middle, high, 0]) as usize;
                self.left = self.length;
                self.body.clear();
            }
            let (part, rest) = bytes.split_at(bytes.len().min(self.left));
            if self.body.is_empty() {
                self.body.extend_from_slice(part.get(..1).unwrap_or_default());
                self.keep(part.get(1..).unwrap_or_default());
            } else {
                self.keep(part);
            }
            self.left -= part.len();
            bytes = rest;
            if self.left == 0 {
                self.end()?;
            }
        }
        Ok(())
    }
}

impl MysqlReplies {
    fn keep(&mut self, part: &[u8]) {
        let room = self.wanted().saturating_sub(self.body.len());
        self.body
            .extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
    }
}

/// The first value of a row in text form: a length of one byte, digits.
fn text_key(row: &[u8]) -> Option<u64> {
    let (length, rest) = row.split_first()?;
    std::str::from_utf8(rest.get(..usize::from(*length))?)
        .ok()?
        .parse()
        .ok()
}

/// The first value of a row in binary form, behind a mark and the bitmap of NULLs, whose first two bits are none of columns'.
fn binary_key(row: &[u8], columns: usize) -> Option<u64> {
    let value = row.get(1 + (columns + 2).div_ceil(8)..)?;
    Some(u64::from_le_bytes(*value.first_chunk()?))
}

fn refused(body: &[u8]) -> Refused {
    let code = match body {
        [_, low, high, ..] => u16::from_le_bytes([*low, *high]),
        _ => 0,
    };
    let text = body.get(3..).unwrap_or_default();
    // `#` and an SQLSTATE come before the text.
    let (state, text) = text
        .strip_prefix(b"#")
        .and_then(|rest| rest.split_at_checked(5))
        .unwrap_or((b"", text));
    Refused {
        code: match state {
            b"" => code.to_string(),
            state => format!("{code}/{}", String::from_utf8_lossy(state)),
        },
        text: without_values(text),
    }
}

/// Length and number.
const HEAD: usize = 4;
const LONGEST_PACKET: usize = 0xff_ffff;
const LONGEST_ERROR: usize = 1024;
/// Of a packet that holds no key: OK of a prepared statement has 12 bytes.
const FEW: usize = 16;
/// Mark, bitmap without its columns, eight bytes; or length and digits.
const BINARY_KEY_WITHIN: usize = 24;
const OK: u8 = 0;
const WANTS_FILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// `SERVER_STATUS_CURSOR_EXISTS`, `SERVER_STATUS_LAST_ROW_SENT`.
const CURSOR_EXISTS: u16 = 0x40;
const LAST_ROW_SENT: u16 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;

    /// A result of one column and two rows; the answer to a prepared statement with one parameter; rows of a cursor.
    const REPLY: &[u8] = b"\x01\0\0\x01\x01\x03\0\0\x02def\x05\0\0\x03\xfe\0\0\x02\0\x03\0\0\x04\x0242\x02\0\0\x05\x017\
        \x05\0\0\x06\xfe\0\0\x02\0\x0c\0\0\x01\0\x09\0\0\0\0\0\x01\0\0\0\0\x03\0\0\x02def\x05\0\0\x03\xfe\0\0\x02\0\
        \x0a\0\0\x01\0\0\x05\0\0\0\0\0\0\0\x05\0\0\x02\xfe\0\0\xc2\0\x07\0\0\x01\0\0\0\x02\0\0\0";

    #[test]
    fn answers_are_the_same_however_they_are_cut() {
        for cut in 0..REPLY.len() {
            let mut replies = MysqlReplies::default();
            replies.keep_keys();
            for answer in [
                Expected::Answer,
                Expected::Statement,
                Expected::Fetched,
                Expected::Answer,
                Expected::Answer,
            ] {
                replies.expect(answer);
            }
            assert_eq!((replies.asked(), replies.owed()), (5, 5));
            let (one, other) = REPLY.split_at(cut);
            replies.take(one).expect("no error");
            replies.take(other).expect("no error");
            assert_eq!(
                (replies.rows(), replies.owed(), replies.statement()),
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
    fn an_error_is_told_without_its_values() {
        let body = b"\xff\x26\x04#23000Duplicate entry 'secret' for key";
        let packet = [&[body.len() as u8, 0, 0, 1], &body[..]].concat();
        let refused = MysqlReplies::default().take(&packet).expect_err("an error");
        assert_eq!(
            (refused.code.as_str(), refused.text.as_str()),
            ("1062/23000", "Duplicate entry '?' for key")
        );
    }
}
