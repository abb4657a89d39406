//! Finds the end of messages field by field, storing no more than a number.

use super::messages;
use super::messages::INSERT_DONE;
use super::shape::{Features, Field};
use crate::decoding::framing::Input;
use model::Direction;

#[derive(Debug)]
pub(super) struct Scan {
    direction: Direction,
    first: bool,
    number: [u8; 6],
    filled: usize,
    skip: u64,
    code: Option<u16>,
    previous: Option<u16>,
    fields: &'static [Field],
    inner: &'static [Field],
    /// Repeated fields, the position in them, and the remaining repetitions.
    each: Option<(&'static [Field], usize, u16)>,
    count: u16,
    names: u32,
    chunks: Option<u32>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Coded,
    Login(u8),
    /// Without known end: ended by the other side's first byte.
    Endless,
}

/// `Pass` and `Enter` complete the field, `Again` and `EnterAgain` continue it.
enum Step {
    Pass(u64),
    Again(u64),
    Enter(&'static [Field]),
    EnterAgain(&'static [Field]),
    /// The end of the message is unknown.
    Lost,
}

impl Scan {
    pub(super) const fn new(direction: Direction) -> Self {
        Self {
            direction,
            first: true,
            number: [0; 6],
            filled: 0,
            skip: 0,
            code: None,
            previous: None,
            fields: &[],
            inner: &[],
            each: None,
            count: 0,
            names: 0,
            chunks: None,
            kind: Kind::Coded,
        }
    }

    pub(super) const fn code(&self) -> Option<u16> {
        self.code
    }

    pub(super) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn advance(&mut self, input: &mut Input<'_>, features: Features) -> bool {
        loop {
            if self.kind == Kind::Endless {
                input.pass(u64::MAX);
                return false;
            }
            self.skip -= input.pass(self.skip);
            if self.skip > 0 {
                return false;
            }
            match (self.field(), self.code) {
                (None, Some(_)) => return true,
                (None, None) => {
                    if !self.fill(input, 2) {
                        return false;
                    }
                    self.begin();
                }
                (Some(field), _) => {
                    while self.filled < self.need(field, features) {
                        if !self.fill(input, self.need(field, features)) {
                            return false;
                        }
                    }
                    self.filled = 0;
                    self.process_field(field, features);
                }
            }
        }
    }

    pub(super) fn ended(&mut self) {
        *self = Self {
            first: false,
            previous: self.code,
            ..Self::new(self.direction)
        };
    }

    /// Reads the next bytes of the number, up to `length`. Returns false while bytes are missing.
    /// Unseen bytes lose the position.
    fn fill(&mut self, input: &mut Input<'_>, length: usize) -> bool {
        for &byte in input.take_bytes(length.saturating_sub(self.filled)) {
            if let Some(place) = self.number.get_mut(self.filled) {
                *place = byte;
            }
            self.filled += 1;
        }
        if self.filled < length && input.unseen_count() > 0 {
            self.kind = Kind::Endless;
            input.pass(u64::MAX);
        }
        self.filled >= length
    }

    fn begin(&mut self) {
        let code = u16::from_be_bytes([self.number[0], self.number[1]]);
        self.filled = 0;
        self.code = Some(code);
        match messages::fields(self.direction, code) {
            Some(fields) => self.fields = fields,
            None if code == 0 && self.previous == Some(INSERT_DONE) => self.fields = BIG_SERIAL,
            None if self.first => self.fields = LOGIN,
            None => self.kind = Kind::Endless,
        }
    }

    fn field(&self) -> Option<Field> {
        let repeated = self.each.and_then(|(fields, at, _)| fields.get(at));
        self.inner.first().or(repeated).or(self.fields.first()).copied()
    }

    fn next_field(&mut self) {
        if !self.inner.is_empty() {
            self.inner = self.inner.get(1..).unwrap_or_default();
            return;
        }
        let Some((fields, at, left)) = self.each else {
            self.fields = self.fields.get(1..).unwrap_or_default();
            return;
        };
        self.each = if at + 1 < fields.len() {
            Some((fields, at + 1, left))
        } else {
            (left > 1).then_some((fields, 0, left - 1))
        };
    }

    fn need(&self, field: Field, features: Features) -> usize {
        match field {
            Field::Skip(_)
            | Field::TupleSize
            | Field::ErrorOffset
            | Field::DoneCounts
            | Field::Each(_)
            | Field::Names
            | Field::Rest => 0,
            Field::Text
            | Field::Count
            | Field::ReturnColumn
            | Field::Infos
            | Field::LargeObject
            | Field::Login => 2,
            Field::LongText | Field::NamesLength | Field::ErrorCode => 4,
            Field::Parameter => 6,
            Field::Sql if features.long_statements == Some(false) => 2,
            Field::Sql => 4,
            Field::Chunks => match self.chunks {
                None => 4,
                Some(0) => 0,
                Some(_) => 2,
            },
        }
    }

    fn process_field(&mut self, field: Field, features: Features) {
        match self.step(field, features) {
            Step::Pass(bytes) => {
                self.skip = bytes;
                self.next_field();
            }
            Step::Again(bytes) => self.skip = bytes,
            Step::Enter(fields) => {
                self.next_field();
                self.inner = fields;
            }
            Step::EnterAgain(fields) => self.inner = fields,
            Step::Lost => self.kind = Kind::Endless,
        }
    }

    fn step(&mut self, field: Field, features: Features) -> Step {
        let [a, b, c, d, ..] = self.number;
        let short = u16::from_be_bytes([a, b]);
        let long = u32::from_be_bytes([a, b, c, d]);
        let wide = |is_wide: bool, wide: u64, narrow: u64| Step::Pass(if is_wide { wide } else { narrow });
        match field {
            Field::Skip(bytes) => Step::Pass(u64::from(bytes)),
            Field::Text => Step::Pass(even(short.into())),
            Field::LongText => Step::Pass(even(long.into())),
            Field::Sql => match features.long_statements {
                Some(false) => Step::Pass(even(short.into())),
                // The four bytes read include two bytes of a short text.
                None if short > 0 => Step::Pass(even(short.into()) - 2),
                Some(true) | None => Step::Pass(even(long.into())),
            },
            Field::TupleSize => wide(features.long_tuples, 4, 2),
            Field::ErrorOffset => wide(features.long_statements != Some(false), 4, 2),
            Field::DoneCounts => wide(features.long_counts, 20, 12),
            Field::ErrorCode if short == WITHOUT_TEXT => Step::Enter(&[Field::ErrorOffset]),
            Field::ErrorCode => Step::Enter(&[Field::ErrorOffset, Field::Text]),
            Field::Count => {
                self.count = short;
                Step::Pass(0)
            }
            Field::NamesLength => {
                self.names = long;
                Step::Pass(0)
            }
            Field::Each(fields) => {
                self.next_field();
                self.each = (self.count > 0).then_some((fields, 0, self.count));
                Step::Again(0)
            }
            Field::Names => Step::Pass(even(self.names.into())),
            Field::Parameter => parameter(short, u16::from_be_bytes([c, d])),
            Field::ReturnColumn => match short {
                LVARCHAR..=BOOLEAN => Step::Enter(&[Field::Text, Field::Text, Field::Skip(4)]),
                _ => Step::Pass(4),
            },
            Field::Infos if short == 0 => Step::Pass(0),
            Field::Infos => Step::EnterAgain(&[Field::Text]),
            Field::LargeObject if short == READ => Step::Pass(8),
            Field::LargeObject | Field::Rest => Step::Lost,
            Field::Chunks => self.chunk(short, long),
            Field::Login => self.login(a, b),
        }
    }

    fn chunk(&mut self, short: u16, long: u32) -> Step {
        match self.chunks {
            None => {
                self.chunks = Some(long);
                Step::Again(0)
            }
            Some(0) => Step::Pass(0),
            Some(left) => {
                self.chunks = Some(left.saturating_sub(short.into()));
                Step::Again(even(short.into()))
            }
        }
    }

    /// A login packet: the apparent code is its length.
    fn login(&mut self, kind: u8, protocol: u8) -> Step {
        let known = match self.direction {
            Direction::ClientToServer => kind == REQUEST,
            Direction::ServerToClient => matches!(kind, ACCEPT | REJECT | REDIRECT),
        };
        let behind = self.code.and_then(|length| length.checked_sub(4));
        match behind {
            Some(behind) if known && protocol == SQLI => {
                self.kind = Kind::Login(kind);
                Step::Pass(behind.into())
            }
            Some(_) | None => Step::Lost,
        }
    }
}

/// The value after a parameter's type, indicator and precision.
fn parameter(kind: u16, indicator: u16) -> Step {
    if indicator == NULL {
        return Step::Pass(0);
    }
    match kind & 0xff {
        SMALLINT => Step::Pass(2),
        INTEGER | SMALLFLOAT | SERIAL | DATE => Step::Pass(4),
        FLOAT | BIGINT | BIGSERIAL => Step::Pass(8),
        INT8 | SERIAL8 => Step::Pass(10),
        CHAR | DECIMAL | MONEY | DATETIME | VARCHAR | INTERVAL | NCHAR | NVARCHAR => {
            Step::Enter(&[Field::Text])
        }
        _ => Step::Lost,
    }
}

const fn even(length: u64) -> u64 {
    length.next_multiple_of(2)
}

const LOGIN: &[Field] = &[Field::Login];
/// The rest of a message of serial numbers with a big one: its first half is zero.
const BIG_SERIAL: &[Field] = &[Field::Skip(6)];
pub(super) const REQUEST: u8 = 1;
pub(super) const ACCEPT: u8 = 2;
pub(super) const REJECT: u8 = 3;
pub(super) const REDIRECT: u8 = 13;
pub(super) const SQLI: u8 = 60;
/// Error -368, which has no text.
const WITHOUT_TEXT: u16 = 0xFE90;
const NULL: u16 = 0xFFFF;
const READ: u16 = 0;

const CHAR: u16 = 0;
const SMALLINT: u16 = 1;
const INTEGER: u16 = 2;
const FLOAT: u16 = 3;
const SMALLFLOAT: u16 = 4;
const DECIMAL: u16 = 5;
const SERIAL: u16 = 6;
const DATE: u16 = 7;
const MONEY: u16 = 8;
const DATETIME: u16 = 10;
const VARCHAR: u16 = 13;
const INTERVAL: u16 = 14;
const NCHAR: u16 = 15;
const NVARCHAR: u16 = 16;
const INT8: u16 = 17;
const SERIAL8: u16 = 18;
const LVARCHAR: u16 = 43;
const BOOLEAN: u16 = 45;
const BIGINT: u16 = 52;
const BIGSERIAL: u16 = 53;
