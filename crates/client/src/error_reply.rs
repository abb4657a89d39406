//! What a server says when it refuses a request.

/// A server's error: its code, and its text without the values that it quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReply {
    /// An SQLSTATE; of MySQL and MariaDB their number, a slash and the SQLSTATE (`1062/23000`), or the number alone before the login.
    pub code: String,
    /// What the server says, by [`without_values`].
    pub text: String,
}

impl ErrorReply {
    /// Of the bytes of both.
    pub fn new(code: &[u8], text: &[u8]) -> Self {
        Self {
            code: String::from_utf8_lossy(code).into_owned(),
            text: without_values(text),
        }
    }

    /// The code without the SQLSTATE behind MySQL's number, which says less.
    pub fn number(&self) -> &str {
        self.code.split('/').next().unwrap_or(&self.code)
    }
}

impl std::fmt::Display for ErrorReply {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.code, self.text)
    }
}

/// A server's message without what it quotes: `relation "?" does not exist`. Numbers go too. At most 200 letters.
///
/// A quote begins behind anything but a letter (`doesn't`) and ends with the last one of its kind that has no letter
/// behind it, since a value may hold quotes itself: it is better to hide too much than to show a part of a value.
pub fn without_values(text: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(text)
        .chars()
        .filter(|letter| !letter.is_control())
        .collect();
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
    plain.chars().take(200).collect()
}

/// What follows the end of a quote; nothing where it has none.
fn behind_quote(text: &str, quote: char) -> &str {
    let ends = text.rmatch_indices(quote).find_map(|(at, _)| {
        let behind = text.get(at + quote.len_utf8()..)?;
        (!behind.starts_with(char::is_alphanumeric)).then_some(behind)
    });
    ends.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::without_values;

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
        ] {
            assert_eq!(without_values(said.as_bytes()), told);
        }
    }
}
