//! Fields of messages that longwire uses.

use super::bson::Element;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) flags: u32,
    pub(super) ok: Option<bool>,
    pub(super) n: Option<u64>,
    /// Documents of a reply's batch, or values of `distinct`.
    pub(super) rows: Option<u64>,
    /// Documents or operations of a write.
    pub(super) sets: u64,
    pub(super) cursor: Option<i64>,
    pub(super) code: Option<i64>,
    pub(super) code_name: Vec<u8>,
    pub(super) write_error: Option<i64>,
    pub(super) version: Vec<u8>,
    pub(super) batch_size: Option<u32>,
    pub(super) limit: Option<i64>,
    pub(super) is_in_transaction: bool,
    pub(super) get_more: Option<i64>,
}

impl Fields {
    pub(super) fn read_field(&mut self, element: Element<'_>) {
        let number = element.integer();
        match element.name {
            b"ok" => self.ok = number.map(|ok| ok != 0),
            b"n" => self.n = number.and_then(|n| u64::try_from(n).ok()),
            b"code" => self.code = number,
            b"codeName" => self.code_name = element.text().unwrap_or_default().to_vec(),
            b"version" => self.version = element.text().unwrap_or_default().to_vec(),
            b"batchSize" => self.batch_size = number.and_then(|size| u32::try_from(size).ok()),
            b"limit" => self.limit = number,
            b"autocommit" => self.is_in_transaction = number == Some(0),
            b"getMore" => self.get_more = number,
            _ => {}
        }
    }

    pub(super) fn read_cursor(&mut self, element: Element<'_>) {
        match element.name {
            b"id" => self.cursor = element.integer(),
            b"batchSize" => {
                self.batch_size = element.integer().and_then(|size| u32::try_from(size).ok());
            }
            _ => {}
        }
    }
}
