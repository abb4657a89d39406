//! Command-line arguments, and hiding passwords in them from the process list.
//!
//! The list (`ps`, `/proc/PID/cmdline`) shows every user the memory where the kernel put the
//! arguments. Like MySQL's clients, longwire overwrites passwords there first of all. They stay
//! visible for the few milliseconds before, and in kernel logs of started programs (`execve` in
//! audit logs).

mod command_line;
mod secrets;

pub use command_line::CommandLine;

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

/// Overwrites secrets in the process list with asterisks, and returns their number.
///
/// # Errors
/// If the memory is not writable: secrets are then visible.
pub fn hide_passwords() -> io::Result<usize> {
    let words: Vec<&[u8]> = given().iter().map(|argument| argument.as_bytes()).collect();
    let count = secrets::of_arguments(&words).iter().map(Vec::len).sum();
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
    let words: Vec<&[u8]> = text.split(|byte| *byte == 0).collect();
    let found = secrets::of_arguments(&words);
    for (word, secrets) in text.split_mut(|byte| *byte == 0).zip(found) {
        overwrite_ranges(word, secrets);
    }
    memory.write_all_at(&text, begin)
}

/// The kernel allows arguments a quarter of the stack limit, 2 MiB by default.
const MAX_ARGUMENT_BYTES: usize = 64 << 20;

fn overwrite_ranges(argument: &mut [u8], secrets: Vec<Range<usize>>) {
    for secret in secrets {
        argument[secret].fill(b'*');
    }
}

fn mask(argument: &mut [u8]) {
    let secrets = secrets::of_argument(argument);
    overwrite_ranges(argument, secrets);
}

#[cfg(test)]
mod tests;
