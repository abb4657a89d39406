//! PostgreSQL's replies: counted, not kept.

use crate::native::head::Head;
use crate::native::job_connection::{Refused, Replies};
use client::session::without_values;

/// What has come on a connection.
#[derive(Debug, Default)]
pub struct PostgresReplies {
    asked: u64,
    answered: u64,
    rows: u64,
    /// Whether a portal has more rows than were asked for.
    suspended: bool,
    /// Whether keys are read; and those that came.
    keeps_keys: bool,
    keys: Vec<u64>,
    head: Head<HEAD>,
    /// Bytes of the message under way that are still to come.
    left: usize,
    /// The beginning of the message under way, where it is looked at.
    body: Vec<u8>,
}

impl PostgresReplies {
    /// `requests` more are asked for, with what is said next.
    pub fn owe(&mut self, requests: u64) {
        self.asked += requests;
    }

    /// Whether the portal executed last has more rows.
    pub fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// From now on reads the first column of each row, a number as text.
    pub fn keep_keys(&mut self) {
        self.keeps_keys = true;
    }

    /// The keys that came since this was called last.
    pub fn take_keys(&mut self, keys: &mut Vec<u64>) {
        keys.clear();
        std::mem::swap(keys, &mut self.keys);
    }

    /// Bytes of a message's body that are looked at.
    fn wanted(&self, tag: u8) -> usize {
        match tag {
            b'E' => LONGEST_ERROR,
            b'D' if self.keeps_keys => KEY_WITHIN,
            _ => 0,
        }
    }

    /// The header of a message is there.
    fn begin(&mut self) -> Result<(), Refused> {
        let [_, length @ ..] = self.head.bytes();
        let length = u32::from_be_bytes(length) as usize;
        self.left = length.checked_sub(4).ok_or_else(|| Refused {
            code: "protocol".to_owned(),
            text: "a message of no length".to_owned(),
        })?;
        self.body.clear();
        Ok(())
    }

    /// The message under way is complete.
    fn end(&mut self) -> Result<(), Refused> {
        self.head.clear();
        match self.head.bytes()[0] {
            b'Z' | b'G' => self.answered += 1,
            b'D' => {
                self.rows += 1;
                if self.keeps_keys {
                    self.keys.push(key(&self.body).unwrap_or(0));
                }
            }
            b'd' => self.rows += 1,
            b's' => self.suspended = true,
            b'C' => self.suspended = false,
            b'E' => return Err(refused(&self.body)),
            _ => {}
        }
        Ok(())
    }
}

impl Replies for PostgresReplies {
    fn asked(&self) -> u64 {
        self.asked
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn owed(&self) -> u64 {
        self.asked.saturating_sub(self.answered)
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), Refused> {
        while !bytes.is_empty() {
            if !self.head.is_whole() {
                bytes = self.head.take(bytes);
                if !self.head.is_whole() {
                    return Ok(());
                }
                self.begin()?;
            }
            let (part, rest) = bytes.split_at(bytes.len().min(self.left));
            let room = self.wanted(self.head.bytes()[0]).saturating_sub(self.body.len());
            self.body
                .extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
            self.left -= part.len();
            bytes = rest;
            if self.left == 0 {
                self.end()?;
            }
        }
        Ok(())
    }
}

/// The first value of a row, a number as text.
fn key(row: &[u8]) -> Option<u64> {
    let length = u32::from_be_bytes(*row.get(2..)?.first_chunk()?) as usize;
    std::str::from_utf8(row.get(6..6 + length)?).ok()?.parse().ok()
}

fn refused(body: &[u8]) -> Refused {
    let field = |wanted: u8| {
        let fields = body.split(|byte| *byte == 0);
        fields
            .filter_map(|field| field.split_first())
            .find_map(|(tag, text)| (*tag == wanted).then_some(text))
            .unwrap_or_default()
    };
    Refused {
        code: String::from_utf8_lossy(field(b'C')).into_owned(),
        text: without_values(field(b'M')),
    }
}

/// Tag and length.
const HEAD: usize = 5;
const LONGEST_ERROR: usize = 1024;
/// Number of columns, length, and the digits of a key.
const KEY_WITHIN: usize = 2 + 4 + 20;

#[cfg(test)]
mod tests {
    use super::*;

    const REPLY: &[u8] =
        b"T\0\0\0\x06\0\0D\0\0\0\x0c\0\x01\0\0\0\x0242D\0\0\0\x0b\0\x01\0\0\0\x017s\0\0\0\x04Z\0\0\0\x05T";

    #[test]
    fn a_reply_is_the_same_however_it_is_cut() {
        for cut in 0..REPLY.len() {
            let mut replies = PostgresReplies::default();
            replies.keep_keys();
            replies.owe(2);
            assert_eq!((replies.asked(), replies.owed()), (2, 2));
            let (one, other) = REPLY.split_at(cut);
            replies.take(one).expect("no error");
            replies.take(other).expect("no error");
            assert_eq!((replies.rows(), replies.owed()), (2, 1));
            assert!(replies.is_suspended());
            let mut keys = Vec::new();
            replies.take_keys(&mut keys);
            assert_eq!(keys, [42, 7]);
        }
    }

    #[test]
    fn an_error_is_told_without_its_values() {
        let body = b"SERROR\0C42P01\0Mrelation \"secret\" does not exist\0\0";
        let mut message = vec![b'E'];
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        let refused = PostgresReplies::default().take(&message).expect_err("an error");
        assert_eq!(
            (refused.code.as_str(), refused.text.as_str()),
            ("42P01", "relation \"?\" does not exist")
        );
        PostgresReplies::default()
            .take(b"Z\0\0\0\0")
            .expect_err("no length");
    }
}
