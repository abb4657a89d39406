//! Errors of the command line: one line with a hint, also for words that newcomers type.

mod words;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use report::text::escape::{columns, cut, message};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use words::{COMMANDS, FLAGS};
pub use words::{RENAMED, Renamed};

/// Prints clap's message and returns the exit status. Help and versions stay as they are; an error
/// becomes one line with a hint.
pub fn report(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // A reader that leaves early (`longwire --help | head`) is not a failure.
            let _ = error.print();
            return u8::try_from(error.exit_code()).map_or(ExitCode::from(2), ExitCode::from);
        }
        _ => {}
    }
    let typed = Typed::from_arguments(arguments);
    let hint = hint(error, &typed).unwrap_or_else(|| typed.where_the_help_is());
    let mut stderr = io::stderr().lock();
    // The status counts even if stderr cannot be written.
    let _ = writeln!(stderr, "longwire: {}", printable(&first_paragraph(error)));
    let _ = writeln!(stderr, "hint: {}", printable(&hint));
    ExitCode::from(2)
}

/// One line of a message, without the passwords of the command line.
pub fn printable(text: &str) -> String {
    message(&with_long_arguments_cut(
        &sys::arguments::without_passwords(text),
        sys::arguments::given(),
    ))
}

/// A message repeats its argument; the beginning is enough for one that fills a screen.
fn with_long_arguments_cut(text: &str, arguments: &[OsString]) -> String {
    let mut text = text.to_owned();
    for argument in arguments {
        let argument = argument.to_string_lossy();
        let value = argument.split_once('=').map(|(_, value)| value);
        for long in [Some(&*argument), value].into_iter().flatten() {
            if columns(long) > SHOWN_ARGUMENT {
                text = text.replace(long, &cut(long, SHOWN_ARGUMENT));
            }
        }
    }
    text
}

/// Columns of an argument that a message repeats: a URL with its options fits.
const SHOWN_ARGUMENT: usize = 200;

/// Earlier names of flags that were used, each with the current name.
pub fn older_names(arguments: &[OsString]) -> Vec<String> {
    let typed = Typed::from_arguments(arguments);
    let used = RENAMED.iter().filter(|row| {
        row.commands.contains(&typed.command.as_str()) && typed.flags().any(|flag| is_flag(flag, row.before))
    });
    used.map(|row| {
        format!(
            "{} of {} is {} now ({}): {} will go",
            row.before, typed.command, row.now, row.reason, row.before
        )
    })
    .collect()
}

/// A hint from the command line alone: files where servers are expected, and the reverse.
pub fn hint_for(arguments: &[OsString]) -> Option<String> {
    let typed = Typed::from_arguments(arguments);
    let reads_files = matches!(typed.command.as_str(), "read" | "predict" | "check");
    let url = typed.values().find(|word| word.contains("://"));
    if let (true, Some(url)) = (reads_files, url) {
        return Some(format!(
            "{} takes files; longwire watch {url} -- COMMAND observes a server, with -o run.lwr for a file",
            typed.command
        ));
    }
    let relays = matches!(typed.command.as_str(), "watch" | "relay" | "top");
    let is_target = |word: &&str| {
        word.contains("://") || word.contains('=') || word.starts_with("jdbc:") || is_capture(word)
    };
    let program = typed.values().skip(1).find(|word| !is_target(word));
    if let (true, Some(program)) = (
        relays && !typed.flags().any(|flag| flag == "--interface"),
        program,
    ) {
        return Some(behind_dashes(&typed.command, program));
    }
    let asks_servers = matches!(
        typed.command.as_str(),
        "watch" | "relay" | "ping" | "split" | "calibrate" | "tune"
    );
    let file = typed.values().find(|word| is_capture(word))?;
    asks_servers.then(|| {
        format!(
            "{} takes a server's URL; longwire read {file} reads a file",
            typed.command
        )
    })
}

struct Typed {
    /// The command and its subcommand: `read`, `tunnel far`. Empty if there is none.
    command: String,
    /// The words after it that are for longwire, not for a command behind `--`.
    words: Vec<String>,
}

impl Typed {
    fn from_arguments(arguments: &[OsString]) -> Self {
        let words = arguments
            .iter()
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned());
        let words: Vec<String> = words.take_while(|word| word != "--").collect();
        let known = crate::cli::command();
        let found = words.iter().find_map(|word| known.find_subcommand(word));
        let mut command = found.map_or_else(String::new, |found| found.get_name().to_owned());
        let below = found.and_then(|found| words.iter().find_map(|word| found.find_subcommand(word)));
        if let Some(below) = below {
            command = format!("{command} {}", below.get_name());
        }
        Self { command, words }
    }

    fn flags(&self) -> impl Iterator<Item = &str> {
        self.words
            .iter()
            .map(String::as_str)
            .filter(|word| word.starts_with('-'))
    }

    /// Words that do not follow a flag, and so are no flag's value.
    fn values(&self) -> impl Iterator<Item = &str> {
        let before = std::iter::once("").chain(self.words.iter().map(String::as_str));
        let pairs = before.zip(&self.words);
        pairs
            .filter(|(before, word)| !before.starts_with('-') && !word.starts_with('-'))
            .map(|(_, word)| word.as_str())
    }

    fn where_the_help_is(&self) -> String {
        match self.command.as_str() {
            "" => "longwire --help".to_owned(),
            command => format!("longwire {command} --help"),
        }
    }
}

/// Matches `--at`, `--at=40ms`, `-c` and `-c5`.
fn is_flag(word: &str, flag: &str) -> bool {
    match word.strip_prefix(flag) {
        Some("") => true,
        Some(rest) => match flag.starts_with("--") {
            true => rest.starts_with('='),
            false => !rest.starts_with('-'),
        },
        None => false,
    }
}

/// Clap's own sentence in one line; a usage and a pointer to the help follow it.
fn first_paragraph(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    let mut lines: Vec<&str> = lines.collect();
    let possible = text
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("[possible values"));
    lines.extend(possible.filter(|line| !lines.contains(line)));
    lines.join(" ")
}

fn hint(error: &clap::Error, typed: &Typed) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidSubcommand => of_command(&said(error, ContextKind::InvalidSubcommand)?, typed),
        ErrorKind::UnknownArgument => of_argument(&said(error, ContextKind::InvalidArg)?, typed),
        ErrorKind::ValueValidation if error.to_string().contains("invalid digit") => {
            Some("a whole number, such as 10".to_owned())
        }
        _ => None,
    }
    .or_else(|| suggested(error))
    .or_else(|| usage(error))
}

fn said(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

fn of_command(word: &str, typed: &Typed) -> Option<String> {
    if word.contains("://") {
        return Some(format!(
            "longwire ping {word} asks it, longwire watch {word} -- COMMAND observes an application"
        ));
    }
    if is_capture(word) {
        return Some(format!("longwire read {word}"));
    }
    let known = COMMANDS.iter().find(|row| row.typed.contains(&word));
    match (known, typed.command.as_str()) {
        (Some(row), "") => Some(row.hint.to_owned()),
        (None, "lab") if word.ends_with(".toml") => Some(format!("longwire lab run {word}")),
        (_, "tunnel") if matches!(word, "client" | "connect" | "local") => {
            Some("longwire tunnel near is the end next to the clients".to_owned())
        }
        (_, "tunnel") if matches!(word, "server" | "listen" | "remote") => {
            Some("longwire tunnel far is the end next to the database".to_owned())
        }
        _ => None,
    }
}

fn of_argument(word: &str, typed: &Typed) -> Option<String> {
    if !word.starts_with('-') {
        let takes_a_command = matches!(
            typed.command.as_str(),
            "link" | "relay" | "watch" | "keys" | "tune" | "top"
        );
        return takes_a_command.then(|| behind_dashes(&typed.command, word));
    }
    let row = FLAGS.iter().find(|row| {
        let is_for = row.commands.is_empty() || row.commands.contains(&typed.command.as_str());
        is_for && row.typed.iter().any(|flag| is_flag(word, flag))
    })?;
    Some(row.hint.to_owned())
}

fn behind_dashes(command: &str, program: &str) -> String {
    format!("a command goes behind --: longwire {command} ... -- {program}")
}

fn suggested(error: &clap::Error) -> Option<String> {
    let kinds = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let similar = kinds.into_iter().find_map(|kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => Some(texts.join(", ")),
        _ => None,
    });
    similar.map(|similar| format!("perhaps {similar}"))
}

fn usage(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }
    match error.get(ContextKind::Usage)? {
        ContextValue::StyledStr(usage) => {
            let text = usage.to_string();
            let text = text.trim_start_matches("Usage:");
            Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

fn is_capture(word: &str) -> bool {
    let endings = ["pcap", "pcapng", "cap", "lwr", "zst", "gz"];
    let path = Path::new(word);
    path.extension()
        .is_some_and(|extension| endings.iter().any(|known| extension.eq_ignore_ascii_case(known)))
        && !word.contains("://")
}
