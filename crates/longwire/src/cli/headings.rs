//! Headings that group the flags in the help, the same in every command.

use clap::{Arg, Command};

/// A heading and the long names of its flags. A flag that is in no row is under "Options".
type Heading = (&'static str, &'static [&'static str]);

const HEADINGS: [Heading; 6] = [
    (
        "Distance",
        &[
            "rtt",
            "rate",
            "link",
            "link-echo",
            "spare",
            "prove",
            "verify",
            "level",
        ],
    ),
    (
        "Operations",
        &[
            "operations",
            "host",
            "on",
            "workers",
            "clients",
            "server-cores",
            "client-cores",
            "wake-up",
            "calibration",
        ],
    ),
    (
        "Network interface",
        &[
            "interface",
            "port",
            "filter",
            "ring",
            "write-pcap",
            "write-pcap-size",
        ],
    ),
    (
        "Through a JDBC driver (docs/jdbc.md)",
        &["driver", "driver-class", "property", "bridge"],
    ),
    (
        "Output",
        &[
            "output",
            "html",
            "json",
            "csv",
            "markdown",
            "per-file",
            "exchanges",
            "compressed-sizes",
            "keep-literals",
            "all",
            "explain",
            "summary",
            "progress",
            "report-per-command",
            "prometheus",
            "otlp",
            "junit",
            "github",
            "quiet",
        ],
    ),
    (
        "Security",
        &["keys", "keys-from-command", "allow-cleartext-password"],
    ),
];

pub fn under_headings(command: Command) -> Command {
    command.mut_args(under_heading).mut_subcommands(under_headings)
}

fn under_heading(argument: Arg) -> Arg {
    let long = argument.get_long().map(str::to_owned);
    let found = HEADINGS
        .iter()
        .find(|(_, flags)| long.as_deref().is_some_and(|long| flags.contains(&long)));
    match found {
        Some((heading, _)) => argument.help_heading(*heading),
        None => argument,
    }
}
