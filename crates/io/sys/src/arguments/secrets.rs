//! Finds secrets in arguments: passwords of targets, and values of flags and parameters named like
//! secrets.

use std::ops::Range;

/// Ranges of secrets in each argument, sorted and disjoint.
pub(super) fn of_arguments(arguments: &[&[u8]]) -> Vec<Vec<Range<usize>>> {
    let mut before: &[u8] = b"";
    let mut found = Vec::new();
    for argument in arguments {
        let mut secrets = of_argument(argument);
        if takes_secret(before) {
            secrets.push(0..argument.len());
        }
        merge(&mut secrets);
        found.push(secrets);
        before = argument;
    }
    found
}

/// Secrets that are recognised without the arguments around it: of URLs (`://user:password@`,
/// Oracle's `:user/password@`), and of named parameters.
pub(super) fn of_argument(argument: &[u8]) -> Vec<Range<usize>> {
    let mut found = named(argument);
    found.extend(userinfo(argument));
    merge(&mut found);
    found
}

/// Literals of each argument: in SQL, with passwords of `create user`, and the values of `load`'s
/// variables. None with `--keep-literals`.
pub(super) fn literals_of_arguments(arguments: &[&[u8]]) -> Vec<Vec<Range<usize>>> {
    let mut own = arguments.iter().take_while(|argument| **argument != b"--");
    if own.any(|argument| *argument == b"--keep-literals") {
        return vec![Vec::new(); arguments.len()];
    }
    let mut before: &[u8] = b"";
    let mut found = Vec::new();
    for argument in arguments {
        found.push(literals(before, argument));
        before = argument;
    }
    found
}

fn literals(before: &[u8], argument: &[u8]) -> Vec<Range<usize>> {
    if let Some(definition) = definition(before, argument) {
        let equals = definition.iter().position(|byte| *byte == b'=');
        let value = equals.map(|at| argument.len() - definition.len() + at + 1..argument.len());
        return value.into_iter().collect();
    }
    let is_statement = STATEMENT_FLAGS
        .iter()
        .any(|flag| flag_value(flag, before, argument).is_some());
    let lower = argument.to_ascii_lowercase();
    if !is_statement && !SQL_VERBS.iter().any(|verb| contains_word(&lower, verb)) {
        return Vec::new();
    }
    let mut found = quoted(argument);
    for at in positions(&lower, b"identified by ") {
        let begin = at + b"identified by ".len();
        found.push(value(argument, begin, Until::Delimiter));
    }
    // A file's name has no blank.
    if is_statement || argument.contains(&b' ') {
        found.extend(numbers(argument));
    }
    merge(&mut found);
    found
}

const STATEMENT_FLAGS: [&[u8]; 2] = [b"--statement", b"--sql"];

/// The argument, or its part behind `=`.
fn flag_value<'a>(flag: &[u8], before: &[u8], argument: &'a [u8]) -> Option<&'a [u8]> {
    if before == flag {
        return Some(argument);
    }
    argument.strip_prefix(flag)?.strip_prefix(b"=")
}

/// `NAME=VALUE` of `-D` or `--define`.
fn definition<'a>(before: &[u8], argument: &'a [u8]) -> Option<&'a [u8]> {
    if let Some(value) = flag_value(b"--define", before, argument) {
        return Some(value);
    }
    if after_short_define(before).is_some_and(<[u8]>::is_empty) {
        return Some(argument);
    }
    let attached = after_short_define(argument).filter(|attached| !attached.is_empty())?;
    attached.strip_prefix(b"=").or(Some(attached))
}

/// `-D` may follow switches in one argument: `-SDid=5`.
fn after_short_define(argument: &[u8]) -> Option<&[u8]> {
    let letters = argument.strip_prefix(b"-")?;
    let switches = letters.iter().take_while(|letter| LOAD_SWITCHES.contains(letter));
    letters[switches.count()..].strip_prefix(b"D")
}

/// Short flags of `load` without a value.
const LOAD_SWITCHES: &[u8] = b"iSNCrq";

fn quoted(statement: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open = None;
    for at in (0..statement.len()).filter(|at| statement[*at] == b'\'') {
        match open.take() {
            Some(begin) => found.push(begin..at),
            None => open = Some(at + 1),
        }
    }
    found.extend(open.map(|begin| begin..statement.len()));
    found
}

/// Digits that begin neither within a name nor within another number.
fn numbers(statement: &[u8]) -> Vec<Range<usize>> {
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || b"_$.".contains(&byte);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut is_within = false;
    for (at, &byte) in statement.iter().enumerate() {
        if byte.is_ascii_digit() && !is_within {
            found.push(
                at..statement[at..]
                    .iter()
                    .position(|&next| !belongs(next))
                    .map_or(statement.len(), |end| at + end),
            );
        }
        is_within = belongs(byte);
    }
    found
}

/// Whether the next argument is a secret: `--password`, `-token`.
fn takes_secret(flag: &[u8]) -> bool {
    let Some(name) = flag.strip_prefix(b"-") else {
        return [&b"masterauth"[..], b"requirepass"].contains(&flag);
    };
    let name = name.strip_prefix(b"-").unwrap_or(name);
    let is_switch = SWITCHES.iter().any(|switch| name.starts_with(switch));
    !is_switch && is_secret_name(name)
}

/// Beginnings of flags without a value.
const SWITCHES: [&[u8]; 3] = [b"no-", b"allow-", b"enable-"];

/// Values of `password=`, `"token": `, `Authorization:` and the like.
fn named(argument: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in (0..argument.len()).filter(|at| b"=:".contains(&argument[*at])) {
        if found.last().is_some_and(|last| last.contains(&at)) {
            continue;
        }
        let name = name_before(&argument[..at]);
        let until = match last_part(name).as_slice() {
            b"authorization" | b"cookie" => Until::Quote,
            _ if is_secret_name(name) => Until::Delimiter,
            _ => continue,
        };
        let range = value(argument, at + 1, until);
        if !range.is_empty() && !argument[at..].starts_with(b"://") {
            found.push(range);
        }
    }
    found
}

fn name_before(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_end();
    let text = text
        .strip_suffix(b"\"")
        .or(text.strip_suffix(b"'"))
        .unwrap_or(text);
    let is_of_names = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let length = text.iter().rev().take_while(|byte| is_of_names(byte)).count();
    &text[text.len() - length..]
}

fn last_part(name: &[u8]) -> Vec<u8> {
    let part = name.rsplit(|byte| b"_-.".contains(byte)).next();
    part.unwrap_or_default().to_ascii_lowercase()
}

fn is_secret_name(name: &[u8]) -> bool {
    let part = last_part(name);
    if SECRET_PARTS.contains(&part.as_slice()) {
        return true;
    }
    let mut letters = name.to_ascii_lowercase();
    letters.retain(u8::is_ascii_alphanumeric);
    SECRET_NAMES.iter().any(|secret| letters.ends_with(secret))
}

const SECRET_NAMES: [&[u8]; 13] = [
    b"password",
    b"passwd",
    b"passphrase",
    b"pwd",
    b"secret",
    b"token",
    b"apikey",
    b"accesskey",
    b"secretkey",
    b"privatekey",
    b"credential",
    b"credentials",
    b"signature",
];

/// Parts of names after the last `-`, `_` or `.`.
const SECRET_PARTS: [&[u8]; 5] = [b"pass", b"auth", b"sig", b"psk", b"pw"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The end of the parameter.
    Delimiter,
    /// A quote or the end of the line, since the value has spaces.
    Quote,
}

/// The range of the value after `from`, without its quotes.
fn value(argument: &[u8], from: usize, until: Until) -> Range<usize> {
    let blank = argument[from..].iter().take_while(|byte| **byte == b' ').count();
    let begin = from + blank;
    let (begin, close) = match argument.get(begin) {
        Some(quote) if QUOTES.contains(quote) => (begin + 1, Some(*quote)),
        Some(b'{') => (begin + 1, Some(b'}')),
        _ => (begin, None),
    };
    let ends = |byte: u8| match (close, until) {
        (Some(close), _) => byte == close,
        (None, Until::Delimiter) => b"&;) \n\t".contains(&byte),
        (None, Until::Quote) => b"\"'\n".contains(&byte),
    };
    let mut at = begin;
    while let Some(byte) = argument.get(at) {
        match *byte {
            b'\\' => at += 2,
            byte if ends(byte) => break,
            _ => at += 1,
        }
    }
    begin..at.min(argument.len())
}

/// Of each URL. With an unescaped `@` or `/` in a password, the range extends to the last `@`.
fn userinfo(argument: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (number, at) in positions(argument, b"://").enumerate() {
        if number == MAX_URLS {
            found.push(at..argument.len());
            break;
        }
        let url = at + 3..end_of_url(argument, at + 3);
        let scheme = name_before(&argument[..at]);
        found.extend(match scheme.starts_with(b"http") {
            true => of_web(argument, url),
            false => of_login(argument, url.clone(), b':').or_else(|| match scheme {
                b"oracle" => of_login(argument, url, b'/'),
                _ => None,
            }),
        });
    }
    for driver in [&b":thin:"[..], b":oci:"] {
        let begins = positions(argument, driver).map(|at| at + driver.len());
        found.extend(begins.filter_map(|begin| of_login(argument, begin..argument.len(), b'/')));
    }
    found
}

/// Of an argument; all behind them is masked.
const MAX_URLS: usize = 100;

/// Where another URL begins behind a space or a quote.
fn end_of_url(argument: &[u8], from: usize) -> usize {
    let schemes = positions(&argument[from..], b"://").map(|at| {
        let scheme = name_before(&argument[from..from + at]);
        from + at - scheme.len()
    });
    let mut apart =
        schemes.filter(|at| argument[at - 1].is_ascii_whitespace() || QUOTES.contains(&argument[at - 1]));
    apart.next().unwrap_or(argument.len())
}

fn of_login(argument: &[u8], within: Range<usize>, separator: u8) -> Option<Range<usize>> {
    let text = &argument[within.clone()];
    let at = text.iter().rposition(|byte| *byte == b'@')?;
    let colon = text[..at].iter().position(|byte| *byte == separator)?;
    (colon + 1 < at).then_some(within.start + colon + 1..within.start + at)
}

/// All before `@`, which may be a token alone. A path may have an `@` too, behind a port.
fn of_web(argument: &[u8], within: Range<usize>) -> Option<Range<usize>> {
    let text = &argument[within.clone()];
    let authority = text.split(|byte| b"/?# \"'".contains(byte)).next()?;
    let begin = within.start;
    if let Some(at) = authority.iter().rposition(|byte| *byte == b'@') {
        let user = authority[..at].iter().position(|byte| *byte == b':');
        let from = user.filter(|colon| colon + 1 < at).map_or(0, |colon| colon + 1);
        return (from < at).then_some(begin + from..begin + at);
    }
    let colon = authority.iter().position(|byte| *byte == b':')?;
    let port = &authority[colon + 1..];
    let is_port = !port.is_empty() && port.iter().all(u8::is_ascii_digit);
    let at = text.iter().rposition(|byte| *byte == b'@')?;
    (!is_port && !authority.starts_with(b"[")).then_some(begin + colon + 1..begin + at)
}

pub(super) fn merge(ranges: &mut Vec<Range<usize>>) {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    ranges.dedup_by(|next, kept| {
        let meets = next.start <= kept.end;
        if meets {
            kept.end = kept.end.max(next.end);
        }
        meets
    });
}

fn positions<'a>(text: &'a [u8], what: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let windows = text.windows(what.len()).enumerate();
    windows
        .filter(move |(_, window)| *window == what)
        .map(|(at, _)| at)
}

fn contains_word(text: &[u8], word: &[u8]) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    positions(text, word).any(|at| {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        is_edge(before) && text.get(at + word.len()).is_some_and(u8::is_ascii_whitespace)
    })
}

const QUOTES: &[u8] = b"'\"";
const SQL_VERBS: [&[u8]; 15] = [
    b"select", b"insert", b"update", b"delete", b"merge", b"replace", b"call", b"exec", b"execute", b"with",
    b"set", b"create", b"alter", b"copy", b"values",
];
