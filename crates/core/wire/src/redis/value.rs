//! First bytes of a complete value.

use super::resp;
use crate::decoding::reader::Reader;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// The line of a simple string, a number, a truth value or null.
    Line { kind: u8, text: &'a [u8] },
    /// The kept part of a string, or `None` if null.
    Text { kind: u8, text: Option<&'a [u8]> },
    /// An aggregate of this many following values, or `None` if null.
    Aggregate { kind: u8, count: Option<u64> },
}

impl<'a> Value<'a> {
    pub(super) const fn text(&self) -> Option<&'a [u8]> {
        match self {
            Self::Line { text, .. } => Some(text),
            Self::Text { text, .. } => *text,
            Self::Aggregate { .. } => None,
        }
    }
}

/// Values in the kept first bytes of a complete value, outer before inner. Attributes are skipped
/// at the beginning only.
#[derive(Debug, Clone)]
pub(super) struct Values<'a> {
    reader: Reader<'a>,
}

impl<'a> Values<'a> {
    pub(super) fn new(kept: &'a [u8]) -> Self {
        let mut values = Self {
            reader: Reader::new(kept),
        };
        let mut ahead = values.clone();
        while let Some(Value::Aggregate {
            kind: resp::ATTRIBUTE,
            count: Some(count),
        }) = ahead.next()
        {
            let inside = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(2);
            if inside > 0 && ahead.nth(inside - 1).is_none() {
                break;
            }
            values = ahead.clone();
        }
        values
    }

    fn line(&mut self) -> Option<&'a [u8]> {
        let rest = self.reader.rest();
        let end = rest.iter().position(|&byte| byte == b'\r')?;
        rest.get(end + 1).filter(|&&byte| byte == b'\n')?;
        let line = self.reader.take_bytes(end)?;
        self.reader.take_bytes(2)?;
        Some(line)
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let kind = self.reader.u8()?;
        match kind {
            resp::BULK_STRING | resp::BULK_ERROR | resp::VERBATIM_STRING => {
                let text = number(self.line()?).map(|length| {
                    let length = usize::try_from(length).unwrap_or(usize::MAX);
                    let text = self.reader.take_bytes(length.min(self.reader.left()));
                    let _ = self.reader.take_bytes(2);
                    text.unwrap_or_default()
                });
                Some(Value::Text { kind, text })
            }
            resp::ARRAY | resp::MAP | resp::SET | resp::PUSH | resp::ATTRIBUTE => Some(Value::Aggregate {
                kind,
                count: number(self.line()?),
            }),
            _ => {
                let rest = self.reader.rest();
                let text = self.line().unwrap_or(rest);
                Some(Value::Line { kind, text })
            }
        }
    }
}

pub(super) fn number(digits: &[u8]) -> Option<u64> {
    let add = |sum: u64, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    };
    let sum = digits.iter().try_fold(0, add);
    sum.filter(|_| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_stand_before_the_value() {
        let mut values = Values::new(b"|1\r\n+ttl\r\n:3600\r\n$1\r\nv\r\n");
        assert_eq!(values.next().and_then(|value| value.text()), Some(&b"v"[..]));
        assert_eq!(values.next(), None);
    }

    #[test]
    fn what_was_not_kept_is_left_out() {
        let mut values = Values::new(b"*2\r\n$3\r\nSET\r\n$900\r\nabc");
        assert_eq!(
            values.next(),
            Some(Value::Aggregate {
                kind: resp::ARRAY,
                count: Some(2)
            })
        );
        assert_eq!(values.next().and_then(|value| value.text()), Some(&b"SET"[..]));
        assert_eq!(values.next().and_then(|value| value.text()), Some(&b"abc"[..]));
        assert_eq!(values.next(), None);
    }
}
