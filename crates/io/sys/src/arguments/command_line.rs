//! The command line as typed, for records and pages.

use super::secrets;
use crate::Target;
use std::ffi::OsStr;
use std::fmt;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

/// Quoted for a POSIX shell, in one line. Secrets are `***`, and so are literals of SQL and values of
/// variables, unless `--keep-literals` is among the arguments. Of a command behind `--` only the
/// program is recorded: its arguments may hold keys, values and passwords in any form. longwire's own
/// path is not repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine(String);

impl CommandLine {
    /// `arguments` begin with the program's name.
    pub fn from_arguments<T: AsRef<OsStr>>(arguments: &[T]) -> Self {
        let words = arguments.iter().skip(1).map(|word| word.as_ref().as_bytes());
        let words: Vec<&[u8]> = words.collect();
        let dashes = words.iter().position(|word| *word == b"--");
        let command = dashes.map_or(words.len(), |dashes| (dashes + 2).min(words.len()));
        let (words, of_command) = words.split_at(command);
        let mut text = "longwire".to_owned();
        let hidden = secrets::of_arguments(words)
            .into_iter()
            .zip(secrets::literals_of_arguments(words));
        for (number, (word, (mut hidden, literals))) in words.iter().zip(hidden).enumerate() {
            hidden.extend(literals);
            secrets::merge(&mut hidden);
            let shown = shown(word, &hidden);
            if text.len() + shown.len() > MAX_LEN {
                let rest = model::counted((words.len() - number) as u64, "argument", "arguments");
                text.push_str(&format!(" # and {rest}"));
                break;
            }
            text.push(' ');
            text.push_str(&shown);
        }
        if !of_command.is_empty() {
            text.push_str(" ...");
        }
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn shown(word: &[u8], hidden: &[Range<usize>]) -> String {
    let (masked, is_plain) = masked(word, hidden);
    if let Some(target) = target_in_other_words(word, &masked) {
        let text = target.to_string().into_bytes();
        let is_plain = text.iter().all(is_plain_letter);
        return quoted(&text, is_plain);
    }
    quoted(&masked, is_plain)
}

/// The word with `***` for hidden parts, and whether its other letters need no quotes.
fn masked(word: &[u8], hidden: &[Range<usize>]) -> (Vec<u8>, bool) {
    let mut masked = Vec::new();
    let mut is_plain = !word.is_empty();
    let mut from = 0;
    for range in hidden {
        let kept = &word[from..range.start];
        is_plain &= kept.iter().all(is_plain_letter);
        masked.extend_from_slice(kept);
        masked.extend_from_slice(MASK);
        from = range.end;
    }
    is_plain &= word[from..].iter().all(is_plain_letter);
    masked.extend_from_slice(&word[from..]);
    (masked, is_plain)
}

/// A target whose password was not found in its text, since its parameter's name is escaped.
fn target_in_other_words(word: &[u8], masked: &[u8]) -> Option<Target> {
    let parse = |text: &[u8]| Target::parse(std::str::from_utf8(text).ok()?).ok();
    let target = parse(word).filter(|target| target.password.is_some())?;
    let is_masked = |target: &Target| {
        let password = target.password.as_ref().map(crate::Secret::reveal);
        password.is_none_or(|password| password.is_empty() || password.as_bytes() == MASK)
    };
    (!parse(masked).is_some_and(|target| is_masked(&target))).then_some(target)
}

fn quoted(word: &[u8], is_plain: bool) -> String {
    let cut = word.len() > MAX_WORD_LEN;
    let mut word = &word[..word.len().min(MAX_WORD_LEN)];
    if cut
        && let Err(error) = std::str::from_utf8(word)
        && error.error_len().is_none()
    {
        word = &word[..error.valid_up_to()];
    }
    let end = if cut { "..." } else { "" };
    match std::str::from_utf8(word) {
        Ok(text) if is_plain => format!("{text}{end}"),
        Ok(text) if !text.contains(is_unprintable) => format!("'{}'{end}", text.replace('\'', r"'\''")),
        _ => format!("$'{}'{end}", escaped(word)),
    }
}

/// The inside of `$'...'` (POSIX.1-2024, section 2.2.4).
fn escaped(word: &[u8]) -> String {
    let mut text = String::new();
    for chunk in word.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\n' => text.push_str(r"\n"),
                '\t' => text.push_str(r"\t"),
                '\\' | '\'' => text.extend(['\\', letter]),
                letter if is_unprintable(letter) => {
                    let mut bytes = [0; 4];
                    text.extend(letter.encode_utf8(&mut bytes).bytes().map(octal));
                }
                letter => text.push(letter),
            }
        }
        text.extend(chunk.invalid().iter().copied().map(octal));
    }
    text
}

fn octal(byte: u8) -> String {
    format!("\\{byte:03o}")
}

/// Controls, and characters that hide or reorder others.
fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn is_plain_letter(letter: &u8) -> bool {
    letter.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(letter)
}

const MASK: &[u8] = b"***";
/// A long statement fits.
const MAX_WORD_LEN: usize = 4096;
/// Hundreds of file names fit.
const MAX_LEN: usize = 16 * 1024;
