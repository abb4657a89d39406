//! Passwords, tokens and keys written as words instead of literals.

mod lists;

use super::super::keywords::is_keyword;
use super::super::secrets::is_secret_name;
use super::words::{
    contains, ends_with, is_form_of_password, is_literal_prefix, is_own_quote, is_word, last_word,
    matching_open,
};
use super::{Dialect, Normaliser};
use lists::{
    CLAUSES, CLAUSES_OF_NAMES, COUNTING, DEFINED, DEFINING, OPERATORS, ROWS, WORDS_BEFORE_NAMES,
    WORDS_BEHIND_NAMES,
};

impl Normaliser<'_> {
    /// Whether a secret begins here that is neither literal nor placeholder.
    ///
    /// 1. After `identified by` and similar, any word.
    /// 2. After a secret's name and an operator, as a sign or a word (`token=`, `api_key := `, `password:`,
    ///    `token like`, `key in (`, `= any(`).
    /// 3. After a secret's name alone, where SQL allows no word (`password abc`): see
    ///    [`Normaliser::follows_secret_name`].
    /// 4. In a row under a secret column: see [`Normaliser::is_in_secret_column`].
    ///
    /// For 2 to 4, these are not secrets: keywords, function calls, columns of a table named before
    /// (`a.key = b.id`), the column itself (`set key = key + 1`), and numbers, unless more follows
    /// (`6f9619ff-8b86`).
    pub(super) fn begins_secret(&self, byte: u8) -> bool {
        if matches!(byte, b'?' | b')' | b',' | b';') {
            return false;
        }
        if self.expects_password() {
            let is_form = is_word(byte) && is_form_of_password(self.next_word());
            return byte != b'=' && !is_form && self.closing_quote(byte).is_none();
        }
        let is_of_operator = matches!(byte, b'=' | b'<' | b'>' | b'!' | b'~' | b':' | b'(')
            || (byte == b'[' && self.closing_quote(byte).is_none());
        !is_of_operator
            && (self.expects_value_of_secret()
                || self.follows_secret_name(byte)
                || self.is_in_secret_column(byte))
            && !self.is_plain_value(byte)
    }

    pub(super) fn leave_out_secret(&mut self) {
        self.reading.has_secret = true;
        if let Some(quote) = self.peek(0).and_then(|byte| self.closing_quote(byte)) {
            self.literal(quote, Some(false));
            return;
        }
        let is_password = self.expects_password();
        let first = self.next_word();
        let is_scheme = [&b"bearer"[..], b"basic", b"digest"]
            .iter()
            .any(|scheme| scheme.eq_ignore_ascii_case(first));
        self.skip_secret(is_password);
        if is_scheme {
            while self.peek(0).is_some_and(|byte| byte.is_ascii_whitespace()) {
                self.at += 1;
            }
            self.skip_secret(is_password);
        }
        self.placeholder();
    }

    /// Skips signs that a server refuses in a name but users write in passwords. Outside passwords
    /// a quote begins a literal.
    fn skip_secret(&mut self, is_password: bool) {
        while let Some(byte) = self.peek(0) {
            let ends_list = byte == b']' && self.out.contains(&b'[');
            let is_quote = !is_password && (matches!(byte, b'\'' | b'"') || ends_list);
            if byte.is_ascii_whitespace() || matches!(byte, b';' | b',' | b')') || is_quote {
                return;
            }
            // Only a literal has a backslash.
            self.reading.is_whole &= byte != b'\\' || is_password;
            self.at += 1;
        }
    }

    /// Whether the output ends in a secret's name and an operator that expects a value.
    fn expects_value_of_secret(&self) -> bool {
        self.name_before_value().is_some_and(is_secret_name)
    }

    fn name_before_value(&self) -> Option<&[u8]> {
        let out = before_list(self.out)?;
        let is_set = self.begins_with(b"set");
        let mut name = out;
        while let Some(before) = without_operator_word(name, is_set) {
            name = before;
        }
        let has_word = name.len() < out.len();
        let is_sign = |byte| matches!(byte, b'=' | b'<' | b'>' | b'!' | b'~' | b':');
        let (name, sign) = name.split_at(end_without(name, is_sign));
        if (sign.is_empty() && !has_word) || sign == b"::" {
            return None;
        }
        Some(match self.begins_with(b"set password for") {
            true => b"password",
            false => name_of_operand(name.trim_ascii_end()),
        })
    }

    /// Whether a word directly follows a secret's name: `password abc`, as in `alter role a
    /// password abc` or `where token abc`.
    ///
    /// False where SQL allows a word: after a table's or procedure's name, an alias in a select or
    /// sort list, or in a declaration.
    fn follows_secret_name(&self, byte: u8) -> bool {
        let is_of_value = is_word(byte) || byte.is_ascii_digit() || matches!(byte, b'"' | b'`' | b'$');
        if !is_of_value || !self.pending_blank || is_in(&WORDS_BEHIND_NAMES, self.next_word()) {
            return false;
        }
        let name = last_name(self.out);
        if !is_secret_name(name) {
            return false;
        }
        let statement = self.statement();
        let before = &statement[..statement.len().saturating_sub(name.len())];
        let mut words = before
            .rsplit(|byte| !(is_word(*byte) || byte.is_ascii_digit()))
            .filter(|word| !word.is_empty());
        let clause = words
            .clone()
            .find(|word| is_in(&CLAUSES, word) || is_in(&CLAUSES_OF_NAMES, word));
        let has_options = [&b"copy"[..], b"unload"]
            .iter()
            .any(|word| self.begins_with(word));
        let is_of_encryption = ends_with(before.trim_ascii_end(), b"cryption by");
        let is_of_name = (!has_options
            && !is_of_encryption
            && clause.is_some_and(|clause| is_in(&CLAUSES_OF_NAMES, clause)))
            || words.next().is_some_and(|word| is_in(&WORDS_BEFORE_NAMES, word));
        let defines = DEFINING.iter().any(|word| self.begins_with(word))
            && DEFINED.iter().any(|word| has_word(before, word.as_bytes()));
        !is_of_name && !defines && !self.begins_with(b"declare")
    }

    fn is_plain_value(&self, byte: u8) -> bool {
        let rest = &self.text[self.at..];
        if byte == b'$' {
            return rest.get(1).is_some_and(u8::is_ascii_digit) || self.is_dollar_quoted();
        }
        if byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+') {
            return self.is_whole_number();
        }
        let word = self.next_word();
        let behind = rest.get(word.len()..).unwrap_or_default();
        let is_literal = behind.first() == Some(&b'\'') && (is_literal_prefix(word) || is_own_quote(word));
        let is_call = !word.is_empty() && behind.trim_ascii_start().first() == Some(&b'(');
        is_literal || is_call || is_keyword(word) || is_in(&OPERATORS, word) || self.is_column()
    }

    fn is_dollar_quoted(&self) -> bool {
        let rest = &self.text[self.at + 1..];
        let tag = rest
            .iter()
            .take_while(|&&byte| is_word(byte) && byte != b'$')
            .count();
        rest.get(tag) == Some(&b'$')
    }

    /// Whether digits begin here without further signs of a secret.
    fn is_whole_number(&self) -> bool {
        let rest = &self.text[self.at..];
        let sign = usize::from(matches!(rest.first(), Some(b'-' | b'+')));
        let is_of_number = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_');
        let digits = rest[sign..].iter().take_while(is_of_number).count();
        let begins = rest
            .get(sign)
            .is_some_and(|byte| byte.is_ascii_digit() || *byte == b'.');
        begins
            && rest
                .get(sign + digits)
                .is_none_or(|byte| !b"-+!#$%&^@\\|~".contains(byte))
    }

    /// Whether a column name begins here: with a table named before, or the same as before (`set
    /// key = key + 1`).
    fn is_column(&self) -> bool {
        let rest = &self.text[self.at..];
        let is_of_name = |byte: &&u8| {
            is_word(**byte) || byte.is_ascii_digit() || matches!(byte, b'.' | b'"' | b'`' | b'[' | b']')
        };
        let length = rest.iter().take_while(is_of_name).count();
        let is_whole = rest
            .get(length)
            .is_none_or(|byte| byte.is_ascii_whitespace() || b"),;=<>!:+*/|".contains(byte));
        let mut parts = rest[..length].rsplit(|byte| *byte == b'.').map(unquoted);
        let (Some(name), table) = (parts.next(), parts.next()) else {
            return false;
        };
        let is_known = table
            .is_some_and(|table| is_in(&ROWS, table) || (!table.is_empty() && has_word(self.out, table)));
        let is_itself = table.is_none()
            && self
                .name_before_value()
                .is_some_and(|before| unquoted(before).eq_ignore_ascii_case(name));
        is_whole && (is_known || is_itself)
    }

    fn closing_quote(&self, byte: u8) -> Option<u8> {
        match byte {
            b'"' | b'`' => Some(byte),
            b'[' => (self.dialect == Dialect::SqlServer).then_some(b']'),
            _ => None,
        }
    }

    fn next_word(&self) -> &[u8] {
        let rest = &self.text[self.at..];
        let length = rest
            .iter()
            .take_while(|&&byte| is_word(byte) || byte.is_ascii_digit() || byte == b'$')
            .count();
        &rest[..length]
    }

    pub(super) fn expects_password(&self) -> bool {
        let mut out = self.out.trim_ascii_end();
        while let Some(before) = out.strip_suffix(b"=") {
            out = before.trim_ascii_end();
        }
        // Further ones of a GRANT to several.
        while let Some(before) = out.strip_suffix(b"?,") {
            out = before.trim_ascii_end();
        }
        match last_word(out) {
            word if word.eq_ignore_ascii_case(b"by") => ends_with(out, b"identified by"),
            word if word.eq_ignore_ascii_case(b"replace") => {
                ends_with(out[..out.len() - word.len()].trim_ascii_end(), b"identified by ?")
            }
            word if word.eq_ignore_ascii_case(b"using") => {
                self.begins_with(b"connect") || contains(out, b"identified")
            }
            word if word.eq_ignore_ascii_case(b"new") || word.eq_ignore_ascii_case(b"confirm") => {
                self.begins_with(b"connect")
            }
            _ => false,
        }
    }

    fn begins_with(&self, word: &[u8]) -> bool {
        let statement = self.statement();
        statement.len() >= word.len() && statement[..word.len()].eq_ignore_ascii_case(word)
    }

    fn statement(&self) -> &[u8] {
        let begin = self
            .out
            .iter()
            .rposition(|&byte| byte == b';')
            .map_or(0, |at| at + 1);
        self.out[begin..].trim_ascii_start()
    }
}

fn end_without(text: &[u8], skipped: impl Fn(u8) -> bool) -> usize {
    let last = text.iter().rposition(|byte| !skipped(*byte));
    last.map_or(0, |at| at + 1)
}

fn last_name(text: &[u8]) -> &[u8] {
    let is_of_name =
        |byte| is_word(byte) || byte.is_ascii_digit() || matches!(byte, b'"' | b'`' | b']' | b'-');
    &text[end_without(text, is_of_name)..]
}

/// The name in `name`, `name::text`, `a name collate b`; in a call (`lower(name)`), the secret's
/// name, otherwise the last.
fn name_of_operand(operand: &[u8]) -> &[u8] {
    let uncast = operand.windows(2).rposition(|pair| pair == b"::");
    let uncast = uncast.filter(|at| {
        operand[at + 2..]
            .iter()
            .all(|byte| is_word(*byte) || byte.is_ascii_digit())
    });
    let operand = &operand[..uncast.unwrap_or(operand.len())];
    let name = last_name(operand);
    let before = operand[..operand.len() - name.len()].trim_ascii_end();
    if ends_with(before, b" collate") {
        return last_name(before[..before.len() - b"collate".len()].trim_ascii_end());
    }
    let call = operand.ends_with(b")").then(|| matching_open(operand)).flatten();
    let is_of_text = |open: &usize| {
        let function = last_name(&operand[..*open]);
        function.len() > 1 && !is_in(&COUNTING, function)
    };
    let Some(open) = call.filter(is_of_text) else {
        return name;
    };
    let mut names = operand[open..].split(|byte| matches!(byte, b' ' | b',' | b'(' | b')'));
    names.find(|name| is_secret_name(name)).unwrap_or_default()
}

/// The text before the list that contains the next value, or before the value. `None` after a comma
/// outside a list.
fn before_list(out: &[u8]) -> Option<&[u8]> {
    let is_open = |byte| matches!(byte, b' ' | b'(' | b'[');
    let mut list = out.trim_ascii_end();
    while let Some(values) = list.strip_suffix(b",") {
        list = values
            .strip_suffix(b"?")
            .or_else(|| values.strip_suffix(b"..."))?
            .trim_ascii_end();
        if !list.ends_with(b",") && !list.ends_with(b"(") && !list.ends_with(b"[") {
            return None;
        }
    }
    let mut before = list;
    loop {
        let opened = &before[..end_without(before, is_open)];
        // Arguments of a call belong to a value too.
        let function = last_name(opened);
        let is_call =
            before[opened.len()..].starts_with(b"(") && !function.is_empty() && !is_in(&OPERATORS, function);
        if !is_call {
            return Some(opened);
        }
        before = &opened[..opened.len() - function.len()];
    }
}

/// Removes a trailing operator. `set password to` has one more than other statements.
fn without_operator_word(text: &[u8], is_set: bool) -> Option<&[u8]> {
    let text = &text[..end_without(text, |byte| matches!(byte, b' ' | b'('))];
    let longer = [&b"distinct from"[..], b"similar to", b"between ? and"];
    let set = is_set.then_some(&b"to"[..]);
    let operator = longer
        .into_iter()
        .chain(set)
        .find(|operator| ends_with(text, operator));
    let word = last_word(text);
    let operator = operator.or(is_in(&OPERATORS, word).then_some(word))?;
    let before = &text[..text.len() - operator.len()];
    let is_apart = before
        .last()
        .is_some_and(|byte| !is_word(*byte) && !byte.is_ascii_digit() && *byte != b'.');
    is_apart.then_some(before.trim_ascii_end())
}

fn is_in(words: &[&str], word: &[u8]) -> bool {
    words
        .iter()
        .any(|known| known.as_bytes().eq_ignore_ascii_case(word))
}

fn unquoted(name: &[u8]) -> &[u8] {
    let is_quote = |byte: &u8| matches!(byte, b'"' | b'`' | b'[' | b']');
    let from = name.iter().take_while(|byte| is_quote(byte)).count();
    let behind = name[from..]
        .iter()
        .rev()
        .take_while(|byte| is_quote(byte))
        .count();
    &name[from..name.len() - behind]
}

fn has_word(text: &[u8], word: &[u8]) -> bool {
    let is_letter = |at: usize| {
        text.get(at)
            .is_some_and(|byte| is_word(*byte) || byte.is_ascii_digit())
    };
    text.windows(word.len()).enumerate().any(|(at, found)| {
        found.eq_ignore_ascii_case(word) && !is_letter(at.wrapping_sub(1)) && !is_letter(at + word.len())
    })
}
