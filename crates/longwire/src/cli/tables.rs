//! The tables that each command writes with `--csv` and `--markdown`.

use crate::commands::record_args::parse;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};

/// A command by its words, and its types of records. All commands also write [`EVERYWHERE`].
type Tables = (&'static str, &'static [&'static [&'static str]]);

const TABLES: &[Tables] = &[
    ("demo", &[RUN_TABLES, &["link"]]),
    (
        "ping",
        &[&["sample", "leg", "intermediary", "rows", "database_link"]],
    ),
    ("echo", &[&["echo", "bulk"]]),
    ("estimate", &[&["estimate"]]),
    ("calibrate", &[&["calibrated"]]),
    ("split", &[&["split", "elsewhere", "link"]]),
    ("watch", &[RUN_TABLES, &["spared", "link"]]),
    ("agent", &[&["statement", "finding"]]),
    ("relay", &[&["spared", "link"]]),
    ("read", &[RUN_TABLES, &["database_link", "comparison"]]),
    (
        "predict",
        &[&[
            "operation",
            "connection",
            "statement",
            "recognised",
            "prediction",
            "not_predicted",
            "held",
            "held_prediction",
            "link",
        ]],
    ),
    (
        "plan",
        &[&[
            "placement",
            "placed_operation",
            "placed_transaction",
            "broken_budget",
            "held_back",
            "holding_statement",
            "plan_fix",
            "plan_move",
            "plan",
        ]],
    ),
    ("check", &[&["check", "change"]]),
    ("link", &[&["link"]]),
    (
        "lab run",
        &[&["point", "round", "prediction", "slope", "lab", "link"]],
    ),
    ("load", &[&["load", "interval", "script", "failure"]]),
    (
        "tune",
        &[&[
            "recommendation",
            "tuned",
            "program_best",
            "program",
            "program_unchanged",
            "link",
        ]],
    ),
    ("tunnel near", &[TUNNEL_TABLES]),
    ("tunnel far", &[TUNNEL_TABLES]),
    ("tunnel advise", &[&["advice", "level", "pays"]]),
];

const RUN_TABLES: &[&str] = &[
    "operation",
    "statement",
    "finding",
    "prediction",
    "not_predicted",
    "connection",
    "exchange",
    "opened",
    "recognised",
    "held",
    "held_prediction",
];

const TUNNEL_TABLES: &[&str] = &["tunnel", "tunnel_way", "notice"];

const EVERYWHERE: [&str; 3] = ["summary", "warning", "conditions"];

/// Restricts the flags of each command to its tables.
pub fn with_tables(command: Command) -> Command {
    TABLES.iter().fold(command, |command, (words, tables)| {
        below(command, &mut words.split(' '), tables)
    })
}

fn below<'a>(
    command: Command,
    words: &mut impl Iterator<Item = &'a str>,
    tables: &'static [&'static [&'static str]],
) -> Command {
    match words.next() {
        Some(word) if command.find_subcommand(word).is_some() => {
            command.mut_subcommand(word, |found| below(found, words, tables))
        }
        Some(_) => command,
        None => command.mut_args(|argument| with_values(argument, tables)),
    }
}

fn with_values(argument: Arg, tables: &[&[&'static str]]) -> Arg {
    match argument.get_long() {
        Some("csv" | "markdown") => {
            let names = tables.iter().copied().flatten().copied().chain(EVERYWHERE);
            argument.value_parser(PossibleValuesParser::new(names).try_map(|name| parse(&name)))
        }
        _ => argument,
    }
}
