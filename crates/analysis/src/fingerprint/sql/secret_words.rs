//! Passwords, tokens and keys that are written as words, where a literal would be expected.

use super::super::keywords::is_keyword;
use super::super::secrets::is_secret_name;
use super::{
    Dialect, Normaliser, contains, ends_with, is_form_of_password, is_literal_prefix, is_own_quote, is_word,
    last_word,
};

impl Normaliser<'_> {
    /// Whether a secret begins here that is no literal, and no placeholder.
    ///
    /// 1. Behind `identified by` and its like, whatever is there.
    /// 2. Behind a name of a secret and an operator (`token=`, `api_key := `, `password:`), but for keywords, calls of functions, and names of columns: those with
    ///    a table that the statement named before (`a.key = b.id`), and the column itself (`set key = key + 1`).
    /// 3. A number is none, unless it is only the beginning (`6f9619ff-8b86`).
    pub(super) fn begins_secret(&self, byte: u8) -> bool {
        if matches!(byte, b'?' | b')' | b',' | b';') {
            return false;
        }
        if self.expects_password() {
            let is_form = is_word(byte) && is_form_of_password(self.next_word());
            return byte != b'=' && !is_form && self.closing_quote(byte).is_none();
        }
        let is_of_operator = matches!(byte, b'=' | b'<' | b'>' | b'!' | b'~' | b':' | b'(');
        !is_of_operator && self.expects_value_of_secret() && !self.is_plain_value(byte)
    }

    /// Writes a `?` for it.
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

    /// Skips what a server would refuse in a name and a hasty user writes in a password. Outside of passwords a quote begins a literal.
    fn skip_secret(&mut self, is_password: bool) {
        while let Some(byte) = self.peek(0) {
            let is_quote = !is_password && matches!(byte, b'\'' | b'"');
            if byte.is_ascii_whitespace() || matches!(byte, b';' | b',' | b')') || is_quote {
                return;
            }
            // Only a literal has one.
            self.reading.is_whole &= byte != b'\\' || is_password;
            self.at += 1;
        }
    }

    /// Whether what was written ends in a name of a secret and an operator behind which a value is expected.
    fn expects_value_of_secret(&self) -> bool {
        self.name_before_value().is_some_and(is_secret_name)
    }

    /// The name that what was written ends in, with an operator behind it.
    fn name_before_value(&self) -> Option<&[u8]> {
        let behind = |text: &[u8], skipped: fn(u8) -> bool| {
            let last = text.iter().rposition(|byte| !skipped(*byte));
            last.map_or(0, |at| at + 1)
        };
        let out = &self.out[..behind(self.out, |byte| matches!(byte, b' ' | b'('))];
        let is_sign = |byte| matches!(byte, b'=' | b'<' | b'>' | b'!' | b'~' | b':');
        let (name, sign) = out.split_at(behind(out, is_sign));
        if sign.is_empty() || sign == b"::" {
            return None;
        }
        let name = name.trim_ascii_end();
        let is_of_name =
            |byte| is_word(byte) || byte.is_ascii_digit() || matches!(byte, b'"' | b'`' | b']' | b'-');
        Some(&name[behind(name, is_of_name)..])
    }

    /// Whether the value behind the name of a secret is none that the statement's text gives away.
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
        is_literal || is_call || is_keyword(word) || self.is_column()
    }

    /// Whether `$tag$` begins here.
    fn is_dollar_quoted(&self) -> bool {
        let rest = &self.text[self.at + 1..];
        let tag = rest
            .iter()
            .take_while(|&&byte| is_word(byte) && byte != b'$')
            .count();
        rest.get(tag) == Some(&b'$')
    }

    /// Whether digits begin here behind which no other signs of a secret follow.
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

    /// Whether a name of a column begins here: with a table named before, or the same as before (`set key = key + 1`).
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
        let is_known = table.is_some_and(|table| !table.is_empty() && has_word(self.out, table));
        let is_itself = table.is_none()
            && self
                .name_before_value()
                .is_some_and(|before| unquoted(before).eq_ignore_ascii_case(name));
        is_whole && (is_known || is_itself)
    }

    /// The quote that ends a name that begins with this one.
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

    /// Whether a password written as a name comes next.
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

    /// Whether the statement under way begins with a word.
    fn begins_with(&self, word: &[u8]) -> bool {
        let begin = self
            .out
            .iter()
            .rposition(|&byte| byte == b';')
            .map_or(0, |at| at + 1);
        let statement = self.out[begin..].trim_ascii_start();
        statement.len() >= word.len() && statement[..word.len()].eq_ignore_ascii_case(word)
    }
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

/// Whether a text holds a word, in either case, with no letters around it.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    let is_letter = |at: usize| {
        text.get(at)
            .is_some_and(|byte| is_word(*byte) || byte.is_ascii_digit())
    };
    text.windows(word.len()).enumerate().any(|(at, found)| {
        found.eq_ignore_ascii_case(word) && !is_letter(at.wrapping_sub(1)) && !is_letter(at + word.len())
    })
}
