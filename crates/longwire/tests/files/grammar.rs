//! One grammar of flags over all commands: docs/flags.md says it to users, this holds the commands to it.

use clap::{Arg, Command};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Every command that does something, by its words: `read`, `tunnel far`.
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

/// A letter has one long name: where two commands have the letter, they mean the same.
#[test]
fn a_letter_means_the_same_in_all_commands() {
    let mut meanings: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, command) in commands() {
        for flag in flags(&command) {
            let (Some(letter), Some(long)) = (flag.get_short(), flag.get_long()) else {
                continue;
            };
            // The one meaning with two names: how many, of samples and of requests.
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
    let said = rows(&page, "## Letters");
    let said: BTreeMap<String, String> = said
        .iter()
        .map(|(letter, long)| ((*letter).to_owned(), (*long).to_owned()))
        .collect();
    let has: BTreeMap<String, String> = meanings
        .into_iter()
        .map(|(letter, long)| (letter, long.into_iter().next().unwrap_or_default()))
        .collect();
    assert_eq!(said, has, "docs/flags.md, Letters");
}

/// Flags of one name take values of one kind.
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
            // One or several, for one target or all: of the same kind.
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

/// Records wherever there is a result, and everywhere quiet.
#[test]
fn records_and_quiet_are_everywhere() {
    let page = page();
    let without = rows(&page, "## Commands without records");
    for (name, command) in commands() {
        let has = |long: &str| flags(&command).any(|flag| flag.get_long() == Some(long));
        assert!(has("quiet"), "{name}");
        assert_eq!(
            !has("json"),
            without.contains_key(name.as_str()),
            "--json of {name}"
        );
    }
}

/// A flag stands under the same heading wherever it is, and what has none is of its command alone, or has one
/// meaning that needs no group.
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

/// A name that was changed is still understood, and hidden from the help.
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
