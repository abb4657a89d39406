//! HPACK (RFC 7541): names and values of header fields, of which few are kept.
//!
//! An entry of the dynamic table keeps its size, and its value only if the field is used. In the
//! middle of a connection, or after lost bytes, older entries are unknown: newest entries count
//! first, so those inserted since are found all the same.

use super::head::{Field, Head};
use super::huffman;
use super::static_table::STATIC_TABLE;
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use std::collections::VecDeque;

/// The fields of one direction's header blocks. Holds at most [`MAX_TABLE`] bytes of entries.
#[derive(Debug)]
pub(super) struct Hpack {
    entries: VecDeque<Entry>,
    size: usize,
    limit: usize,
    /// All insertions were seen.
    complete: bool,
    name: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    field: Field,
    /// Of a [`Field::Clue`].
    name: Box<[u8]>,
    value: Box<[u8]>,
    name_len: usize,
    size: usize,
}

impl Hpack {
    pub(super) fn new(complete: bool) -> Self {
        Self {
            entries: VecDeque::new(),
            size: 0,
            limit: DEFAULT_TABLE,
            complete,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// A header block was lost.
    pub(super) fn lose(&mut self) {
        *self = Self {
            // Too much rather than too little is kept: older entries are not asked for.
            limit: MAX_TABLE,
            ..Self::new(false)
        };
    }

    /// # Errors
    /// If the block is damaged; [`Hpack::lose`] must follow.
    pub(super) fn decode(&mut self, block: &[u8], head: &mut Head) -> Result<(), HeaderFault> {
        let mut rest = block;
        while let Some(&first) = rest.first() {
            if first & 0x80 != 0 {
                let index = integer(&mut rest, 7)?;
                self.indexed(index, head)?;
            } else if first & 0xC0 == 0x40 {
                self.literal(&mut rest, 6, true, head)?;
            } else if first & 0xE0 == 0x20 {
                self.resize(integer(&mut rest, 5)?);
            } else {
                self.literal(&mut rest, 4, false, head)?;
            }
        }
        Ok(())
    }

    fn resize(&mut self, limit: usize) {
        self.complete &= limit <= MAX_TABLE;
        self.limit = limit.min(MAX_TABLE);
        self.evict(0);
    }

    fn evict(&mut self, room: usize) {
        while self.size + room > self.limit {
            let Some(oldest) = self.entries.pop_back() else {
                return;
            };
            self.size -= oldest.size;
        }
    }

    fn entry(&self, index: usize) -> Result<Option<&Entry>, HeaderFault> {
        match self.entries.get(index - STATIC_TABLE.len() - 1) {
            None if self.complete => Err(fault("an index of the header table", index.to_string())),
            entry => Ok(entry),
        }
    }

    fn indexed(&self, index: usize, head: &mut Head) -> Result<(), HeaderFault> {
        let place = index.checked_sub(1).ok_or_else(|| fault("an index", "0"))?;
        if let Some((name, value)) = STATIC_TABLE.get(place) {
            let name = name.as_bytes();
            head.set(Field::from_name(name), name, value.as_bytes());
        } else if let Some(entry) = self.entry(index)? {
            head.set(entry.field, &entry.name, &entry.value);
        } else {
            head.is_cut = true;
        }
        Ok(())
    }

    fn literal(
        &mut self,
        rest: &mut &[u8],
        prefix: u32,
        inserts: bool,
        head: &mut Head,
    ) -> Result<(), HeaderFault> {
        let (field, name_len) = match integer(rest, prefix)? {
            0 => {
                text(rest, &mut self.name)?;
                (Field::from_name(&self.name), self.name.len())
            }
            index => self.indexed_name(index, head)?,
        };
        if field == Field::Other && !inserts {
            return skip_text(rest);
        }
        text(rest, &mut self.value)?;
        head.set(field, &self.name, &self.value);
        if inserts {
            self.insert(field, name_len);
        }
        Ok(())
    }

    fn indexed_name(&mut self, index: usize, head: &mut Head) -> Result<(Field, usize), HeaderFault> {
        let mut name = std::mem::take(&mut self.name);
        name.clear();
        let found = if let Some((known, _)) = STATIC_TABLE.get(index - 1) {
            name.extend_from_slice(known.as_bytes());
            (Field::from_name(&name), name.len())
        } else if let Some(entry) = self.entry(index)? {
            name.extend_from_slice(&entry.name);
            (entry.field, entry.name_len)
        } else {
            head.is_cut = true;
            (Field::Other, 0)
        };
        self.name = name;
        Ok(found)
    }

    fn insert(&mut self, field: Field, name_len: usize) {
        let size = name_len + self.value.len() + ENTRY_OVERHEAD;
        self.evict(size);
        if size > self.limit {
            return;
        }
        let value = if field == Field::Other {
            Box::default()
        } else {
            self.value.as_slice().into()
        };
        self.size += size;
        let name: &[u8] = if field == Field::Clue { &self.name } else { b"" };
        self.entries.push_front(Entry {
            field,
            name: name.into(),
            value,
            name_len,
            size,
        });
    }
}

fn integer(rest: &mut &[u8], prefix: u32) -> Result<usize, HeaderFault> {
    let cut = || fault("a header block", "its end within a number");
    let mask = u8::MAX >> (8 - prefix);
    let (&first, mut behind) = rest.split_first().ok_or_else(cut)?;
    let mut number = usize::from(first & mask);
    if first & mask == mask {
        for shift in [0, 7, 14, 21] {
            let (&byte, after) = behind.split_first().ok_or_else(cut)?;
            behind = after;
            number += usize::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                *rest = behind;
                return Ok(number);
            }
        }
        return Err(fault("a number below 2^28", "a larger one"));
    }
    *rest = behind;
    Ok(number)
}

fn raw_text<'a>(rest: &mut &'a [u8]) -> Result<(bool, &'a [u8]), HeaderFault> {
    let is_huffman = rest.first().is_some_and(|first| first & 0x80 != 0);
    let length = integer(rest, 7)?;
    let (raw, behind) = rest
        .split_at_checked(length)
        .ok_or_else(|| fault("a header block", "its end within a text"))?;
    *rest = behind;
    Ok((is_huffman, raw))
}

fn skip_text(rest: &mut &[u8]) -> Result<(), HeaderFault> {
    raw_text(rest).map(|_| ())
}

fn text(rest: &mut &[u8], out: &mut Vec<u8>) -> Result<(), HeaderFault> {
    out.clear();
    match raw_text(rest)? {
        (false, raw) => out.extend_from_slice(raw),
        (true, raw) => {
            huffman::decode(raw, out).ok_or_else(|| fault("a text in Huffman's code", "something else"))?;
        }
    }
    Ok(())
}

const DEFAULT_TABLE: usize = 4096;
/// A larger table loses its oldest entries.
const MAX_TABLE: usize = 64 * 1024;
const ENTRY_OVERHEAD: usize = 32;

#[cfg(test)]
mod tests;
