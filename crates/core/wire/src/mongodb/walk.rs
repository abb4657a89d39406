//! Reads the fields of a message while it passes, and counts its documents, in constant memory.

use super::bson::{self, Element, MIN_DOCUMENT, Parsed};
use super::fields::Fields;
use super::header::{CHECKSUM_PRESENT, OP_MSG, OP_QUERY, OP_REPLY};

#[derive(Debug, Default)]
pub(super) struct Walk {
    levels: Vec<Level>,
    /// The beginning of an element that is not whole.
    begun: Vec<u8>,
    at: u64,
    skip: u64,
    is_lost: bool,
    fields: Fields,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    place: Place,
    end: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Flags,
    Sections,
    Query,
    Replies,
    Rest,
    Sequence { counts: bool },
    Body,
    Cursor,
    Rows,
    Sets,
    Errors,
    Error,
}

impl Place {
    const fn has_elements(self) -> bool {
        matches!(
            self,
            Self::Body | Self::Cursor | Self::Rows | Self::Sets | Self::Errors | Self::Error
        )
    }

    /// Place inside of a nested value; `None` to pass it over.
    fn inside(self, element: &Element<'_>) -> Option<Self> {
        if !element.is_nested() {
            return None;
        }
        let name = element.name;
        if self == Self::Cursor {
            return matches!(name, b"firstBatch" | b"nextBatch").then_some(Self::Rows);
        }
        if self == Self::Errors {
            return (name == b"0").then_some(Self::Error);
        }
        match name {
            _ if self != Self::Body => None,
            b"cursor" => Some(Self::Cursor),
            b"values" => Some(Self::Rows),
            b"writeErrors" => Some(Self::Errors),
            b"writeConcernError" => Some(Self::Error),
            name => WRITES.contains(&name).then_some(Self::Sets),
        }
    }
}

/// Effect of the bytes at the current position.
enum Step {
    Take {
        used: usize,
        skip: u64,
        inside: Option<Level>,
    },
    More,
    Wrong,
}

impl Walk {
    pub(super) fn begin(&mut self, opcode: u32, body: u64) {
        self.levels.clear();
        self.begun.clear();
        (self.at, self.skip, self.is_lost) = (0, 0, false);
        self.fields = Fields::default();
        let place = match opcode {
            OP_MSG => Place::Flags,
            OP_QUERY => Place::Query,
            OP_REPLY => Place::Replies,
            _ => Place::Rest,
        };
        self.levels.push(Level { place, end: body });
    }

    pub(super) fn lose(&mut self) {
        self.is_lost = true;
    }

    /// `None` if the message was not whole or wrong.
    pub(super) fn fields(&self) -> Option<&Fields> {
        (!self.is_lost && self.skip == 0 && self.begun.is_empty()).then_some(&self.fields)
    }

    pub(super) fn flags(&self) -> u32 {
        self.fields.flags
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while !self.is_lost {
            let skipped = self.skip.min(bytes.len() as u64);
            self.skip -= skipped;
            self.at += skipped;
            bytes = bytes.get(skipped as usize..).unwrap_or_default();
            while self.levels.last().is_some_and(|level| self.at >= level.end) && self.skip == 0 {
                self.is_lost |= self.levels.pop().is_some_and(|level| self.at > level.end);
            }
            let Some(level) = self.levels.last().copied().filter(|_| !bytes.is_empty()) else {
                return;
            };
            let Some(used) = self.step(level, bytes) else {
                return;
            };
            bytes = bytes.get(used..).unwrap_or_default();
        }
    }

    pub(super) fn pass_unseen(&mut self, count: u64) {
        self.is_lost |= !self.begun.is_empty() || self.skip < count;
        self.skip = self.skip.saturating_sub(count);
        self.at += count;
    }

    /// Returns the used bytes; `None` if more are needed, or if the place is lost.
    #[inline]
    fn step(&mut self, level: Level, bytes: &[u8]) -> Option<usize> {
        if self.begun.is_empty() {
            return match self.take_token(level, bytes) {
                Step::Take { used, skip, inside } => {
                    self.advance(used, skip, inside);
                    Some(used)
                }
                Step::More => {
                    self.is_lost |= bytes.len() >= MAX_BEGUN;
                    self.begun
                        .extend_from_slice(bytes.get(..MAX_BEGUN).unwrap_or(bytes));
                    None
                }
                Step::Wrong => {
                    self.is_lost = true;
                    None
                }
            };
        }
        let before = self.begun.len();
        let mut begun = std::mem::take(&mut self.begun);
        begun.extend_from_slice(bytes.get(..MAX_BEGUN - before).unwrap_or(bytes));
        let step = self.take_token(level, &begun);
        let result = match step {
            Step::Take { used, skip, inside } => {
                self.advance(used, skip, inside);
                begun.clear();
                Some(used - before.min(used))
            }
            Step::More => {
                self.is_lost |= begun.len() >= MAX_BEGUN;
                None
            }
            Step::Wrong => {
                self.is_lost = true;
                None
            }
        };
        self.begun = begun;
        result
    }

    #[inline]
    fn advance(&mut self, used: usize, skip: u64, inside: Option<Level>) {
        self.at += used as u64;
        self.skip = skip;
        match inside {
            Some(_) if self.levels.len() >= MAX_LEVELS => self.is_lost = true,
            Some(level) => self.levels.push(level),
            None => {}
        }
    }

    #[inline(always)]
    fn take_token(&mut self, level: Level, bytes: &[u8]) -> Step {
        if level.place.has_elements() {
            return match bson::parse(bytes) {
                Parsed::More => Step::More,
                Parsed::Wrong => Step::Wrong,
                Parsed::End if self.at + 1 != level.end => Step::Wrong,
                Parsed::End => skip(1, 0),
                Parsed::Element(element, before) => self.take_element(level.place, element, before),
            };
        }
        match level.place {
            Place::Flags => self.take_flags(level, bytes),
            Place::Sections => self.take_section(bytes),
            Place::Query => self.take_query(bytes),
            Place::Replies => self.take_replies(bytes),
            Place::Sequence { counts } => match bson::document_length(bytes) {
                None => Step::More,
                Some(length) if length < MIN_DOCUMENT => Step::Wrong,
                Some(length) => {
                    self.fields.sets += u64::from(counts);
                    skip(4, length as u64 - 4)
                }
            },
            Place::Rest
            | Place::Body
            | Place::Cursor
            | Place::Rows
            | Place::Sets
            | Place::Errors
            | Place::Error => skip_all(level, self.at),
        }
    }

    fn take_flags(&mut self, level: Level, bytes: &[u8]) -> Step {
        let Some(flags) = bytes.first_chunk() else {
            return Step::More;
        };
        self.fields.flags = u32::from_le_bytes(*flags);
        let checksum = if self.fields.flags & CHECKSUM_PRESENT == 0 {
            0
        } else {
            4
        };
        let sections = Level {
            place: Place::Sections,
            end: level.end.saturating_sub(checksum),
        };
        if let Some(last) = self.levels.last_mut() {
            last.place = Place::Rest;
        }
        inside(4, sections)
    }

    fn take_section(&self, bytes: &[u8]) -> Step {
        let (Some(&kind), Some(length)) = (bytes.first(), bytes.get(1..).and_then(bson::document_length))
        else {
            return Step::More;
        };
        let end = self.at + 1 + u64::from(length.unsigned_abs());
        let place = match kind {
            0 if length >= MIN_DOCUMENT => {
                return inside(
                    5,
                    Level {
                        place: Place::Body,
                        end,
                    },
                );
            }
            1 if length > 4 => bytes.get(5..).unwrap_or_default(),
            _ => return Step::Wrong,
        };
        match place.iter().take(MAX_IDENTIFIER).position(|&byte| byte == 0) {
            Some(name) => {
                let counts = WRITES.contains(&place.get(..name).unwrap_or_default());
                let place = Place::Sequence { counts };
                inside(5 + name + 1, Level { place, end })
            }
            None if place.len() < MAX_IDENTIFIER => Step::More,
            None => Step::Wrong,
        }
    }

    /// Flags, the collection, two numbers, and the document.
    fn take_query(&mut self, bytes: &[u8]) -> Step {
        let name = bytes.get(4..).unwrap_or_default();
        let Some(end) = name.iter().take(MAX_IDENTIFIER).position(|&byte| byte == 0) else {
            return match name.len() < MAX_IDENTIFIER {
                true => Step::More,
                false => Step::Wrong,
            };
        };
        self.take_document(4 + end + 1 + 8, bytes)
    }

    /// Flags, the cursor, the position of the first document, and the number of documents.
    fn take_replies(&mut self, bytes: &[u8]) -> Step {
        let Some(fixed) = bytes.first_chunk::<20>() else {
            return Step::More;
        };
        let [.., a, b, c, d] = *fixed;
        let count = u32::from_le_bytes([a, b, c, d]);
        if count == 0 {
            if let Some(last) = self.levels.last_mut() {
                last.place = Place::Rest;
            }
            return skip(20, 0);
        }
        self.take_document(20, bytes)
    }

    fn take_document(&mut self, before: usize, bytes: &[u8]) -> Step {
        let Some(length) = bytes.get(before..).and_then(bson::document_length) else {
            return Step::More;
        };
        if length < MIN_DOCUMENT {
            return Step::Wrong;
        }
        if let Some(last) = self.levels.last_mut() {
            last.place = Place::Rest;
        }
        let end = self.at + before as u64 + length as u64;
        inside(
            before + 4,
            Level {
                place: Place::Body,
                end,
            },
        )
    }

    #[inline(always)]
    fn take_element(&mut self, place: Place, element: Element<'_>, before: usize) -> Step {
        let nested = place.inside(&element);
        let is_short = element.length <= MAX_SCALAR;
        if nested.is_none() && is_short && !element.is_whole() {
            return Step::More;
        }
        self.count(place, nested);
        if let Some(place) = nested {
            let end = self.at + before as u64 + element.length;
            return inside(before + 4, Level { place, end });
        }
        if element.is_whole() {
            self.read_scalar(place, element);
            return skip(before + element.value.len(), 0);
        }
        // Longer values begin with their length.
        skip(before + 4, element.length - 4)
    }

    fn count(&mut self, place: Place, nested: Option<Place>) {
        if place == Place::Rows {
            *self.fields.rows.get_or_insert(0) += 1;
        }
        self.fields.sets += u64::from(place == Place::Sets);
        if nested == Some(Place::Rows) {
            self.fields.rows = Some(0);
        }
    }

    fn read_scalar(&mut self, place: Place, element: Element<'_>) {
        if element.length > MAX_SCALAR {
            return;
        }
        if place == Place::Body {
            self.fields.read_field(element);
        } else if place == Place::Cursor {
            self.fields.read_cursor(element);
        } else if place == Place::Error && element.name == b"code" {
            self.fields.write_error = self.fields.write_error.or(element.integer());
        }
    }
}

fn skip(used: usize, skip: u64) -> Step {
    Step::Take {
        used,
        skip,
        inside: None,
    }
}

fn inside(used: usize, level: Level) -> Step {
    Step::Take {
        used,
        skip: 0,
        inside: Some(level),
    }
}

fn skip_all(level: Level, at: u64) -> Step {
    skip(0, level.end - at)
}

/// Arguments of writes, one document or operation each.
const WRITES: [&[u8]; 4] = [b"documents", b"updates", b"deletes", b"ops"];
const MAX_SCALAR: u64 = 64;
const MAX_IDENTIFIER: usize = 256;
/// More than the longest element that is read whole.
const MAX_BEGUN: usize = 2048;
const MAX_LEVELS: usize = 8;
