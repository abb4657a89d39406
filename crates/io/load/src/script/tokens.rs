//! Splits scripts into statements, quotes, comments and commands.

use super::{Fault, Quoting};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Backslash of a command; [`Tokens::command`] consumes the rest.
    Command,
    Combining,
    Semicolon,
    Opening,
    Closing,
    Blank,
    Comment,
    Quoted,
    Plain,
}

pub(super) struct Tokens<'t> {
    rest: &'t str,
    quoting: Quoting,
}

impl<'t> Tokens<'t> {
    pub fn new(text: &'t str, quoting: Quoting) -> Self {
        Self { rest: text, quoting }
    }

    pub fn next_token(&mut self) -> Result<Option<(Kind, &'t str)>, Fault> {
        let Some(letter) = self.rest.chars().next() else {
            return Ok(None);
        };
        let (kind, length) = self.scan_token(letter)?;
        let (piece, behind) = self.rest.split_at(length);
        self.rest = behind;
        Ok(Some((kind, piece)))
    }

    /// The rest of the line, with lines continued by a backslash.
    pub fn command(&mut self) -> &'t str {
        let mut end = 0;
        while let Some(found) = self.rest.get(end..).and_then(|rest| rest.find('\n')) {
            end += found;
            let line = self.rest.get(..end).unwrap_or_default();
            if !line.trim_end_matches('\r').ends_with('\\') {
                let (command, behind) = self.rest.split_at(end);
                self.rest = behind;
                return command;
            }
            end += 1;
        }
        std::mem::take(&mut self.rest)
    }

    fn scan_token(&self, letter: char) -> Result<(Kind, usize), Fault> {
        let rest = self.rest;
        let mysql = self.quoting == Quoting::Backslash;
        let found = match letter {
            '\\' if rest.starts_with("\\;") => (Kind::Combining, 2),
            '\\' => (Kind::Command, 1),
            ';' => (Kind::Semicolon, 1),
            '(' => (Kind::Opening, 1),
            ')' => (Kind::Closing, 1),
            '\'' => (Kind::Quoted, quoted(rest, "'", mysql)?),
            '"' => (Kind::Quoted, quoted(rest, "\"", mysql)?),
            '`' if mysql => (Kind::Quoted, quoted(rest, "`", false)?),
            '#' if mysql => (Kind::Comment, line(rest)),
            '-' if rest.starts_with("--") => (Kind::Comment, line(rest)),
            '/' if rest.starts_with("/*") => (Kind::Comment, comment(rest, mysql)?),
            '$' if !mysql => match dollar_quoted(rest)? {
                Some(length) => (Kind::Quoted, length),
                None => (Kind::Plain, 1),
            },
            'e' | 'E' if !mysql && rest.get(1..).is_some_and(|rest| rest.starts_with('\'')) => {
                let inner = rest.get(1..).unwrap_or_default();
                (Kind::Quoted, 1 + quoted(inner, "'", true)?)
            }
            _ if letter.is_whitespace() => (Kind::Blank, letter.len_utf8()),
            // The colon belongs to the variable's name.
            ':' => (Kind::Plain, colons(rest) + word(rest.trim_start_matches(':'))),
            _ => (Kind::Plain, word(rest).max(letter.len_utf8())),
        };
        Ok(found)
    }
}

/// Splits `text` at variables; the name is given for a variable with its colon. `::type` and
/// `12:30` are not variables.
pub(super) fn variables(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let plain = next_variable(rest);
        let (piece, name) = if plain > 0 {
            (rest.get(..plain)?, None)
        } else {
            let name = rest.strip_prefix(':')?;
            let length = word(name);
            (rest.get(..=length)?, Some(name.get(..length)?))
        };
        rest = rest.get(piece.len()..)?;
        Some((piece, name))
    })
}

/// Start of the next variable, or the length of the text.
fn next_variable(text: &str) -> usize {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(':')) {
        at += found;
        let rest = text.get(at..).unwrap_or_default();
        let colons = colons(rest);
        let begins = |letter: char| is_word(letter) && !letter.is_ascii_digit();
        if colons == 1 && rest.get(1..).is_some_and(|name| name.starts_with(begins)) {
            return at;
        }
        at += colons;
    }
    text.len()
}

fn colons(text: &str) -> usize {
    text.len() - text.trim_start_matches(':').len()
}

fn word(text: &str) -> usize {
    text.find(|letter| !is_word(letter)).unwrap_or(text.len())
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii()
}

fn line(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// Length of a quoted text; a doubled quote ends one and begins another.
fn quoted(text: &str, quote: &'static str, escapes: bool) -> Result<usize, Fault> {
    let mut at = 1;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if escapes && rest.starts_with('\\') {
            at += 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
        } else if rest.starts_with(quote) {
            return Ok(at + 1);
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    Err(Fault::Open(quote))
}

/// Comments nest in PostgreSQL.
fn comment(text: &str, flat: bool) -> Result<usize, Fault> {
    let (mut at, mut depth) = (2, 1);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("*/") {
            at += 2;
            depth -= 1;
            if depth == 0 {
                return Ok(at);
            }
        } else if rest.starts_with("/*") && !flat {
            at += 2;
            depth += 1;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    Err(Fault::Open("/*"))
}

/// `$$...$$`, `$tag$...$tag$`, `None` for another `$`.
fn dollar_quoted(text: &str) -> Result<Option<usize>, Fault> {
    let inner = text.get(1..).unwrap_or_default();
    let tag = word(inner);
    let is_tag = !inner.starts_with(|first: char| first.is_ascii_digit());
    if !is_tag || !inner.get(tag..).is_some_and(|rest| rest.starts_with('$')) {
        return Ok(None);
    }
    let (delimiter, body) = text.split_at(tag + 2);
    match body.find(delimiter) {
        Some(end) => Ok(Some(end + 2 * delimiter.len())),
        None => Err(Fault::Open("$")),
    }
}
