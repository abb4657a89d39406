//! Command-line arguments, and hiding passwords in them from the process list.
//!
//! The list (`ps`, `/proc/PID/cmdline`) shows every user the memory where the kernel put the
//! arguments. Like MySQL's clients, longwire overwrites passwords there first of all. They stay
//! visible for the few milliseconds before, and in kernel logs of started programs (`execve` in
//! audit logs).

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

static GIVEN: OnceLock<Vec<OsString>> = OnceLock::new();

/// Still has the passwords after [`hide_passwords`].
pub fn given() -> &'static [OsString] {
    GIVEN.get_or_init(|| std::env::args_os().collect())
}

/// Replaces passwords of the command line in `message` with asterisks.
pub fn without_passwords(message: &str) -> String {
    let mut message = message.to_owned();
    for word in given().iter().filter_map(|word| word.to_str()) {
        let mut masked = word.as_bytes().to_vec();
        mask(&mut masked);
        if masked != word.as_bytes() {
            message = message.replace(word, &String::from_utf8_lossy(&masked));
        }
    }
    message
}

/// Overwrites passwords in the process list with asterisks, and returns their number.
///
/// # Errors
/// If the memory is not writable: passwords are then visible.
pub fn hide_passwords() -> io::Result<usize> {
    let count = given()
        .iter()
        .map(|argument| passwords(argument.as_bytes()).len())
        .sum();
    if count > 0 {
        overwrite()?;
    }
    Ok(count)
}

/// Overwrites this process's memory at the kernel's location (`arg_start` and `arg_end` of
/// `proc_pid_stat(5)`).
fn overwrite() -> io::Result<()> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").ok_or(io::ErrorKind::InvalidData)?;
    let place = |number: usize| fields.split(' ').nth(number - 3)?.parse::<u64>().ok();
    let (Some(begin), Some(end)) = (place(48), place(49)) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let length = usize::try_from(end.saturating_sub(begin)).unwrap_or(0);
    let memory: File = OpenOptions::new().read(true).write(true).open("/proc/self/mem")?;
    let mut text = vec![0; length.min(MAX_ARGUMENT_BYTES)];
    memory.read_exact_at(&mut text, begin)?;
    text.split_mut(|byte| *byte == 0).for_each(mask);
    memory.write_all_at(&text, begin)
}

/// The kernel allows arguments a quarter of the stack limit, 2 MiB by default.
const MAX_ARGUMENT_BYTES: usize = 64 << 20;

fn mask(argument: &mut [u8]) {
    for password in passwords(argument) {
        argument[password].fill(b'*');
    }
}

/// Ranges of passwords in an argument: of a URL (`://user:password@`, Oracle's `:user/password@`),
/// and of named parameters.
fn passwords(argument: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = userinfo(argument).into_iter().collect();
    let lower = argument.to_ascii_lowercase();
    for name in [&b"password="[..], b"passwd=", b"pwd="] {
        let mut from = 0;
        while let Some(at) = find(&lower[from..], name) {
            let begin = from + at + name.len();
            let end = begin + value_length(&argument[begin..]);
            if begin < end {
                found.push(begin..end);
            }
            from = end.max(begin);
        }
    }
    found
}

/// With an unescaped `@` or `/` in it, the range extends to the last `@`.
fn userinfo(argument: &[u8]) -> Option<Range<usize>> {
    let (begin, separator) = match find(argument, b":thin:") {
        Some(at) => (at + 6, b'/'),
        None => (find(argument, b"://")? + 3, b':'),
    };
    let rest = &argument[begin..];
    let authority = match argument.starts_with(b"http") {
        true => rest.split(|byte| b"/?#".contains(byte)).next()?,
        false => rest,
    };
    let end = begin + authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = begin + argument[begin..end].iter().position(|byte| *byte == separator)?;
    (colon + 1 < end).then_some(colon + 1..end)
}

/// Up to the end of the parameter, or the closing quote.
fn value_length(value: &[u8]) -> usize {
    let is_quoted = value.first() == Some(&b'\'');
    let ends = |at: usize, byte: u8| match is_quoted {
        true => at > 0 && byte == b'\'' && value[at - 1] != b'\\',
        false => [b'&', b';', b' ', b')'].contains(&byte),
    };
    let end = value.iter().enumerate().position(|(at, byte)| ends(at, *byte));
    end.unwrap_or(value.len())
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(argument: &str) -> String {
        let mut bytes = argument.as_bytes().to_vec();
        mask(&mut bytes);
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn passwords_of_all_spellings_of_a_target_are_found() {
        for (argument, shown) in [
            ("postgres://ann:secret@db1/shop", "postgres://ann:******@db1/shop"),
            ("postgres://ann:s/e@c@db1/shop", "postgres://ann:*****@db1/shop"),
            (
                "postgres://ann@db1/shop?password=secret&sslmode=require",
                "postgres://ann@db1/shop?password=******&sslmode=require",
            ),
            (
                "host=db1 password='a b\\'c' user=ann",
                "host=db1 password=*******' user=ann",
            ),
            (
                "host=db1 Password=secret user=ann",
                "host=db1 Password=****** user=ann",
            ),
            (
                "jdbc:oracle:thin:ann/secret@//db1:1521/shop",
                "jdbc:oracle:thin:ann/******@//db1:1521/shop",
            ),
            (
                "jdbc:sqlserver://db1;user=ann;password=secret;encrypt=true",
                "jdbc:sqlserver://db1;user=ann;password=******;encrypt=true",
            ),
            ("redis://:secret@cache1", "redis://:******@cache1"),
        ] {
            assert_eq!(hidden(argument), shown);
        }
    }

    #[test]
    fn what_holds_no_password_is_left_as_it_is() {
        for argument in [
            "postgres://ann@db1/shop",
            "http://127.0.0.1:8000/@a?b=c",
            "rtt=40ms",
            "password=",
            "",
            "select 1 where a = 'b@c'",
        ] {
            assert_eq!(hidden(argument), argument);
        }
    }
}
