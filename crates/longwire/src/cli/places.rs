//! Places of the user where a command takes a round-trip time or a link.

use crate::commands::check;
use crate::commands::reporting::RttChoice;
use crate::places::Places;
use check::{held, predicted};
use clap::builder::{PathBufValueParser, TypedValueParser, ValueParser};
use clap::{Arg, Command};
use link::LinkDescription;
use model::parse_duration;
use std::convert::Infallible;
use std::fmt::Display;

/// Without places the flags stay as they are.
pub fn with_places(command: Command, places: &Places) -> Command {
    if places.is_empty() {
        return command;
    }
    command.mut_subcommands(|below| {
        let name = below.get_name().to_owned();
        let below = below.mut_args(|argument| with_place(argument, &name, places));
        with_places(below, places)
    })
}

fn with_place(argument: Arg, command: &str, places: &Places) -> Arg {
    let parser = match (command, argument.get_id().as_str()) {
        ("read" | "watch", "rtt") => parser(places, RttChoice::parse),
        (_, "rtt") => parser(places, parse_duration),
        ("relay" | "watch" | "top", "link") => parser(places, |text| Ok::<_, Infallible>(text.to_owned())),
        (_, "link") => parser(places, str::parse::<LinkDescription>),
        ("check", "max_predicted") => budget_parser(places, predicted),
        ("check", "max_held") => budget_parser(places, held),
        ("predict", "files") => {
            let places = places.clone();
            PathBufValueParser::new()
                .map(move |file| places.resolve_file(file))
                .into()
        }
        _ => return argument,
    };
    argument.value_parser(parser)
}

/// The link of a budget follows its last `@`; the name of an operation before it stays as it is.
fn budget_parser<T, E>(places: &Places, parse: fn(&str) -> Result<T, E>) -> ValueParser
where
    T: Clone + Send + Sync + 'static,
    E: Display + 'static,
{
    let places = places.clone();
    ValueParser::from(move |text: &str| match text.rsplit_once('@') {
        Some((budget, link)) => places.parse_with(link, |link| parse(&format!("{budget}@{link}"))),
        None => parse(text).map_err(|fault| fault.to_string()),
    })
}

fn parser<T, E>(places: &Places, parse: fn(&str) -> Result<T, E>) -> ValueParser
where
    T: Clone + Send + Sync + 'static,
    E: Display + 'static,
{
    let places = places.clone();
    ValueParser::from(move |text: &str| places.parse_with(text, parse))
}
