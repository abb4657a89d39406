use super::Fault;
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
}

impl Scalar {
    /// Parses text as null, boolean (`true`, `on`, `yes` and prefixes), integer or double, `None`
    /// otherwise.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let begins = |word: &str| {
            word.get(..text.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(text))
        };
        let is = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
        if text.is_empty() {
            None
        } else if is(&["null"]) {
            Some(Self::Null)
        } else if begins("true") || begins("yes") || is(&["on"]) {
            Some(Self::Boolean(true))
        } else if begins("false") || begins("no") || is(&["off", "of"]) {
            Some(Self::Boolean(false))
        } else {
            let text = text.trim_start();
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                text.parse().ok().map(Self::Integer)
            } else {
                text.parse().ok().map(Self::Double)
            }
        }
    }

    pub(super) fn truth(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(truth) => truth,
            Self::Integer(number) => number != 0,
            Self::Double(number) => number != 0.0,
        }
    }

    pub(super) fn boolean(self) -> Result<bool, Fault> {
        match self {
            Self::Boolean(truth) => Ok(truth),
            Self::Null | Self::Integer(_) | Self::Double(_) => Err(self.kind_fault("boolean")),
        }
    }

    /// Rounds doubles, halves to even.
    pub(super) fn integer(self) -> Result<i64, Fault> {
        match self {
            Self::Integer(number) => Ok(number),
            Self::Double(number) => {
                let whole = number.round_ties_even();
                if (-BEYOND..BEYOND).contains(&whole) {
                    Ok(whole as i64)
                } else {
                    Err(Fault::Overflow("int()"))
                }
            }
            Self::Null | Self::Boolean(_) => Err(self.kind_fault("int")),
        }
    }

    pub(super) fn double(self) -> Result<f64, Fault> {
        match self {
            Self::Double(number) => Ok(number),
            Self::Integer(number) => Ok(number as f64),
            Self::Null | Self::Boolean(_) => Err(self.kind_fault("double")),
        }
    }

    fn kind_fault(self, to: &'static str) -> Fault {
        Fault::Kind {
            from: self.kind(),
            to,
        }
    }

    /// The type for messages.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Integer(_) => "int",
            Self::Double(_) => "double",
        }
    }
}

/// As in a statement; doubles with up to 15 digits as in C's `%.15g`, special values in
/// PostgreSQL's words.
impl fmt::Display for Scalar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("NULL"),
            Self::Boolean(truth) => write!(formatter, "{truth}"),
            Self::Integer(number) => write!(formatter, "{number}"),
            Self::Double(number) => write_double(formatter, *number),
        }
    }
}

fn write_double(formatter: &mut fmt::Formatter<'_>, number: f64) -> fmt::Result {
    if !number.is_finite() {
        let text = match (number.is_nan(), number.is_sign_negative()) {
            (true, _) => "NaN",
            (false, false) => "Infinity",
            (false, true) => "-Infinity",
        };
        return formatter.write_str(text);
    }
    let scientific = format!("{number:.*e}", DIGITS - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent < -4 || exponent >= DIGITS as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        let size = exponent.unsigned_abs();
        return write!(formatter, "{}e{sign}{size:02}", without_zeros(mantissa));
    }
    let decimals = (DIGITS as i32 - 1 - exponent).unsigned_abs() as usize;
    formatter.write_str(without_zeros(&format!("{number:.decimals$}")))
}

/// Removes trailing zeros after the decimal point.
fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// Significant digits of doubles.
const DIGITS: usize = 15;
/// 2^63, the first double above all 64-bit integers.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;
