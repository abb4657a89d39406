//! Fingerprints: statements without their literals, so that equal work has one name and no value leaves memory.

use model::Fingerprint;
use std::collections::HashMap;
use std::sync::Arc;

/// What a double-quoted text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// A name (the SQL standard, PostgreSQL).
    Standard,
    /// A literal, and a backslash escapes inside literals (MySQL's default).
    Mysql,
}

/// Makes fingerprints and shares one allocation between equal ones.
///
/// Memory is bounded: past [`MAXIMUM_FINGERPRINTS`] different fingerprints further ones all get the name
/// [`OTHER_STATEMENTS`].
#[derive(Debug)]
pub struct Fingerprints {
    known: HashMap<Arc<str>, ()>,
    recent: Vec<Option<Recent>>,
    scratch: Vec<u8>,
}

/// A text seen lately and its fingerprint: saves normalising the same text again.
#[derive(Debug, Clone)]
struct Recent {
    hash: u64,
    length: usize,
    fingerprint: Fingerprint,
}

impl Default for Fingerprints {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            recent: vec![None; RECENT_TEXTS],
            scratch: Vec::new(),
        }
    }
}

impl Fingerprints {
    /// The fingerprint of an SQL text.
    pub fn sql(&mut self, text: &[u8], dialect: Dialect) -> Fingerprint {
        let hash = hash(text) ^ (dialect as u64);
        let slot = hash as usize % RECENT_TEXTS;
        if let Some(recent) = &self.recent[slot]
            && recent.hash == hash
            && recent.length == text.len()
        {
            return recent.fingerprint.clone();
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        normalise_sql(text, dialect, &mut scratch);
        let fingerprint = self.intern(&String::from_utf8_lossy(&scratch));
        self.scratch = scratch;
        self.recent[slot] = Some(Recent {
            hash,
            length: text.len(),
            fingerprint: fingerprint.clone(),
        });
        fingerprint
    }

    /// The fingerprint of an HTTP request: the method and the path, numbers in the path and all values of the query
    /// string replaced by `?`.
    pub fn http(&mut self, method: &[u8], target: &[u8]) -> Fingerprint {
        let text = normalise_http(&String::from_utf8_lossy(method), &String::from_utf8_lossy(target));
        self.intern(&text)
    }

    /// One shared allocation for equal texts.
    pub fn intern(&mut self, text: &str) -> Fingerprint {
        if let Some((known, ())) = self.known.get_key_value(text) {
            return known.clone();
        }
        if self.known.len() >= MAXIMUM_FINGERPRINTS && text != OTHER_STATEMENTS {
            return self.intern(OTHER_STATEMENTS);
        }
        let fingerprint: Fingerprint = Arc::from(text);
        self.known.insert(fingerprint.clone(), ());
        fingerprint
    }
}

/// Most different fingerprints kept in one run.
pub const MAXIMUM_FINGERPRINTS: usize = 20_000;

/// The name of all statements beyond [`MAXIMUM_FINGERPRINTS`].
pub const OTHER_STATEMENTS: &str = "(other statements)";

/// Longest fingerprint in bytes; longer ones end in `...`.
const MAXIMUM_LENGTH: usize = 2048;

const RECENT_TEXTS: usize = 256;

/// FNV-1a over 8 bytes at a time: only to find the same text again, never for security.
fn hash(text: &[u8]) -> u64 {
    let mut state = 0xcbf2_9ce4_8422_2325_u64;
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        state = (state ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state ^= state >> 29;
    }
    for &byte in chunks.remainder() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    state ^ (state >> 32)
}

/// Writes `text` without literals and comments, one blank between words, keywords in lower case.
///
/// 1. `'...'`, `$tag$...$tag$`, numbers, `x'..'`, `$1`, `:1` become `?`; in the MySQL dialect `"..."` too.
/// 2. A list of `?` in `in (...)` becomes `(?, ...)`; further rows of `values (...), (...)` become `...`.
/// 3. Names keep their case, keywords lose it.
fn normalise_sql(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) {
    out.clear();
    let mut normaliser = Normaliser {
        text,
        at: 0,
        dialect,
        out,
        pending_blank: false,
    };
    normaliser.run();
    while matches!(out.last(), Some(b' ' | b';')) {
        out.pop();
    }
}

struct Normaliser<'a> {
    text: &'a [u8],
    at: usize,
    dialect: Dialect,
    out: &'a mut Vec<u8>,
    pending_blank: bool,
}

impl Normaliser<'_> {
    fn run(&mut self) {
        while let Some(byte) = self.peek(0) {
            if self.out.len() > MAXIMUM_LENGTH {
                self.out.extend_from_slice(b"...");
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
                b'\'' => self.literal(byte, self.dialect == Dialect::Mysql),
                b'"' if self.dialect == Dialect::Mysql => self.literal(byte, true),
                b'"' | b'`' => self.quoted_name(byte),
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

    /// A sign belongs to the literal behind it when what stands before cannot be an operand.
    fn is_sign(&self) -> bool {
        self.peek(1).is_some_and(|next| next.is_ascii_digit())
            && self
                .out
                .iter()
                .rev()
                .find(|&&last| last != b' ')
                .is_none_or(|last| b"=<>(,*/%".contains(last))
    }

    fn skip_line(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
        self.pending_blank = true;
    }

    /// Comments nest in PostgreSQL and not in MySQL; an unfinished one ends with the text.
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

    fn literal(&mut self, quote: u8, backslash_escapes: bool) {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == b'\\' && backslash_escapes {
                self.at += 1;
            } else if byte == quote {
                if self.peek(0) == Some(quote) {
                    self.at += 1;
                } else {
                    break;
                }
            }
        }
        self.placeholder();
    }

    fn quoted_name(&mut self, quote: u8) {
        self.blank();
        self.out.push(quote);
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            self.out.push(byte);
            if byte == quote || self.out.len() > MAXIMUM_LENGTH {
                break;
            }
        }
    }

    /// `$1` is a parameter, `$tag$ ... $tag$` a literal; any other dollar stands for itself.
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
        // e'..', x'..', b'..', n'..', _utf8'..': the prefix belongs to the literal.
        if self.peek(0) == Some(b'\'') && is_literal_prefix(word) {
            let escapes = self.dialect == Dialect::Mysql || word.eq_ignore_ascii_case(b"e");
            self.literal(b'\'', escapes);
            return;
        }
        self.blank();
        if is_keyword(word) {
            self.out.extend(word.iter().map(u8::to_ascii_lowercase));
        } else {
            self.out.extend_from_slice(word);
        }
    }

    /// Writes a `?`, or nothing when it lengthens a list of them inside `in (...)`.
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

    /// Writes a `)`, and folds a row of VALUES into the row before it.
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

/// Where the parenthesis that the last byte closes was opened.
fn matching_open(out: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, &byte) in out.iter().enumerate().rev() {
        match byte {
            b')' => depth += 1,
            b'(' => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'@' || byte >= 0x80
}

/// `e`, `x`, `b`, `n`, or a MySQL character set such as `_utf8`.
fn is_literal_prefix(word: &[u8]) -> bool {
    matches!(word, [letter] if letter.is_ascii_alphabetic()) || word.first() == Some(&b'_')
}

/// Words whose case carries no meaning; enough of SQL that two spellings of one statement meet.
fn is_keyword(word: &[u8]) -> bool {
    (2..=LONGEST_KEYWORD).contains(&word.len()) && PACKED_KEYWORDS.binary_search(&packed(word)).is_ok()
}

/// A word of at most 16 letters as a number, in lower case: compared in one step.
const fn packed(word: &[u8]) -> u128 {
    let mut number = 0;
    let mut index = 0;
    while index < word.len() {
        number = number << 8 | word[index].to_ascii_lowercase() as u128;
        index += 1;
    }
    number
}

const LONGEST_KEYWORD: usize = 11;

/// Sorted, so that a word is found by halving.
static PACKED_KEYWORDS: [u128; KEYWORDS.len()] = sorted_keywords();

const fn sorted_keywords() -> [u128; KEYWORDS.len()] {
    let mut sorted = [0; KEYWORDS.len()];
    let mut count = 0;
    while count < KEYWORDS.len() {
        let keyword = packed(KEYWORDS[count].as_bytes());
        let mut place = count;
        while place > 0 && sorted[place - 1] > keyword {
            sorted[place] = sorted[place - 1];
            place -= 1;
        }
        sorted[place] = keyword;
        count += 1;
    }
    sorted
}

const KEYWORDS: &[&str] = &[
    "add",
    "all",
    "alter",
    "analyze",
    "and",
    "any",
    "as",
    "asc",
    "begin",
    "between",
    "by",
    "call",
    "cascade",
    "case",
    "check",
    "close",
    "column",
    "commit",
    "constraint",
    "copy",
    "count",
    "create",
    "cross",
    "current",
    "cursor",
    "database",
    "declare",
    "default",
    "delete",
    "desc",
    "distinct",
    "drop",
    "else",
    "end",
    "except",
    "execute",
    "exists",
    "explain",
    "fetch",
    "for",
    "foreign",
    "from",
    "full",
    "function",
    "grant",
    "group",
    "having",
    "if",
    "ignore",
    "ilike",
    "in",
    "index",
    "inner",
    "insert",
    "intersect",
    "into",
    "is",
    "join",
    "key",
    "left",
    "like",
    "limit",
    "lock",
    "max",
    "merge",
    "min",
    "natural",
    "next",
    "not",
    "null",
    "offset",
    "on",
    "or",
    "order",
    "outer",
    "over",
    "partition",
    "prepare",
    "primary",
    "references",
    "release",
    "replace",
    "returning",
    "revoke",
    "right",
    "rollback",
    "row",
    "rows",
    "savepoint",
    "select",
    "set",
    "show",
    "start",
    "sum",
    "table",
    "temporary",
    "then",
    "to",
    "transaction",
    "trigger",
    "truncate",
    "union",
    "unique",
    "update",
    "use",
    "using",
    "values",
    "view",
    "when",
    "where",
    "with",
    "work",
];

fn normalise_http(method: &str, target: &str) -> String {
    let (path, query) = target
        .split_once('?')
        .map_or((target, None), |(path, query)| (path, Some(query)));
    let mut out = String::with_capacity(method.len() + target.len() + 1);
    out.push_str(method);
    out.push(' ');
    for (index, part) in path.split('/').enumerate() {
        if index > 0 {
            out.push('/');
        }
        out.push_str(if is_identifier(part) { "?" } else { part });
    }
    for (index, pair) in query
        .unwrap_or_default()
        .split('&')
        .filter(|pair| !pair.is_empty())
        .enumerate()
    {
        out.push(if index == 0 { '?' } else { '&' });
        let (name, value) = pair
            .split_once('=')
            .map_or((pair, None), |(name, value)| (name, Some(value)));
        out.push_str(name);
        if value.is_some() {
            out.push_str("=?");
        }
    }
    if out.len() > MAXIMUM_LENGTH {
        let cut = (0..=MAXIMUM_LENGTH)
            .rev()
            .find(|&cut| out.is_char_boundary(cut))
            .unwrap_or(0);
        out.truncate(cut);
        out.push_str("...");
    }
    out
}

/// Whether a part of a path names one thing of many: a number, a hexadecimal key, a UUID.
fn is_identifier(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let hexadecimal = part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    !part.is_empty() && (digits == part.len() || (hexadecimal && part.len() >= 8 && digits >= 2))
}

#[cfg(test)]
mod tests;
