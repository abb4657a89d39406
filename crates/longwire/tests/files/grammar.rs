//! The grammar of flags: docs/flags.md explains it to users, and these tests hold every command to
//! it.

use clap::{Arg, Command};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Every command without subcommands, by its words: `read`, `tunnel far`.
fn commands() -> Vec<(String, Command)> {
    fn below(names: &str, command: &Command, found: &mut Vec<(String, Command)>) {
        let subcommands: Vec<&Command> = command
            .get_subcommands()
            .filter(|one| one.get_name() != "help")
            .collect();
        for one in &subcommands {
            below(format!("{names} {}", one.get_name()).trim(), one, found);
        }
        if subcommands.is_empty() {
            found.push((names.to_owned(), command.clone()));
        }
    }
    let mut found = Vec::new();
    let mut all = longwire::cli::command();
    all.build();
    below("", &all, &mut found);
    assert!(
        found.len() > 18,
        "{:?}",
        found.iter().map(|one| &one.0).collect::<Vec<_>>()
    );
    found
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/flags.md");
    std::fs::read_to_string(path).expect("the page is there")
}

/// The first two cells of a row of a table: `-c`, `--clients`.
fn rows<'a>(page: &'a str, heading: &str) -> BTreeMap<&'a str, &'a str> {
    let (_, section) = page.split_once(heading).expect("the page has this heading");
    let section = section.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
        Some((cells.next()?.trim_matches('`'), cells.next()?.trim_matches('`')))
    });
    cells.collect()
}

fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    command
        .get_arguments()
        .filter(|argument| !argument.is_positional())
}

#[test]
fn a_letter_means_the_same_in_all_commands() {
    let mut meanings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, command) in commands() {
        for flag in flags(&command) {
            let (Some(letter), Some(long)) = (flag.get_short(), flag.get_long()) else {
                continue;
            };
            // The exception with two names: a count of samples or of requests.
            let long = if long == "requests" { "count" } else { long };
            meanings
                .entry(format!("-{letter}"))
                .or_default()
                .insert(format!("--{long}"));
            assert!(letter != 'h' || long == "help", "{name}");
        }
    }
    let several: Vec<_> = meanings
        .iter()
        .filter(|(_, meanings)| meanings.len() > 1)
        .collect();
    assert!(several.is_empty(), "{several:?}");
    let page = page();
    let (_, said) = page.split_once("## Letters").expect("the heading");
    let said: BTreeMap<String, String> = said
        .split("\n## ")
        .next()
        .unwrap_or_default()
        .split('`')
        .filter_map(|pair| pair.split_once(' '))
        .filter(|(letter, long)| letter.starts_with('-') && long.starts_with("--"))
        .map(|(letter, long)| (letter.to_owned(), long.to_owned()))
        .collect();
    let has: BTreeMap<String, String> = meanings
        .into_iter()
        .map(|(letter, long)| (letter, long.into_iter().next().unwrap_or_default()))
        .collect();
    assert_eq!(said, has, "docs/flags.md, Letters");
}

#[test]
fn a_flag_takes_the_same_kind_of_value_in_all_commands() {
    let mut kinds: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (name, command) in commands() {
        for flag in flags(&command) {
            let Some(long) = flag.get_long() else { continue };
            let value = match flag.get_action().takes_values() {
                true => flag.get_value_names().unwrap_or_default().join(" "),
                false => String::new(),
            };
            // A list, or a value for one target, is of the same kind.
            let value = value
                .trim_end_matches(",...")
                .trim_start_matches("[NAME=]")
                .to_owned();
            kinds
                .entry(long.to_owned())
                .or_default()
                .entry(value)
                .or_default()
                .push(name.clone());
        }
    }
    let several: Vec<_> = kinds.iter().filter(|(_, values)| values.len() > 1).collect();
    assert!(several.is_empty(), "{several:#?}");
}

#[test]
fn records_and_quiet_are_everywhere() {
    let page = page();
    let without = rows(&page, "## Commands without records");
    for (name, command) in commands() {
        let has = |long: &str| flags(&command).any(|flag| flag.get_long() == Some(long));
        assert!(has("quiet"), "{name}");
        assert!(
            has("csv") == has("json") && has("markdown") == has("json"),
            "{name}"
        );
        assert_eq!(
            !has("json"),
            without.contains_key(name.as_str()),
            "--json of {name}"
        );
    }
}

#[test]
fn the_tables_of_a_command_are_types_of_records() {
    for (name, command) in commands() {
        for flag in flags(&command).filter(|flag| matches!(flag.get_long(), Some("csv" | "markdown"))) {
            let tables = flag.get_possible_values();
            assert!(tables.len() > 3, "{name} has no tables");
            assert!(
                tables
                    .iter()
                    .all(|table| report::RecordType::find(table.get_name()).is_some()),
                "{name}: {tables:?}"
            );
        }
    }
}

/// Flags without a heading are specific to one command, or mean the same everywhere.
#[test]
fn a_flag_is_under_the_same_heading_in_all_commands() {
    let mut headings: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
    for (_, command) in commands() {
        for flag in flags(&command) {
            let heading = flag.get_help_heading().map(str::to_owned);
            headings
                .entry(flag.get_long().unwrap_or_default().to_owned())
                .or_default()
                .insert(heading);
        }
    }
    let several: Vec<_> = headings
        .iter()
        .filter(|(_, headings)| headings.len() > 1)
        .collect();
    assert!(several.is_empty(), "{several:?}");
    let under = |long: &str| headings[long].iter().flatten().next().map(String::as_str);
    assert_eq!(under("json"), Some("Output"));
    assert_eq!(under("rtt"), Some("Distance"));
    assert_eq!(under("bridge"), Some("Through a JDBC driver (docs/jdbc.md)"));
    assert_eq!(under("connect"), None);
}

/// Other commands never log in.
#[test]
fn the_flag_for_clear_text_passwords_is_of_commands_that_log_in() {
    let mut having: Vec<String> = commands()
        .into_iter()
        .filter(|(_, command)| flags(command).any(|flag| flag.get_long() == Some("allow-cleartext-password")))
        .map(|(name, _)| name)
        .collect();
    having.sort();
    assert_eq!(
        having,
        ["calibrate", "load", "ping", "split", "tune", "tunnel advise"]
    );
}

#[test]
fn every_help_has_an_example() {
    for (name, command) in commands() {
        let after = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(
            after.contains(&format!(
                "longwire {}",
                name.split(' ').next().unwrap_or_default()
            )),
            "{name}: {after}"
        );
    }
}

/// Earlier names still work, hidden from the help.
#[test]
fn earlier_names_are_aliases() {
    let commands = commands();
    for row in longwire::usage::RENAMED {
        for name in row.commands {
            let (_, command) = commands
                .iter()
                .find(|(known, _)| known == name)
                .unwrap_or_else(|| panic!("{name}"));
            let now = flags(command).find(|flag| {
                [
                    flag.get_long().map(|long| format!("--{long}")),
                    flag.get_short().map(|short| format!("-{short}")),
                ]
                .contains(&Some(row.now.to_owned()))
            });
            let now = now.unwrap_or_else(|| panic!("{name} has no {}", row.now));
            let long = row.before.strip_prefix("--");
            let is_alias = match long {
                Some(long) => now.get_all_aliases().unwrap_or_default().contains(&long),
                None => now
                    .get_all_short_aliases()
                    .unwrap_or_default()
                    .iter()
                    .any(|short| row.before == format!("-{short}")),
            };
            assert!(is_alias, "{name}: {} is no alias of {}", row.before, row.now);
        }
    }
}
