//! Removes the literals from SQL.

mod secret_columns;
mod secret_words;
mod words;

use super::keywords::is_keyword;
use super::{Dialect, MAXIMUM_LENGTH};
use words::{is_literal_prefix, is_numbered_parameter, is_own_quote, is_word, matching_open};

/// Writes `text` without literals and comments, with single blanks and keywords in lower case.
///
/// 1. `'...'`, `$tag$...$tag$`, numbers, `x'..'`, `$1`, `:1` become `?`; in the MySQL and Informix dialects
///    `"..."` too.
/// 2. A list of `?` in `in (...)` becomes `(?, ...)`; further rows of `values (...), (...)` become `...`.
///    Oracle's `q'[...]'` and `:name`, and `@P1` of SQL Server's drivers, become `?` in their dialects.
/// 3. Names keep their case, keywords lose it.
/// 4. The word after `identified by`, and `replace` after it, becomes `?`, as does each further one after a
///    comma (GRANT): Oracle's passwords are written as names. So does the word after `using`, `new` and
///    `confirm` of a CONNECT, and `using` of an `identified via`.
/// 5. So does a word after a secret's name (`where token=abc`, `password abc`), unless it refers to a column,
///    and one in a row under such a column: see [`Normaliser::begins_secret`].
/// 6. The value of a setting with a dot in its name (`set app.token = ...`) becomes `?`, with all that
///    follows.
/// 7. Whether a backslash escapes a quote is a server setting (`NO_BACKSLASH_ESCAPES`,
///    `standard_conforming_strings`). If it matters, the reading in which all literals end properly wins; if
///    both do or none, the rest of the text is not shown.
///
/// Returns false if a secret that is no literal was removed: texts that differ only in literals may
/// then have different fingerprints.
pub(super) fn normalise(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) -> bool {
    let usual = scan_statement(text, dialect, dialect == Dialect::Mysql, out);
    if let Some(doubt) = usual.doubt {
        let mut other = Vec::new();
        let unusual = scan_statement(text, dialect, dialect != Dialect::Mysql, &mut other);
        let is_uncut = text.len() < MIN_TRUNCATED_LEN;
        match (usual.is_whole, unusual.is_whole) {
            _ if *out == other => {}
            (true, false) if is_uncut => {}
            (false, true) if is_uncut => *out = other,
            _ => {
                out.truncate(doubt);
                out.extend_from_slice(b"...");
            }
        }
    }
    while matches!(out.last(), Some(b' ' | b';')) {
        out.pop();
    }
    !usual.has_secret
}

/// A text of this length may be cut, possibly inside a literal.
const MIN_TRUNCATED_LEN: usize = 4096;

/// A reading in which backslashes escape, or do not.
struct Reading {
    /// Output length when backslashes first mattered; `None` if they never did.
    doubt: Option<usize>,
    /// All literals ended outside words, and the text was read completely.
    is_whole: bool,
    has_secret: bool,
}

fn scan_statement(text: &[u8], dialect: Dialect, backslash_escapes: bool, out: &mut Vec<u8>) -> Reading {
    out.clear();
    let mut normaliser = Normaliser {
        text,
        at: 0,
        dialect,
        backslash_escapes,
        reading: Reading {
            doubt: None,
            is_whole: true,
            has_secret: false,
        },
        out,
        pending_blank: false,
        secret_columns: Vec::new(),
    };
    normaliser.run();
    normaliser.reading
}

struct Normaliser<'a> {
    text: &'a [u8],
    at: usize,
    dialect: Dialect,
    backslash_escapes: bool,
    reading: Reading,
    out: &'a mut Vec<u8>,
    pending_blank: bool,
    /// Empty if the rows that follow hold no secrets.
    secret_columns: Vec<bool>,
}

impl Normaliser<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            if self.out.len() > MAXIMUM_LENGTH {
                self.out.extend_from_slice(b"...");
                self.reading.is_whole = false;
                return;
            }
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c | 0 => {
                    self.at += 1;
                    self.pending_blank = true;
                }
                b'-' if self.peek(1) == Some(b'-') => self.skip_line(),
                b'#' if self.dialect == Dialect::Mysql => self.skip_line(),
                b'/' if self.peek(1) == Some(b'*') => self.skip_comment(),
                b'\'' => self.literal(byte, None),
                b'"' if matches!(self.dialect, Dialect::Mysql | Dialect::Informix) => {
                    self.literal(byte, None)
                }
                b'{' if self.dialect == Dialect::Informix => self.skip_braces(),
                _ if self.begins_secret(byte) => self.leave_out_secret(),
                b'"' | b'`' => self.quoted_name(byte),
                b'[' if self.dialect == Dialect::SqlServer => self.quoted_name(b']'),
                b':' if self.dialect == Dialect::Oracle && self.names_parameter() => self.parameter(),
                b'$' => self.dollar(),
                b'0'..=b'9' => self.number(),
                b'.' if self.peek(1).is_some_and(|next| next.is_ascii_digit()) && !self.after_word() => {
                    self.number()
                }
                b'-' | b'+' if self.is_sign() => self.at += 1,
                b'?' => {
                    self.at += 1;
                    self.placeholder();
                }
                _ if is_word(byte) => self.word(),
                b')' => self.close(),
                b',' => {
                    self.at += 1;
                    self.pending_blank = false;
                    self.out.extend_from_slice(b", ");
                }
                _ => {
                    self.blank();
                    self.out.push(byte);
                    self.at += 1;
                    if byte == b'=' {
                        self.note_columns();
                        self.leave_out_setting();
                    }
                    // Only a literal has a backslash.
                    self.reading.is_whole &= byte != b'\\';
                }
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn blank(&mut self) {
        if self.pending_blank && !matches!(self.out.last(), None | Some(b' ' | b'(')) {
            self.out.push(b' ');
        }
        self.pending_blank = false;
    }

    fn after_word(&self) -> bool {
        !self.pending_blank && self.out.last().is_some_and(|&last| is_word(last) || last == b')')
    }

    /// A sign belongs to the next literal unless an operand precedes it.
    fn is_sign(&self) -> bool {
        self.peek(1).is_some_and(|next| next.is_ascii_digit())
            && self
                .out
                .iter()
                .rev()
                .find(|&&last| last != b' ')
                .is_none_or(|last| b"=<>(,*/%+-".contains(last))
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
        self.pending_blank = true;
    }

    /// An unfinished comment ends with the text.
    fn skip_braces(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'}') {
            self.at += 1;
        }
        self.at += 1;
        self.pending_blank = true;
    }

    /// Comments nest in PostgreSQL, not in MySQL; an unfinished one ends with the text.
    fn skip_comment(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek(0) {
            let pair = (byte, self.peek(1));
            if pair == (b'/', Some(b'*')) && (depth == 0 || self.dialect == Dialect::Standard) {
                depth += 1;
                self.at += 2;
            } else if pair == (b'*', Some(b'/')) {
                depth -= 1;
                self.at += 2;
                if depth == 0 {
                    break;
                }
            } else {
                self.at += 1;
            }
        }
        self.pending_blank = true;
    }

    /// `escapes` is `None` if backslashes depend on a server setting.
    fn literal(&mut self, quote: u8, escapes: Option<bool>) {
        self.at += 1;
        let mut backslashes = 0_usize;
        let mut is_doubtful = false;
        let mut is_closed = false;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            let is_escaped = backslashes % 2 == 1;
            backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
            if byte != quote {
                continue;
            }
            is_doubtful |= is_escaped && escapes.is_none();
            if is_escaped && escapes.unwrap_or(self.backslash_escapes) {
                continue;
            }
            if self.peek(0) != Some(quote) {
                is_closed = true;
                break;
            }
            self.at += 1;
        }
        // A word directly after a literal is probably the rest of it.
        self.reading.is_whole &= is_closed && !self.peek(0).is_some_and(is_word);
        self.placeholder();
        if is_doubtful {
            self.reading.doubt.get_or_insert(self.out.len());
        }
    }

    /// Removes the value of a setting with a dot in its name, and all that follows.
    fn leave_out_setting(&mut self) {
        if self.names_own_setting() {
            self.at = self.text.len();
            self.out.push(b' ');
            self.placeholder();
        }
    }

    /// Whether the output ends in `set a.b =` or `set a.b to`, of a SET or ALTER.
    fn names_own_setting(&self) -> bool {
        let begin = self
            .out
            .iter()
            .rposition(|&byte| byte == b';')
            .map_or(0, |at| at + 1);
        let statement = self.out[begin..].trim_ascii();
        let mut words = statement
            .split(|byte| matches!(byte, b' ' | b'='))
            .filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default();
        if ![&b"set"[..], b"alter"].contains(&first) {
            return false;
        }
        let mut words = words.rev().filter(|word| !word.eq_ignore_ascii_case(b"to"));
        let (Some(name), before) = (words.next(), words.next()) else {
            return false;
        };
        let is_set = [&b"set"[..], b"local", b"session"]
            .contains(&before.unwrap_or(b"set").to_ascii_lowercase().as_slice());
        is_set && name.contains(&b'.') && !name.starts_with(b"@")
    }

    fn quoted_name(&mut self, quote: u8) {
        if self.expects_password() {
            self.reading.has_secret = true;
            self.literal(quote, Some(false));
            return;
        }
        self.blank();
        self.out.push(if quote == b']' { b'[' } else { quote });
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            self.out.push(byte);
            if byte == quote || self.out.len() > MAXIMUM_LENGTH {
                break;
            }
        }
    }

    /// `$1` is a parameter, `$tag$ ... $tag$` a literal; other dollars are copied.
    fn dollar(&mut self) {
        if self.peek(1).is_some_and(|next| next.is_ascii_digit()) {
            self.at += 1;
            self.number();
            return;
        }
        let rest = &self.text[self.at + 1..];
        let tag_length = rest
            .iter()
            .take_while(|&&byte| is_word(byte) && byte != b'$')
            .count();
        if rest.get(tag_length) != Some(&b'$') {
            self.blank();
            self.out.push(b'$');
            self.at += 1;
            return;
        }
        let tag = &self.text[self.at..self.at + tag_length + 2];
        let body = &self.text[self.at + tag.len()..];
        let end = body.windows(tag.len()).position(|window| window == tag);
        self.at += tag.len() + end.map_or(body.len(), |end| end + tag.len());
        self.placeholder();
    }

    fn number(&mut self) {
        while let Some(byte) = self.peek(0) {
            let exponent_sign = (byte == b'+' || byte == b'-')
                && self.at > 0
                && matches!(self.text[self.at - 1], b'e' | b'E')
                && self.peek(1).is_some_and(|next| next.is_ascii_digit());
            if !(byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_' || exponent_sign) {
                break;
            }
            self.at += 1;
        }
        self.placeholder();
    }

    fn word(&mut self) {
        let start = self.at;
        while self
            .peek(0)
            .is_some_and(|byte| is_word(byte) || byte.is_ascii_digit() || byte == b'$')
        {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        if self.dialect == Dialect::Oracle && self.peek(0) == Some(b'\'') && is_own_quote(word) {
            self.own_quoted();
            return;
        }
        if self.dialect == Dialect::SqlServer && is_numbered_parameter(word) {
            self.placeholder();
            return;
        }
        // e'..', x'..', b'..', n'..', _utf8'..': the prefix belongs to the literal.
        if self.peek(0) == Some(b'\'') && is_literal_prefix(word) {
            let escapes = word.eq_ignore_ascii_case(b"e") && self.dialect == Dialect::Standard;
            self.literal(b'\'', escapes.then_some(true));
            return;
        }
        self.blank();
        if is_keyword(word) {
            self.out.extend(word.iter().map(u8::to_ascii_lowercase));
        } else {
            self.out.extend_from_slice(word);
        }
        if word.eq_ignore_ascii_case(b"to") {
            self.leave_out_setting();
        } else if [&b"values"[..], b"value", b"in"]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(word))
        {
            self.note_columns();
        }
    }

    /// Whether a colon begins a parameter (`:1`, `:name`) and not an assignment.
    fn names_parameter(&self) -> bool {
        self.peek(1)
            .is_some_and(|next| is_word(next) || next.is_ascii_digit())
    }

    fn parameter(&mut self) {
        self.at += 1;
        while self
            .peek(0)
            .is_some_and(|byte| is_word(byte) || byte.is_ascii_digit() || matches!(byte, b'$' | b'#'))
        {
            self.at += 1;
        }
        self.placeholder();
    }

    /// A literal `q'[...]'`, up to its closing bracket and apostrophe.
    fn own_quoted(&mut self) {
        self.at += 1;
        let close = match self.peek(0) {
            Some(b'[') => b']',
            Some(b'{') => b'}',
            Some(b'(') => b')',
            Some(b'<') => b'>',
            Some(other) => other,
            None => return self.placeholder(),
        };
        self.at += 1;
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = rest.windows(2).position(|pair| pair == [close, b'\'']);
        self.at += end.map_or(rest.len(), |end| end + 2);
        self.placeholder();
    }

    /// Writes `?`, unless it extends a list inside `in (...)`.
    fn placeholder(&mut self) {
        self.blank();
        if self.out.ends_with(b"in (?, ...) ") || self.out.ends_with(b"in (?, ..., ") {
            self.out.truncate(self.out.len() - 2);
        } else if self.out.ends_with(b"in (?, ") {
            self.out.extend_from_slice(b"...");
        } else {
            self.out.push(b'?');
        }
    }

    /// Writes `)`, and folds a row of VALUES into the row before it.
    fn close(&mut self) {
        self.at += 1;
        self.pending_blank = false;
        while self.out.last() == Some(&b' ') {
            self.out.pop();
        }
        self.out.push(b')');
        let Some(open) = matching_open(self.out) else {
            return;
        };
        let row_length = self.out.len() - open;
        let Some(before) = open.checked_sub(2) else { return };
        if &self.out[before..open] != b", " {
            return;
        }
        let previous = &self.out[..before];
        let same_row = previous.len() >= row_length && previous.ends_with(&self.out[open..]);
        let folded = previous.ends_with(b"), ...");
        if same_row {
            self.out.truncate(before);
            self.out.extend_from_slice(b", ...");
        } else if folded && previous[..previous.len() - 5].ends_with(&self.out[open..]) {
            self.out.truncate(before);
        }
    }
}
