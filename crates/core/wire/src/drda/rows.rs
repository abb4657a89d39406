//! Counts rows in a query's blocks by its description, without storing values.

use super::values::Encoding;
use crate::decoding::reader::Reader;

/// A row may continue from one block to the next.
#[derive(Debug)]
pub(super) struct Walk {
    columns: Vec<Column>,
    little: bool,
    position: RowPosition,
    skip: u32,
    /// The first of two bytes of a length.
    half: Option<u8>,
    ends: bool,
    rows: u64,
    lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Column {
    nullable: bool,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Fixed(u16),
    /// Two bytes of length, in units of this many bytes.
    Counted(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowPosition {
    Outcome,
    More,
    Text(u8),
    Diagnosis,
    Row,
    Indicator(usize),
    Value(usize),
}

impl Walk {
    /// `None` if the description has an unsupported column.
    pub(super) fn new(description: &[u8], encoding: Encoding) -> Option<Self> {
        let mut rest = Reader::new(description);
        let mut columns = Vec::new();
        let mut in_row = false;
        while let Some(length) = rest.u8() {
            let mut triplet = rest.sub(usize::from(length).checked_sub(1)?)?;
            let (kind, id) = (triplet.u8()?, triplet.u8()?);
            match kind {
                GROUP => in_row = id == ROW,
                CONTINUED => {}
                OVERRIDE => return None,
                _ => in_row = false,
            }
            if !in_row {
                continue;
            }
            while let (Some(kind), Some(length)) = (triplet.u8(), triplet.u16_be()) {
                columns.push(column(kind, length)?);
            }
        }
        (!columns.is_empty()).then_some(Self {
            columns,
            little: encoding.is_little().unwrap_or(false),
            position: RowPosition::Outcome,
            skip: 0,
            half: None,
            ends: false,
            rows: 0,
            lost: false,
        })
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8]) {
        while !self.lost {
            let skipped = bytes.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            bytes = bytes.get(skipped..).unwrap_or_default();
            self.skip -= u32::try_from(skipped).unwrap_or(self.skip);
            if self.skip > 0 {
                return;
            }
            self.rows += u64::from(std::mem::take(&mut self.ends));
            if self.steps_over_fixed() {
                continue;
            }
            let Some((&byte, rest)) = bytes.split_first() else {
                return;
            };
            bytes = rest;
            self.step(byte);
        }
    }

    /// Bytes were not seen, so the beginnings of rows are unknown.
    pub(super) fn desync(&mut self) {
        self.lost = true;
    }

    /// Rows that ended since the last call; `None` if unknown.
    pub(super) fn take_row(&mut self) -> Option<u64> {
        (!self.lost).then_some(std::mem::take(&mut self.rows))
    }

    /// Skips values of fixed length, whose bytes carry no information.
    fn steps_over_fixed(&mut self) -> bool {
        let RowPosition::Value(at) = self.position else {
            return false;
        };
        let Some(Form::Fixed(length)) = self.columns.get(at).map(|column| column.form) else {
            return false;
        };
        self.skip = u32::from(length);
        self.column(at + 1);
        true
    }

    fn step(&mut self, byte: u8) {
        let is_null = byte & 0x80 != 0;
        match self.position {
            RowPosition::Outcome if is_null => self.position = RowPosition::Row,
            RowPosition::Outcome => self.skip_to(CODES, RowPosition::More),
            RowPosition::More if is_null => self.position = RowPosition::Diagnosis,
            RowPosition::More => self.skip_to(COUNTS, RowPosition::Text(0)),
            RowPosition::Text(number) => {
                if let Some(length) = self.length(byte) {
                    let next = if number < 2 {
                        RowPosition::Text(number + 1)
                    } else {
                        RowPosition::Diagnosis
                    };
                    self.skip_to(length, next);
                }
            }
            RowPosition::Diagnosis if is_null => self.position = RowPosition::Row,
            RowPosition::Diagnosis => self.lost = true,
            RowPosition::Row if is_null => self.position = RowPosition::Outcome,
            RowPosition::Row => self.column(0),
            RowPosition::Indicator(at) if is_null => self.column(at + 1),
            RowPosition::Indicator(at) => self.position = RowPosition::Value(at),
            RowPosition::Value(at) => {
                if let Some(length) = self.length(byte) {
                    let unit = match self.columns.get(at).map(|column| column.form) {
                        Some(Form::Counted(unit)) => u32::from(unit),
                        Some(Form::Fixed(_)) | None => 1,
                    };
                    self.skip = length * unit;
                    self.column(at + 1);
                }
            }
        }
    }

    fn skip_to(&mut self, bytes: u32, position: RowPosition) {
        self.skip = bytes;
        self.position = position;
    }

    fn length(&mut self, byte: u8) -> Option<u32> {
        match self.half.take() {
            None => {
                self.half = Some(byte);
                None
            }
            Some(first) if self.little => Some(u16::from_le_bytes([first, byte]).into()),
            Some(first) => Some(u16::from_be_bytes([first, byte]).into()),
        }
    }

    fn column(&mut self, at: usize) {
        self.position = match self.columns.get(at) {
            Some(column) if column.nullable => RowPosition::Indicator(at),
            Some(_) => RowPosition::Value(at),
            None => {
                self.ends = true;
                RowPosition::Outcome
            }
        };
    }
}

fn column(kind: u8, length: u16) -> Option<Column> {
    let [precision, _] = length.to_be_bytes();
    let form = match kind & !1 {
        0x02..=0x0C | 0x16 | 0x20..=0x26 | 0x30 | 0x3C | 0xBA | 0xBE => Form::Fixed(length),
        0x0E => Form::Fixed(u16::from(precision) / 2 + 1),
        0x10 => Form::Fixed(precision.into()),
        0x36 => Form::Fixed(length.checked_mul(2)?),
        0x28 | 0x2A | 0x32 | 0x34 | 0x3E | 0x40 => Form::Counted(1),
        0x38 | 0x3A => Form::Counted(2),
        // A large object is elsewhere; its row holds a number of that many bytes.
        0xC8..=0xCE => Form::Fixed(length & 0x7FFF),
        _ => return None,
    };
    Some(Column {
        nullable: kind & 1 != 0,
        form,
    })
}

const GROUP: u8 = 0x76;
const ROW: u8 = 0xD0;
const CONTINUED: u8 = 0x7F;
/// A type redefined by this connection.
const OVERRIDE: u8 = 0x70;
/// An outcome's code, state and product.
const CODES: u32 = 4 + 5 + 8;
/// Six counts and eleven warnings.
const COUNTS: u32 = 6 * 4 + 11;
