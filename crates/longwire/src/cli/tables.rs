//! The tables that each command writes with `--csv` and `--markdown`.

use crate::commands::record_args::parse;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};

/// A command by its words, and its types of records. All commands also write [`EVERYWHERE`].
type Tables = (&'static str, &'static [&'static str]);

const TABLES: &[Tables] = &[
    ("demo", OF_A_RUN),
    (
        "ping",
        &["sample", "leg", "intermediary", "rows", "database_link"],
    ),
    ("echo", &["echo", "bulk"]),
    ("estimate", &["estimate"]),
    ("calibrate", &["calibrated"]),
    ("split", &["split", "elsewhere", "link"]),
    ("watch", OF_WATCH),
    ("agent", &["statement", "finding"]),
    ("relay", &["spared", "link"]),
    ("read", OF_FILES),
    (
        "predict",
        &[
            "operation",
            "connection",
            "statement",
            "recognised",
            "prediction",
            "held",
            "held_prediction",
            "link",
        ],
    ),
    (
        "plan",
        &[
            "placement",
            "placed_operation",
            "placed_transaction",
            "broken_budget",
            "held_back",
            "holding_statement",
            "plan_fix",
            "plan_move",
            "plan",
        ],
    ),
    ("check", &["check", "change"]),
    ("link", &["link"]),
    (
        "lab run",
        &["point", "round", "prediction", "slope", "lab", "link"],
    ),
    ("load", &["load", "interval", "script", "failure"]),
    (
        "tune",
        &[
            "recommendation",
            "tuned",
            "program_best",
            "program",
            "program_unchanged",
            "link",
        ],
    ),
    ("tunnel near", &["tunnel", "tunnel_way", "notice"]),
    ("tunnel far", &["tunnel", "tunnel_way", "notice"]),
    ("tunnel advise", &["advice", "level", "pays"]),
];

const OF_A_RUN: &[&str] = &[
    "operation",
    "statement",
    "finding",
    "prediction",
    "connection",
    "exchange",
    "opened",
    "recognised",
    "held",
    "held_prediction",
    "link",
];

const OF_WATCH: &[&str] = &[
    "operation",
    "statement",
    "finding",
    "prediction",
    "connection",
    "exchange",
    "opened",
    "recognised",
    "held",
    "held_prediction",
    "spared",
    "link",
];

const OF_FILES: &[&str] = &[
    "operation",
    "statement",
    "finding",
    "prediction",
    "connection",
    "exchange",
    "opened",
    "recognised",
    "held",
    "held_prediction",
    "database_link",
    "comparison",
];

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
    tables: &'static [&'static str],
) -> Command {
    match words.next() {
        Some(word) if command.find_subcommand(word).is_some() => {
            command.mut_subcommand(word, |found| below(found, words, tables))
        }
        Some(_) => command,
        None => command.mut_args(|argument| with_values(argument, tables)),
    }
}

fn with_values(argument: Arg, tables: &[&'static str]) -> Arg {
    match argument.get_long() {
        Some("csv" | "markdown") => {
            let names = tables.iter().copied().chain(EVERYWHERE);
            argument.value_parser(PossibleValuesParser::new(names).try_map(|name| parse(&name)))
        }
        _ => argument,
    }
}
