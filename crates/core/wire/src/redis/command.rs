//! Commands of requests, and their text without secrets.

use super::resp;
use super::subcommands;
use super::value::{Value, Values};

/// Effect of a command on replies.
///
/// Each command has one reply, except `Subscribe` (one confirmation per channel), `UnsubscribeAll`
/// (one per subscribed channel, at least one), `RepliesOff`, `RepliesSkip` (this one and the next)
/// and `Empty`. `Hello` and `Info` may contain the server's version. `Monitor` also sends a line
/// for every command of every client, and `Replicate` a stream without replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Login,
    Hello,
    Info,
    Quit,
    Subscribe { channels: u64 },
    UnsubscribeAll { what: Subscription },
    Monitor,
    Reset,
    Replicate,
    RepliesOn,
    RepliesOff,
    RepliesSkip,
    Empty,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subscription {
    Channel,
    Pattern,
    Shard,
}

/// Reads the first bytes of a request and writes its text: the command's words in capitals,
/// arguments quoted as in `redis-cli`. Long arguments are cut, secrets are `***`.
pub(super) fn parse_command(kept: &[u8], text: &mut Vec<u8>) -> Kind {
    text.clear();
    let mut arguments = Arguments::new(kept);
    let Some(name) = arguments.next() else {
        return Kind::Empty;
    };
    if !word(name, text) {
        return Kind::Plain;
    }
    if let Some(second) = arguments.clone().next()
        && subcommands::belongs_to(text, second)
    {
        text.push(b' ');
        word(second, text);
        arguments.next();
    }
    if matches!(text.as_slice(), b"XREAD" | b"XREADGROUP") && blocks(arguments.clone()) {
        text.extend_from_slice(b" BLOCK");
    }
    let kind = kind(text, &arguments);
    write_arguments(arguments, shown_arguments(text), text);
    kind
}

fn blocks(mut arguments: Arguments<'_>) -> bool {
    let is = |argument: &[u8], word: &[u8]| argument.eq_ignore_ascii_case(word);
    std::iter::from_fn(|| arguments.next())
        .take_while(|argument| !is(argument, b"STREAMS"))
        .any(|argument| is(argument, b"BLOCK"))
}

fn kind(words: &[u8], arguments: &Arguments<'_>) -> Kind {
    let channels = arguments.left;
    let unsubscribe = |what| {
        if channels == 0 {
            Kind::UnsubscribeAll { what }
        } else {
            Kind::Subscribe { channels }
        }
    };
    match words {
        b"AUTH" => Kind::Login,
        b"HELLO" => Kind::Hello,
        b"INFO" => Kind::Info,
        b"QUIT" => Kind::Quit,
        b"RESET" => Kind::Reset,
        b"MONITOR" => Kind::Monitor,
        b"SYNC" | b"PSYNC" => Kind::Replicate,
        b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE" if channels > 0 => Kind::Subscribe { channels },
        b"UNSUBSCRIBE" => unsubscribe(Subscription::Channel),
        b"PUNSUBSCRIBE" => unsubscribe(Subscription::Pattern),
        b"SUNSUBSCRIBE" => unsubscribe(Subscription::Shard),
        b"CLIENT REPLY" => match arguments.clone().next() {
            Some(mode) if mode.eq_ignore_ascii_case(b"on") => Kind::RepliesOn,
            Some(mode) if mode.eq_ignore_ascii_case(b"off") => Kind::RepliesOff,
            Some(mode) if mode.eq_ignore_ascii_case(b"skip") => Kind::RepliesSkip,
            Some(_) | None => Kind::Plain,
        },
        _ => Kind::Plain,
    }
}

/// Number of arguments that may be shown; later ones may be secrets.
fn shown_arguments(words: &[u8]) -> usize {
    match words {
        b"AUTH" => 0,
        b"HELLO" | b"ACL SETUSER" | b"CONFIG SET" => 1,
        b"MIGRATE" => 5,
        _ => usize::MAX,
    }
}

/// Writes a word of a command in capitals. Returns false, without output, if it does not look like
/// one.
fn word(argument: &[u8], text: &mut Vec<u8>) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-|".contains(byte);
    let is_word = (1..=MAX_WORD_LEN).contains(&argument.len()) && argument.iter().all(allowed);
    if is_word {
        text.extend(argument.iter().map(u8::to_ascii_uppercase));
    }
    is_word
}

fn write_arguments(mut arguments: Arguments<'_>, shown: usize, text: &mut Vec<u8>) {
    let mut place = 0;
    while arguments.left > 0 {
        if text.len() > TEXT_LIMIT {
            text.extend_from_slice(b" ...");
            return;
        }
        text.extend_from_slice(b" \"");
        match arguments.next() {
            _ if place >= shown => text.extend_from_slice(b"***"),
            Some(argument) => quoted(argument, text),
            None => {
                text.extend_from_slice(b"...\" ...");
                return;
            }
        }
        text.push(b'"');
        place += 1;
    }
}

fn quoted(argument: &[u8], text: &mut Vec<u8>) {
    let visible = argument.get(..ARGUMENT_LIMIT).unwrap_or(argument);
    let is_plain = |byte: &u8| matches!(byte, b' ' | b'!' | b'#'..=b'[' | b']'..=b'~' | 0x80..);
    if visible.iter().all(is_plain) {
        text.extend_from_slice(visible);
    } else {
        escaped(visible, text);
    }
    if visible.len() < argument.len() {
        text.extend_from_slice(b"...");
    }
}

fn escaped(bytes: &[u8], text: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
            b' '..=b'~' | 0x80.. => text.push(byte),
            control => {
                let hex = |digit: u8| b"0123456789abcdef"[usize::from(digit & 15)];
                text.extend_from_slice(&[b'\\', b'x', hex(control >> 4), hex(control)]);
            }
        }
    }
}

#[derive(Debug, Clone)]
struct Arguments<'a> {
    words: Words<'a>,
    left: u64,
}

#[derive(Debug, Clone)]
enum Words<'a> {
    Array(Values<'a>),
    Line(&'a [u8]),
}

impl<'a> Arguments<'a> {
    fn new(kept: &'a [u8]) -> Self {
        if kept.first() != Some(&resp::ARRAY) {
            let words = Words::Line(kept);
            let left = Self {
                words: words.clone(),
                left: u64::MAX,
            }
            .count();
            return Self {
                words,
                left: left as u64,
            };
        }
        let mut values = Values::new(kept);
        let left = match values.next() {
            Some(Value::Aggregate { count, .. }) => count.unwrap_or(0),
            Some(Value::Line { .. } | Value::Text { .. }) | None => 0,
        };
        Self {
            words: Words::Array(values),
            left,
        }
    }
}

impl<'a> Iterator for Arguments<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        match &mut self.words {
            Words::Array(values) => values.next()?.text(),
            Words::Line(line) => {
                let (word, rest) = inline_word(line)?;
                *line = rest;
                Some(word)
            }
        }
    }
}

fn inline_word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_start();
    let (&first, rest) = line.split_first()?;
    let is_quoted = matches!(first, b'"' | b'\'');
    let word = if is_quoted { rest } else { line };
    let mut is_escaped = false;
    let ends = |&byte: &u8| {
        let ends = if is_quoted {
            byte == first && !is_escaped
        } else {
            byte.is_ascii_whitespace()
        };
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    };
    let end = word.iter().position(ends).unwrap_or(word.len());
    let (word, rest) = word.split_at(end);
    Some((word, rest.get(1..).unwrap_or_default()))
}

const MAX_WORD_LEN: usize = 32;

const ARGUMENT_LIMIT: usize = 256;

const TEXT_LIMIT: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(kept: &[u8]) -> (Kind, String) {
        let mut text = Vec::new();
        let kind = parse_command(kept, &mut text);
        (kind, String::from_utf8(text).expect("ASCII here"))
    }

    #[test]
    fn words_are_kept_and_arguments_are_quoted() {
        assert_eq!(
            shown(b"*3\r\n$3\r\nset\r\n$1\r\nk\r\n$3\r\na\"\n\r\n"),
            (Kind::Plain, r#"SET "k" "a\"\x0a""#.to_owned())
        );
        assert_eq!(
            shown(b"config get 'max memory'\r\n").1,
            r#"CONFIG GET "max memory""#
        );
        assert_eq!(shown(b"\r\n"), (Kind::Empty, String::new()));
        assert_eq!(shown(b"*0\r\n"), (Kind::Empty, String::new()));
        assert_eq!(
            shown(b"*2\r\n$9\r\nsubscribe\r\n$1\r\na\r\n").0,
            Kind::Subscribe { channels: 1 }
        );
        let long = [b"*2\r\n$3\r\nGET\r\n$999\r\n".as_slice(), &[b'x'; 600]].concat();
        assert_eq!(shown(&long).1, format!("GET \"{}...\"", "x".repeat(256)));
        let cut = shown(b"*9\r\n$4\r\nMGET\r\n$1\r\na\r\n$3\r\n");
        assert_eq!(cut.1, r#"MGET "a" "" "..." ..."#);
    }

    #[test]
    fn a_command_that_waits_for_entries_of_a_stream_says_so() {
        let text = |kept: &[u8]| shown(kept).1;
        assert_eq!(
            text(b"xread count 1 block 400 streams s $\r\n"),
            r#"XREAD BLOCK "count" "1" "block" "400" "streams" "s" "$""#
        );
        assert_eq!(
            text(b"XREAD COUNT 1 STREAMS block 0\r\n"),
            r#"XREAD "COUNT" "1" "STREAMS" "block" "0""#
        );
    }

    #[test]
    fn a_second_word_that_is_no_subcommand_is_an_argument() {
        for (request, text) in [
            ("debug kestrel\r\n", r#"DEBUG "kestrel""#),
            ("object kestrel\r\n", r#"OBJECT "kestrel""#),
            ("config kestrel osprey\r\n", r#"CONFIG "kestrel" "osprey""#),
            ("get encoding\r\n", r#"GET "encoding""#),
            ("object\r\n", "OBJECT"),
            ("debug Object kestrel\r\n", r#"DEBUG OBJECT "kestrel""#),
            ("object encoding kestrel\r\n", r#"OBJECT ENCODING "kestrel""#),
            ("client no-evict on\r\n", r#"CLIENT NO-EVICT "on""#),
        ] {
            assert_eq!(shown(request.as_bytes()).1, text);
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        for (request, text) in [
            ("auth me s3cret\r\n", r#"AUTH "***" "***""#),
            ("hello 3 auth me s3cret\r\n", r#"HELLO "3" "***" "***" "***""#),
            (
                "config set requirepass s3cret\r\n",
                r#"CONFIG SET "requirepass" "***""#,
            ),
            ("acl setuser me on >s3cret\r\n", r#"ACL SETUSER "me" "***" "***""#),
        ] {
            assert_eq!(shown(request.as_bytes()).1, text);
        }
    }
}
