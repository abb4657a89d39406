//! Finds the end of values. Stores no content, and trusts no length beyond the bytes that have
//! arrived.

use super::resp;
use crate::decoding::fault::fault;
use crate::decoding::framing::{HeaderFault, Input};

#[derive(Debug)]
pub(super) struct Scan {
    state: State,
    /// Open aggregates, outermost first, at most [`MAXIMUM_DEPTH`].
    open: Vec<Open>,
    /// Whether values are requests: arrays of bulk strings, or one line of words.
    requests: bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    left: u64,
    /// Attributes precede the value they belong to and are not counted as values.
    is_attribute: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Line {
        length: usize,
    },
    Inline {
        length: usize,
    },
    Number {
        kind: u8,
        number: Number,
    },
    /// A line feed comes next, after the type and value of a count or length if there was one.
    LineFeed {
        counted: Option<(u8, i64)>,
    },
    Bulk {
        left: u64,
    },
    BulkEnd {
        first: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Number {
    value: i64,
    digits: u8,
    is_negative: bool,
}

impl Scan {
    pub(super) const fn new(requests: bool) -> Self {
        Self {
            state: State::Start,
            open: Vec::new(),
            requests,
        }
    }

    pub(super) fn advance(&mut self, input: &mut Input<'_>) -> Result<bool, HeaderFault> {
        while !input.is_empty() {
            let is_complete = match self.state {
                State::Bulk { left } => {
                    let left = left - input.pass(left);
                    self.state = if left > 0 {
                        State::Bulk { left }
                    } else {
                        State::BulkEnd { first: true }
                    };
                    false
                }
                State::Line { length } => {
                    let (line, ended) = line(input, b'\r', length)?;
                    self.state = if ended {
                        State::LineFeed { counted: None }
                    } else {
                        State::Line { length: line }
                    };
                    false
                }
                State::Inline { length } => {
                    let (line, ended) = line(input, b'\n', length)?;
                    self.state = if ended {
                        State::Start
                    } else {
                        State::Inline { length: line }
                    };
                    ended
                }
                State::Start
                    if (!self.requests || !self.open.is_empty())
                        && let Some(length) = whole_text(input.bytes()) =>
                {
                    input.take_bytes(length);
                    self.ended()
                }
                State::Start | State::Number { .. } | State::LineFeed { .. } | State::BulkEnd { .. } => {
                    let byte = byte(input)?;
                    self.step(byte)?
                }
            };
            if is_complete {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn step(&mut self, byte: u8) -> Result<bool, HeaderFault> {
        match (self.state, byte) {
            (State::Start, kind) => return self.begin(kind),
            (State::Number { kind, number }, b'\r') => {
                let counted = Some((kind, number.value().ok_or_else(|| fault("a length", "none"))?));
                self.state = State::LineFeed { counted };
            }
            (State::Number { kind, number }, byte) => {
                let number = number
                    .with(byte)
                    .ok_or_else(|| wrong_byte("a digit of a length", byte))?;
                self.state = State::Number { kind, number };
            }
            (State::LineFeed { counted: None }, b'\n') => return Ok(self.ended()),
            (
                State::LineFeed {
                    counted: Some((kind, count)),
                },
                b'\n',
            ) => return self.counted(kind, count),
            (State::BulkEnd { first: true }, b'\r') => self.state = State::BulkEnd { first: false },
            (State::BulkEnd { first: false }, b'\n') => return Ok(self.ended()),
            (State::LineFeed { .. } | State::BulkEnd { .. }, other) => {
                return Err(wrong_byte("the end of a line", other));
            }
            (State::Line { .. } | State::Inline { .. } | State::Bulk { .. }, _) => {}
        }
        Ok(false)
    }

    fn begin(&mut self, kind: u8) -> Result<bool, HeaderFault> {
        self.state = match (kind, self.requests, self.open.is_empty()) {
            (resp::ARRAY, true, true) | (resp::BULK_STRING, true, false) => number_of(kind),
            (b'\n', true, true) => return Ok(true),
            (b'a'..=b'z' | b'A'..=b'Z' | b' ' | b'\r', true, true) => State::Inline { length: 1 },
            (_, true, true) => return Err(wrong_byte("a request", kind)),
            (_, true, false) => return Err(wrong_byte("an argument", kind)),
            (
                resp::SIMPLE_STRING
                | resp::SIMPLE_ERROR
                | resp::INTEGER
                | resp::NULL
                | resp::DOUBLE
                | resp::BOOLEAN
                | resp::BIG_NUMBER,
                false,
                _,
            ) => State::Line { length: 0 },
            (
                resp::BULK_STRING
                | resp::BULK_ERROR
                | resp::VERBATIM_STRING
                | resp::ARRAY
                | resp::MAP
                | resp::SET
                | resp::PUSH
                | resp::ATTRIBUTE,
                false,
                _,
            ) => number_of(kind),
            (_, false, _) => return Err(wrong_byte("a type of RESP", kind)),
        };
        Ok(false)
    }

    fn counted(&mut self, kind: u8, count: i64) -> Result<bool, HeaderFault> {
        let is_text = matches!(kind, resp::BULK_STRING | resp::BULK_ERROR | resp::VERBATIM_STRING);
        let Ok(count) = u64::try_from(count) else {
            let may_be_null =
                matches!(kind, resp::BULK_STRING | resp::ARRAY) && (!self.requests || self.open.is_empty());
            return if may_be_null && count == -1 {
                Ok(self.ended())
            } else {
                Err(fault("a length", count.to_string()))
            };
        };
        let most = if is_text { MAXIMUM_TEXT } else { MAXIMUM_COUNT };
        if count > most {
            return Err(fault("a length that servers allow", count.to_string()));
        }
        if is_text {
            self.state = if count > 0 {
                State::Bulk { left: count }
            } else {
                State::BulkEnd { first: true }
            };
            return Ok(false);
        }
        let left = if matches!(kind, resp::MAP | resp::ATTRIBUTE) {
            2 * count
        } else {
            count
        };
        self.state = State::Start;
        if left > 0 {
            if self.open.len() == MAXIMUM_DEPTH {
                return Err(fault("at most 64 nested aggregates", "more"));
            }
            self.open.push(Open {
                left,
                is_attribute: kind == resp::ATTRIBUTE,
            });
            return Ok(false);
        }
        Ok(kind != resp::ATTRIBUTE && self.ended())
    }

    fn ended(&mut self) -> bool {
        self.state = State::Start;
        while let Some(open) = self.open.last_mut() {
            open.left = open.left.saturating_sub(1);
            if open.left > 0 {
                return false;
            }
            let is_attribute = open.is_attribute;
            self.open.pop();
            if is_attribute {
                return false;
            }
        }
        true
    }
}

impl Number {
    fn with(self, byte: u8) -> Option<Self> {
        match byte {
            b'-' if self.digits == 0 && !self.is_negative => Some(Self {
                is_negative: true,
                ..self
            }),
            b'0'..=b'9' if self.digits < MAXIMUM_DIGITS => Some(Self {
                value: self.value * 10 + i64::from(byte - b'0'),
                digits: self.digits + 1,
                ..self
            }),
            _ => None,
        }
    }

    fn value(self) -> Option<i64> {
        let value = if self.is_negative { -self.value } else { self.value };
        (self.digits > 0).then_some(value)
    }
}

fn number_of(kind: u8) -> State {
    State::Number {
        kind,
        number: Number::default(),
    }
}

/// Length with framing of a string that has arrived in full (fast path).
fn whole_text(bytes: &[u8]) -> Option<usize> {
    let (&resp::BULK_STRING, rest) = bytes.split_first()? else {
        return None;
    };
    let digits = rest
        .iter()
        .take(SHORT_DIGITS)
        .take_while(|byte| byte.is_ascii_digit());
    let (count, length) = digits.fold((0, 0), |(count, length), digit| {
        (count + 1, length * 10 + usize::from(digit - b'0'))
    });
    let body = rest.get(count..)?.strip_prefix(b"\r\n").filter(|_| count > 0)?;
    let framing = 1 + count + 2 + 2;
    body.get(length..)?
        .starts_with(b"\r\n")
        .then_some(framing + length)
}

fn line(input: &mut Input<'_>, end: u8, before: usize) -> Result<(usize, bool), HeaderFault> {
    if input.bytes().is_empty() {
        return Err(unseen(input));
    }
    let found = input.bytes().iter().position(|&byte| byte == end);
    let text = input.take_bytes(found.map_or(usize::MAX, |place| place + 1));
    let allowed = |&byte: &u8| byte >= b' ' || byte == end || matches!(byte, b'\t' | b'\r');
    if let Some(&wrong) = text.iter().find(|byte| !allowed(byte)) {
        return Err(wrong_byte("a line of text", wrong));
    }
    let length = before.saturating_add(text.len());
    if length > MAXIMUM_LINE {
        return Err(fault("a line of at most 64 KiB", "a longer one"));
    }
    Ok((length, found.is_some()))
}

fn byte(input: &mut Input<'_>) -> Result<u8, HeaderFault> {
    match input.take_bytes(1) {
        [byte] => Ok(*byte),
        _ => Err(unseen(input)),
    }
}

fn unseen(input: &Input<'_>) -> HeaderFault {
    fault(
        "a line",
        format!("{} bytes that were not captured", input.unseen_count()),
    )
}

fn wrong_byte(expected: &'static str, found: u8) -> HeaderFault {
    fault(expected, format!("{found:#04x}"))
}

/// Longest line of a simple string, an error or an inline request: Redis's limit for the latter.
const MAXIMUM_LINE: usize = 64 * 1024;

/// Eight times the default limit of Redis (`proto-max-bulk-len`).
const MAXIMUM_TEXT: u64 = 4 << 30;

/// Maximum elements of an aggregate: Redis's limit for a list.
const MAXIMUM_COUNT: u64 = 1 << 32;

const MAXIMUM_DEPTH: usize = 64;

const MAXIMUM_DIGITS: u8 = 12;

const SHORT_DIGITS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;

    fn ends(requests: bool, bytes: &[u8], piece: usize) -> Result<Vec<usize>, HeaderFault> {
        let mut scan = Scan::new(requests);
        let mut found = Vec::new();
        let mut offset = 0;
        for piece in bytes.chunks(piece) {
            let mut input = Input::seen(Timestamp::default(), piece);
            while !input.is_empty() {
                if scan.advance(&mut input)? {
                    found.push(offset + piece.len() - input.bytes().len());
                }
            }
            offset += piece.len();
        }
        Ok(found)
    }

    #[test]
    fn values_end_where_they_end() {
        let values: [&[u8]; 12] = [
            b"+OK\r\n",
            b"-ERR no\r\n",
            b":-12\r\n",
            b"$-1\r\n",
            b"$0\r\n\r\n",
            b"$3\r\n\r\nx\r\n",
            b"*0\r\n",
            b"*2\r\n*1\r\n:1\r\n%1\r\n+a\r\n,1.5\r\n",
            b"|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n",
            b"*1\r\n|1\r\n+a\r\n+b\r\n+c\r\n",
            b"_\r\n",
            b">3\r\n+message\r\n$1\r\na\r\n=5\r\ntxt:b\r\n",
        ];
        let mut expected = Vec::new();
        for value in values {
            expected.push(expected.last().unwrap_or(&0) + value.len());
        }
        let all = values.concat();
        for piece in 1..all.len() {
            assert_eq!(ends(false, &all, piece), Ok(expected.clone()), "{piece}");
        }
    }

    #[test]
    fn requests_are_arrays_of_strings_or_lines() {
        let requests = b"*1\r\n$4\r\nPING\r\nping\r\n\r\n*0\r\nget \"a b\"\n";
        assert_eq!(ends(true, requests, 3), Ok(vec![14, 20, 22, 26, 36]));
        for wrong in [
            b"*1\r\n:1\r\n".as_slice(),
            b"*1\r\n$-1\r\n",
            b"\x16\x03\x01",
            b"*x\r\n",
        ] {
            assert!(ends(true, wrong, 100).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn claims_beyond_reason_are_refused() {
        for wrong in [
            b"$99999999999\r\n".as_slice(),
            b"*-2\r\n",
            b"*\r\n",
            b"$1234567890123",
            b"*4294967297\r\n",
        ] {
            assert!(ends(false, wrong, 1).is_err(), "{wrong:?}");
        }
        let deep = b"*1\r\n".repeat(65);
        assert!(ends(false, &deep, 100).is_err(), "65 deep");
    }
}
