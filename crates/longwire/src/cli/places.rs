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
        ("check", "max_predicted") => parser(places, predicted),
        ("check", "max_held") => parser(places, held),
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

fn parser<T, E>(places: &Places, parse: fn(&str) -> Result<T, E>) -> ValueParser
where
    T: Clone + Send + Sync + 'static,
    E: Display + 'static,
{
    let places = places.clone();
    ValueParser::from(move |text: &str| places.parse_with(text, parse))
}
