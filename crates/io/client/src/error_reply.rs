//! Error replies of servers.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReply {
    /// An SQLSTATE, but for MySQL and MariaDB their number, a slash and the SQLSTATE
    /// (`1062/23000`), or the number alone before the login.
    pub code: String,
    /// The server's text, unchanged if it quotes only names of tables, columns, users and the like,
    /// otherwise filtered by [`without_values`].
    pub text: String,
}

impl ErrorReply {
    pub fn new(code: &[u8], text: &[u8]) -> Self {
        Self {
            code: String::from_utf8_lossy(code).into_owned(),
            text: match NAMES_ALONE.iter().any(|known| known.as_bytes() == code) {
                true => readable(text).chars().take(MAX_MESSAGE_LEN).collect(),
                false => without_values(text),
            },
        }
    }

    /// Omits the SQLSTATE after MySQL's number, which is less specific.
    pub fn number(&self) -> &str {
        self.code.split('/').next().unwrap_or(&self.code)
    }
}

impl std::fmt::Display for ErrorReply {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.code, self.text)
    }
}

/// Errors with messages that quote names and no values (PostgreSQL, appendix "PostgreSQL Error
/// Codes"; MySQL, "Server Error Message Reference").
const NAMES_ALONE: [&str; 27] = [
    "26000",      // prepared statement
    "28000",      // role
    "28P01",      // role
    "3D000",      // database
    "3F000",      // schema
    "42501",      // privilege
    "42701",      // column twice
    "42702",      // column of several tables
    "42703",      // column
    "42704",      // object
    "42723",      // function twice
    "42883",      // function
    "42P01",      // table
    "42P03",      // cursor twice
    "42P04",      // database twice
    "42P05",      // prepared statement twice
    "42P06",      // schema twice
    "42P07",      // table twice
    "1044/42000", // database, user
    "1045/28000", // user
    "1049/42000", // database
    "1050/42S01", // table twice
    "1051/42S02", // table
    "1054/42S22", // column
    "1142/42000", // privilege
    "1146/42S02", // table
    "1305/42000", // procedure
];

/// Prefixes of codes with a hyphen and a number, of Oracle and its drivers.
const FACILITIES: [&str; 12] = [
    "DPI", "DPY", "KUP", "LPX", "NNL", "NNO", "NZE", "ORA", "PLS", "SP2", "TNS", "UPI",
];
/// Words before codes, separated by `=`, `:`, a blank or a bracket: of DB2, the SQL standard and
/// the operating system.
const WORDS_OF_CODES: [&str; 4] = ["SQLCODE", "SQLSTATE", "errno", "Errcode"];
const MAX_CODE_LEN: usize = 6;

const MAX_MESSAGE_LEN: usize = 200;

fn readable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars().filter(|letter| !letter.is_control()).collect()
}

/// Replaces quoted text in a server's message: `relation "?" does not exist`. Numbers go too,
/// except in error codes (`ORA-12541`, `SQLSTATE=42704`, `errno: 13`). At most 200 letters.
///
/// A quote begins after anything but a letter (`doesn't`). It ends with the last quote of its kind
/// that has no letter after it, since a value may hold quotes itself. Hiding too much is better
/// than showing a part of a value.
pub fn without_values(text: &[u8]) -> String {
    let text = readable(text);
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some(letter) = rest.chars().next() {
        let behind = rest.get(letter.len_utf8()..).unwrap_or_default();
        let begins = !plain.ends_with(char::is_alphanumeric);
        rest = match letter {
            '\'' | '"' | '`' if begins => {
                plain.extend([letter, '?', letter]);
                behind_quote(behind, letter)
            }
            '0'..='9' if is_error_code(&plain, rest) => {
                let end = rest.find(|next: char| !next.is_ascii_alphanumeric());
                let (code, behind) = rest.split_at(end.unwrap_or(rest.len()));
                plain.push_str(code);
                behind
            }
            '0'..='9' => {
                plain.push('?');
                behind.trim_start_matches(|next: char| next.is_ascii_digit() || next == '.')
            }
            other => {
                plain.push(other);
                behind
            }
        };
    }
    plain.chars().take(MAX_MESSAGE_LEN).collect()
}

/// Whether the digits at the start of `rest` are an error number, by a facility and hyphen or a
/// word before them.
fn is_error_code(before: &str, rest: &str) -> bool {
    let code = rest.split(|next: char| !next.is_ascii_alphanumeric()).next();
    if code.is_none_or(|code| code.len() > MAX_CODE_LEN) {
        return false;
    }
    let word = before.trim_end_matches(['-', '=', ':', ' ', '[', '(']);
    let last = word
        .rsplit(|letter: char| !letter.is_ascii_alphanumeric())
        .next()
        .unwrap_or_default();
    let sign = before.get(word.len()..).unwrap_or_default();
    match sign {
        "-" => FACILITIES.contains(&last),
        // `SQL0204N`, `SQLSTATE=HY000`.
        "" => last == "SQL" || (last.len() <= 2 && names_code(&before[..before.len() - last.len()])),
        _ => names_code(before),
    }
}

fn names_code(text: &str) -> bool {
    let text = text.trim_end_matches(['-', '=', ':', ' ', '[', '(']);
    WORDS_OF_CODES.iter().any(|word| {
        text.len()
            .checked_sub(word.len())
            .and_then(|from| text.get(from..))
            .is_some_and(|end| end.eq_ignore_ascii_case(word))
    })
}

fn behind_quote(text: &str, quote: char) -> &str {
    let ends = text.rmatch_indices(quote).find_map(|(at, _)| {
        let behind = text.get(at + quote.len_utf8()..)?;
        (!behind.starts_with(char::is_alphanumeric)).then_some(behind)
    });
    ends.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{ErrorReply, without_values};

    #[test]
    fn names_are_told_and_values_are_not() {
        for (code, said, told) in [
            (
                "42P01",
                "relation \"t2\" does not exist",
                "relation \"t2\" does not exist",
            ),
            (
                "1146/42S02",
                "Table 'shop.t2' doesn't exist",
                "Table 'shop.t2' doesn't exist",
            ),
            (
                "22P02",
                "invalid input syntax for type integer: \"secret\"",
                "invalid input syntax for type integer: \"?\"",
            ),
            (
                "42601",
                "syntax error at or near \"secret\"",
                "syntax error at or near \"?\"",
            ),
            ("1064/42000", "near 'secret' at line 1", "near '?' at line ?"),
        ] {
            assert_eq!(ErrorReply::new(code.as_bytes(), said.as_bytes()).text, told);
        }
    }

    #[test]
    fn what_a_server_quotes_is_not_repeated() {
        for (said, told) in [
            (
                "relation \"shop\" does not exist",
                "relation \"?\" does not exist",
            ),
            ("Table 'test.shop' doesn't exist", "Table '?' doesn't exist"),
            ("Duplicate entry 'it's' for key 'k'", "Duplicate entry '?'"),
            ("Duplicate entry 'a' b' for key", "Duplicate entry '?' for key"),
            ("value 12.50 out of range at 7", "value ? out of range at ?"),
            ("unterminated 'secret", "unterminated '?'"),
            // Error codes are not a user's values.
            ("ORA-12541: TNS: no listener", "ORA-12541: TNS: no listener"),
            ("TNS-12535 at 7", "TNS-12535 at ?"),
            ("ORA-4711004711 is long", "ORA-? is long"),
            ("SQL0204N  name, SQLSTATE=42704", "SQL0204N  name, SQLSTATE=42704"),
            ("SQLSTATE[HY000] [2002]", "SQLSTATE[HY000] [?]"),
            ("SQLCODE=-204 of 5", "SQLCODE=-204 of ?"),
            (
                "(errno: 13 - Permission denied)",
                "(errno: 13 - Permission denied)",
            ),
            ("order-12345 and A-12345", "order-? and A-?"),
        ] {
            assert_eq!(without_values(said.as_bytes()), told);
        }
    }
}
