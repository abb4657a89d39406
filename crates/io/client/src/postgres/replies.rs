//! Counts replies, and reads errors.

use crate::ErrorReply;
use crate::reply_reader::{MessageCutter, ReplyFault, ReplyReader};
use wire::postgres::messages::backend::{
    BIND_COMPLETE, COMMAND_COMPLETE, COPY_DATA, COPY_IN_RESPONSE, DATA_ROW, ERROR_RESPONSE, PORTAL_SUSPENDED,
    READY_FOR_QUERY,
};
use wire::postgres::messages::error_field;

#[derive(Debug, Default)]
pub struct PostgresReplies {
    asked: u64,
    answered: u64,
    rows: u64,
    awaits_portal: bool,
    suspended: bool,
    /// Whether keys are read; and the received ones.
    keeps_keys: bool,
    keys: Vec<u64>,
    message: MessageCutter<HEADER>,
}

impl PostgresReplies {
    pub fn owe(&mut self, requests: u64) {
        self.asked += requests;
    }

    /// Announces `Parse`, `Bind` and `Flush`, with a reply that ends with the portal.
    pub fn owe_portal(&mut self) {
        self.asked += 1;
        self.awaits_portal = true;
    }

    pub fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// Reads the first column of each following row, a number as text.
    pub fn keep_keys(&mut self) {
        self.keeps_keys = true;
    }

    pub fn take_keys(&mut self, keys: &mut Vec<u64>) {
        keys.clear();
        std::mem::swap(keys, &mut self.keys);
    }

    fn end(&mut self) -> Result<(), ReplyFault> {
        let [tag, ..] = self.message.header();
        match tag {
            READY_FOR_QUERY | COPY_IN_RESPONSE => self.answered += 1,
            BIND_COMPLETE if std::mem::take(&mut self.awaits_portal) => self.answered += 1,
            DATA_ROW => {
                self.rows += 1;
                if self.keeps_keys {
                    self.keys.push(key(self.message.body()).unwrap_or(0));
                }
            }
            COPY_DATA => self.rows += 1,
            PORTAL_SUSPENDED => self.suspended = true,
            COMMAND_COMPLETE => self.suspended = false,
            ERROR_RESPONSE => return Err(ReplyFault::Refused(error(self.message.body()))),
            _ => {}
        }
        Ok(())
    }
}

impl ReplyReader for PostgresReplies {
    fn asked(&self) -> u64 {
        self.asked
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn expected_replies(&self) -> u64 {
        self.asked.saturating_sub(self.answered)
    }

    fn process_bytes(&mut self, mut bytes: &[u8]) -> Result<(), ReplyFault> {
        let keeps_keys = self.keeps_keys;
        let length = |bytes| header(bytes).map(|(_, length)| length);
        let wanted = |[tag, ..]: [u8; HEADER], _| match tag {
            ERROR_RESPONSE => MAX_ERROR_LEN,
            DATA_ROW if keeps_keys => KEY_WITHIN,
            _ => 0,
        };
        while !bytes.is_empty() {
            if self.message.next_message(&mut bytes, length, wanted)? {
                self.end()?;
            }
        }
        Ok(())
    }
}

/// Tag and body length of a message; `None` if the length is invalid.
pub fn header([tag, length @ ..]: [u8; HEADER]) -> Option<(u8, usize)> {
    let length = u32::from_be_bytes(length).checked_sub(4)?;
    Some((tag, length as usize))
}

pub fn error(body: &[u8]) -> ErrorReply {
    let field = |wanted: u8| {
        body.split(|byte| *byte == 0)
            .find_map(|field| field.strip_prefix(&[wanted]))
            .unwrap_or_default()
    };
    ErrorReply::new(field(error_field::CODE), field(error_field::MESSAGE))
}

/// The error at the beginning of `bytes`; `None` if it is incomplete, or if there is none.
pub fn begun_error(bytes: &[u8]) -> Option<ErrorReply> {
    let (first, rest) = bytes.split_first_chunk()?;
    let (tag, length) = header(*first)?;
    rest.get(..length).filter(|_| tag == ERROR_RESPONSE).map(error)
}

fn key(row: &[u8]) -> Option<u64> {
    let length = u32::from_be_bytes(*row.get(2..)?.first_chunk()?) as usize;
    std::str::from_utf8(row.get(6..6 + length)?).ok()?.parse().ok()
}

const HEADER: usize = 5;
const MAX_ERROR_LEN: usize = 1024;
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
            assert_eq!((replies.asked(), replies.expected_replies()), (2, 2));
            let (one, other) = REPLY.split_at(cut);
            replies.process_bytes(one).expect("no error");
            replies.process_bytes(other).expect("no error");
            assert_eq!((replies.rows(), replies.expected_replies()), (2, 1));
            assert!(replies.is_suspended());
            let mut keys = Vec::new();
            replies.take_keys(&mut keys);
            assert_eq!(keys, [42, 7]);
        }
    }

    #[test]
    fn an_error_is_told_without_its_values() {
        let body = b"SERROR\0C22P02\0Minvalid input: \"secret\"\0\0";
        let mut message = vec![ERROR_RESPONSE];
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        let refused = ErrorReply::new(b"22P02", b"invalid input: \"?\"");
        assert_eq!(begun_error(&message), Some(refused.clone()));
        assert_eq!(begun_error(&message[..message.len() - 1]), None);
        assert_eq!(
            PostgresReplies::default().process_bytes(&message),
            Err(ReplyFault::Refused(refused))
        );
        PostgresReplies::default()
            .process_bytes(b"Z\0\0\0\0")
            .expect_err("no length");
        let mut replies = PostgresReplies::default();
        replies.owe_portal();
        replies
            .process_bytes(b"1\0\0\0\x042\0\0\0\x04")
            .expect("no error");
        assert_eq!(replies.expected_replies(), 0);
    }
}
