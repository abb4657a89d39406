//! Hints for commands and flags that newcomers guess, and for renamed flags.

pub struct Word {
    pub typed: &'static [&'static str],
    pub hint: &'static str,
}

pub struct Flag {
    /// Applies to all commands if empty.
    pub commands: &'static [&'static str],
    pub typed: &'static [&'static str],
    pub hint: &'static str,
}

/// The earlier name stays as an alias.
pub struct Renamed {
    pub commands: &'static [&'static str],
    pub before: &'static str,
    pub now: &'static str,
    pub reason: &'static str,
}

pub const COMMANDS: [Word; 12] = [
    word(
        &[
            "analyze", "analyse", "report", "parse", "show", "open", "pcap", "summary",
        ],
        "longwire read FILE reports on a capture or recording",
    ),
    word(
        &[
            "capture", "sniff", "observe", "monitor", "dump", "record", "trace",
        ],
        "longwire watch TARGET -- COMMAND observes an application, longwire watch --interface NAME an interface",
    ),
    word(
        &["proxy", "forward", "toxiproxy", "chaos"],
        "longwire relay TARGET --link 40ms relays connections over an emulated link",
    ),
    word(
        &["netem", "emulate", "delay", "shape", "slow", "simulate"],
        "longwire link 40ms -- COMMAND runs a command behind an emulated link; longwire relay needs no privilege",
    ),
    word(
        &["bench", "benchmark", "pgbench", "stress", "wrk"],
        "longwire load TARGET puts load on a server; longwire split divides its time into client, network and server",
    ),
    word(
        &["latency", "rtt", "distance", "probe", "tcping"],
        "longwire ping TARGET asks a database, longwire echo ADDRESS another longwire",
    ),
    word(
        &["forecast", "project", "estimate", "what-if", "whatif"],
        "longwire predict FILE --rtt 40ms predicts for another link",
    ),
    word(
        &["iperf", "bandwidth", "qperf", "throughput"],
        "longwire echo ADDRESS --bulk measures rates between two longwires",
    ),
    word(
        &["compress", "vpn", "wan"],
        "longwire tunnel near and far carry connections compressed; tunnel advise says whether it pays",
    ),
    word(
        &["completion", "completions", "man", "manpage"],
        "longwire generate bash|zsh|fish|man",
    ),
    word(&["version"], "longwire --version"),
    word(
        &["tui", "live", "dashboard", "ui", "htop"],
        "longwire top TARGET shows one screen while an application runs",
    ),
];

pub const FLAGS: [Flag; 17] = [
    flag(
        &["relay", "watch", "top"],
        &[
            "--rtt",
            "--delay",
            "--latency",
            "--distance",
            "--rate",
            "--bandwidth",
        ],
        "an emulated link is --link 40ms, or --link 'rtt=40ms rate=10mbit'",
    ),
    flag(
        &["link"],
        &[
            "--rtt",
            "--rate",
            "--link",
            "--delay",
            "--latency",
            "--loss",
            "--jitter",
        ],
        "the link comes first: longwire link 'rtt=40ms rate=10mbit loss=0.1%' -- COMMAND",
    ),
    flag(
        &["load"],
        &["--rtt", "--link", "--latency"],
        "load asks the server where it is: longwire link 40ms -- longwire load ... puts a link between",
    ),
    flag(
        &[],
        &["--latency", "--delay", "--distance", "--ping", "--at"],
        "a round-trip time is --rtt 40ms",
    ),
    flag(
        &[],
        &["--bandwidth", "--bw", "--speed", "--throughput"],
        "a link's rate is --rate 10mbit",
    ),
    flag(
        &[],
        &["--loss", "--jitter", "--queue"],
        "it is part of a link: --link 'rtt=40ms loss=0.1% jitter=2ms queue=64KiB'",
    ),
    flag(
        &["load", "split", "predict"],
        &[
            "--connections",
            "--concurrency",
            "--users",
            "--vus",
            "--workers",
            "--parallel",
            "-C",
        ],
        "clients at once are --clients",
    ),
    flag(
        &["load", "split", "echo"],
        &["--duration", "-d", "-t", "--seconds", "--length"],
        "how long it runs is -T 10s (--time)",
    ),
    flag(
        &["ping", "load"],
        &["--number", "--requests", "--samples", "-N"],
        "how many is -n (ping: --count, load: --requests)",
    ),
    flag(
        &["ping", "load", "tunnel advise"],
        &["--sql", "--query", "-e", "--execute", "--command"],
        "a statement is --statement 'select 1'",
    ),
    flag(
        &["relay", "watch", "top", "tunnel near", "tunnel far"],
        &["--port", "-p", "--bind", "-l", "-b", "--local"],
        "where it listens is --listen PORT or --listen ADDRESS:PORT",
    ),
    flag(
        &[],
        &["--output", "-o", "--out", "--format", "-f", "--xml", "--md"],
        "records are --json, one type of them --csv TABLE or --markdown TABLE, a page is --html FILE",
    ),
    flag(
        &[],
        &["--verbose", "-v", "--debug", "--details", "--full"],
        "--all shows all rows and columns where there are more; records (--json) hold everything",
    ),
    flag(
        &[],
        &[
            "--host",
            "-h",
            "--user",
            "-U",
            "-u",
            "--username",
            "--database",
            "--dbname",
            "--password",
            "-p",
        ],
        "server, user and database are one URL: postgres://user@host:5432/database",
    ),
    flag(
        &["top"],
        &["--interval", "-d", "--delay", "-n", "--json"],
        "top shows a screen, about twice a second; longwire watch writes reports and records",
    ),
    flag(
        &["check"],
        &["--budget", "--max", "--threshold", "--limit"],
        "budgets are --max-round-trips, --max-predicted TIME@LINK, or a file: --budgets budgets.toml",
    ),
    flag(
        &[],
        &["--silent", "-s", "--no-progress"],
        "-q (--quiet) writes results alone",
    ),
];

/// Each name has one meaning in all commands, see docs/flags.md.
pub const RENAMED: [Renamed; 13] = [
    renamed(
        &["split", "tune", "predict"],
        "--at",
        "--link",
        "a link is --link everywhere",
    ),
    renamed(
        &["split"],
        "--at-echo",
        "--link-echo",
        "a link is --link everywhere",
    ),
    renamed(&["tune"], "--runs", "--rounds", "rounds are --rounds everywhere"),
    renamed(
        &["ping"],
        "--link",
        "--database-link",
        "--link is a link of a network elsewhere",
    ),
    renamed(&["ping"], "-c", "-n", "-c is the number of clients elsewhere"),
    renamed(
        &["ping"],
        "--script",
        "--print-script",
        "--script is a transaction elsewhere",
    ),
    renamed(
        &["read", "watch"],
        "--levels",
        "--compressed-sizes",
        "--levels are a tunnel's in tunnel advise",
    ),
    renamed(&["load"], "-i", "--initialize", "-i is an interval elsewhere"),
    renamed(
        &["load"],
        "--rate",
        "--arrival-rate",
        "--rate is a link's elsewhere",
    ),
    renamed(&["load"], "--client", "--clients", "as in split and predict"),
    renamed(
        &["load"],
        "--jobs",
        "--threads",
        "--jobs are kinds of work in tune",
    ),
    renamed(&["load", "tunnel advise"], "--sql", "--statement", "as in ping"),
    renamed(&["tunnel advise"], "--number", "--requests", "as in load"),
];

const fn word(typed: &'static [&'static str], hint: &'static str) -> Word {
    Word { typed, hint }
}

const fn flag(commands: &'static [&'static str], typed: &'static [&'static str], hint: &'static str) -> Flag {
    Flag {
        commands,
        typed,
        hint,
    }
}

const fn renamed(
    commands: &'static [&'static str],
    before: &'static str,
    now: &'static str,
    reason: &'static str,
) -> Renamed {
    Renamed {
        commands,
        before,
        now,
        reason,
    }
}
