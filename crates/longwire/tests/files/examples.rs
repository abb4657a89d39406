//! Every example of every help can be pasted into a shell: an indented line behind the options is a command.

use clap::Command;
use clap::error::ErrorKind;
use longwire::cli::{self, Cli};
use longwire::places::Places;
use std::ffi::OsString;
use std::iter::Peekable;
use std::str::Chars;
use sys::Target;

/// Wider lines would be wrapped in a terminal of the usual width.
const MAX_COLUMNS: usize = 80;

#[test]
fn every_example_can_be_pasted() {
    let mut faults = Vec::new();
    let mut count = 0;
    each_help(&cli::command(), &mut |name, help| {
        for example in examples(help) {
            count += 1;
            if let Err(fault) = check(&example) {
                faults.push(format!("{name}: {fault}: {example}"));
            }
        }
    });
    assert!(count > 80, "only {count} examples were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_shell_or_the_parser_refuses_other_examples() {
    for (example, fault) in [
        ("longwire read <FILE>", "'<' needs quotes"),
        ("longwire read FILE...", "placeholder"),
        ("longwire echo db1 --request 8..64:*2", "'*' needs quotes"),
        (
            "longwire ping postgres://db1/shop?sslmode=require",
            "'?' needs quotes",
        ),
        ("longwire demo; longwire demo", "';' needs quotes"),
        ("longwire echo db1  # on the client", "'#' needs quotes"),
        ("longwire generate zsh > _longwire (of fpath)", "'(' needs quotes"),
        ("longwire link 'rtt=40ms", "a quote is open"),
        ("longwire read a.pcap --max-turns 3", "unexpected argument"),
        (
            "longwire read a.pcap | longwire reed -",
            "unrecognized subcommand",
        ),
        ("longwire ping db1", "not a target"),
        (
            "longwire predict app.pcap --rtt 10ms,40ms,120ms --rate 10mbit --explain --verify --level packet",
            "columns",
        ),
    ] {
        let refused = check(example).expect_err(example);
        assert!(refused.contains(fault), "{example}: {refused}");
    }
}

/// Commands in the prose of a help may leave out their arguments, and exist with these flags.
#[test]
fn every_command_that_a_help_mentions_exists() {
    let mut count = 0;
    let mut faults = Vec::new();
    each_prose(&cli::command(), &mut |text| {
        for mentioned in text.split('`').skip(1).step_by(2) {
            if mentioned.starts_with("longwire ") {
                count += 1;
                let arguments = mentioned.split_whitespace().map(OsString::from);
                let parsed = Cli::from_arguments(&arguments.collect::<Vec<_>>(), &Places::default());
                let is_incomplete = |error: &clap::Error| error.kind() == ErrorKind::MissingRequiredArgument;
                faults.extend(parsed.err().filter(|error| !is_incomplete(error)));
            }
        }
    });
    assert!(count > 5, "only {count} commands are mentioned");
    assert!(faults.is_empty(), "{faults:?}");
}

fn each_prose(command: &Command, visit: &mut dyn FnMut(&str)) {
    let own = [command.get_about(), command.get_long_about()];
    let of_arguments = command
        .get_arguments()
        .flat_map(|one| [one.get_help(), one.get_long_help()]);
    for text in own.into_iter().chain(of_arguments).flatten() {
        visit(&text.to_string());
    }
    for below in command.get_subcommands() {
        each_prose(below, visit);
    }
}

fn each_help(command: &Command, visit: &mut dyn FnMut(&str, &str)) {
    let texts = [
        command.get_after_help(),
        command.get_after_long_help(),
        command.get_before_help(),
    ];
    for text in texts.into_iter().flatten() {
        visit(command.get_name(), &text.to_string());
    }
    for below in command.get_subcommands() {
        each_help(below, visit);
    }
}

/// The commands of a help as they stand there, continued lines included.
fn examples(help: &str) -> Vec<String> {
    let mut examples: Vec<String> = Vec::new();
    for line in help.lines() {
        match examples.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.push('\n');
                last.push_str(line.trim_start());
            }
            _ if line.starts_with("  ") => examples.push(line.trim_start().to_owned()),
            _ => {}
        }
    }
    examples
}

fn check(example: &str) -> Result<(), String> {
    if let Some(line) = example
        .lines()
        .find(|line| line.chars().count() + 2 > MAX_COLUMNS)
    {
        return Err(format!("over {MAX_COLUMNS} columns with '{line}'"));
    }
    for words in commands(example)? {
        if let Some(word) = words.iter().find(|word| word.contains("...")) {
            return Err(format!("'{word}' is a placeholder"));
        }
        if words.first().is_some_and(|word| word == "longwire") {
            parse(&words)?;
        }
    }
    Ok(())
}

fn parse(words: &[String]) -> Result<(), String> {
    let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
    match Cli::from_arguments(&arguments, &Places::default()) {
        Err(error) if error.kind() != ErrorKind::DisplayHelp => return Err(error.to_string()),
        _ => {}
    }
    let own = words.iter().take_while(|word| *word != "--");
    let takes_targets = ["ping", "split", "tune"].contains(&words[1].as_str());
    // The first word behind the command, and every URL but those of drivers.
    for word in own.skip(2).enumerate().filter_map(|(at, word)| {
        let is_first = at == 0 && takes_targets && !word.starts_with('-');
        (!word.starts_with("jdbc:") && (is_first || word.contains("://"))).then_some(word)
    }) {
        Target::parse(word).map_err(|error| format!("'{word}' is not a target: {error}"))?;
    }
    Ok(())
}

/// The words of each command, as a POSIX shell splits them: pipes and redirected output are taken, all other
/// characters that a shell would interpret have to be quoted.
fn commands(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut commands = vec![Vec::new()];
    let mut letters = text.chars().peekable();
    while let Some(&letter) = letters.peek() {
        match letter {
            ' ' | '\n' => {
                letters.next();
            }
            '|' => {
                letters.next();
                commands.push(Vec::new());
            }
            '>' => {
                letters.next();
                while letters.next_if_eq(&' ').is_some() {}
                word(&mut letters)?;
            }
            '\\' if text.contains("\\\n") => {
                letters.next();
                letters.next_if_eq(&'\n').ok_or("a backslash within a line")?;
            }
            _ => {
                let word = word(&mut letters)?;
                commands.last_mut().expect("there is one").push(word);
            }
        }
    }
    match commands.iter().any(Vec::is_empty) {
        true => Err("a pipe without a command".to_owned()),
        false => Ok(commands),
    }
}

fn word(letters: &mut Peekable<Chars<'_>>) -> Result<String, String> {
    let mut word = String::new();
    while let Some(letter) = letters.next_if(|letter| !" \n|>".contains(*letter)) {
        match letter {
            '\'' | '"' => loop {
                match letters.next().ok_or("a quote is open")? {
                    end if end == letter => break,
                    '$' | '`' | '\\' if letter == '"' => return Err("a '$' within double quotes".to_owned()),
                    other => word.push(other),
                }
            },
            // A `~` at the beginning of a path means the same everywhere.
            '~' if word.is_empty() && letters.peek() == Some(&'/') => word.push('~'),
            '<' | '&' | ';' | '(' | ')' | '*' | '?' | '[' | ']' | '$' | '`' | '!' | '#' | '~' | '\\' => {
                return Err(format!("'{letter}' needs quotes"));
            }
            // bash expands braces with a comma or two dots.
            '{' => {
                let inside: String = letters.clone().take_while(|letter| *letter != '}').collect();
                if inside.contains([',', ' ', '\n']) || inside.contains("..") {
                    return Err("'{' needs quotes".to_owned());
                }
                word.push('{');
            }
            other => word.push(other),
        }
    }
    match word.is_empty() {
        true => Err("an empty word".to_owned()),
        false => Ok(word),
    }
}
