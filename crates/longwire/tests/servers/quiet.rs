//! `--quiet` of all commands: nothing on standard error but warnings and errors.

use super::lab::SLEEP;
use clap::Command;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use testbed::binary::{bounded, longwire, shown, stderr};
use testbed::{Postgres, Started};

/// Without a terminal it refuses.
const NOT_RUN: [&str; 1] = ["top"];

/// A command by its words, and arguments with which it ends by itself.
fn ending(url: &str, echo: &str) -> Vec<(&'static str, Vec<String>)> {
    let data = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name);
        path.display().to_string()
    };
    let capture = data("remedies/django.pcap.gz");
    let with = |first: &[&str], line: &str| {
        let words = first.iter().copied().chain(line.split_whitespace());
        words.map(str::to_owned).collect::<Vec<String>>()
    };
    vec![
        ("demo", Vec::new()),
        ("ping", with(&[url], "-n 2 -i 10ms")),
        ("echo", with(&[echo], "-T 50ms")),
        ("estimate", with(&[], "--duration 12ms --trips 4")),
        ("calibrate", with(&[], "-T 5s")),
        ("split", with(&[url], "-c 1 -T 500ms --rounds 1 --link 5ms")),
        ("watch", with(&[url], "--html page.html -- true")),
        ("agent", with(&[], "--config agent.toml --check-config")),
        ("relay", with(&[url], "--link 1ms -- true")),
        ("read", with(&[&capture], "--html page.html")),
        ("keys", with(&["-o", "keys.log"], "-- true")),
        ("predict", with(&[&capture], "--rtt 40ms --html page.html")),
        (
            "plan",
            vec![data("symptoms/estate.toml"), data("symptoms/pages.lwr")],
        ),
        (
            "check",
            with(&[&capture], "--max-round-trips 1000 --allow-unseen"),
        ),
        ("link", with(&["5ms"], "-- true")),
        ("lab run", with(&["lab.toml"], "--html page.html")),
        ("lab check", with(&["lab.toml"], "")),
        (
            "load",
            with(&[url, "--statement", "select 1"], "-T 2 --html page.html"),
        ),
        ("mcp", with(&[&capture], "")),
        (
            "tune",
            with(&[url], "--rows 50 --select-rows 100 --rounds 1 --html page.html"),
        ),
        ("tunnel keygen", with(&["near.key"], "")),
        ("tunnel advise", with(&[&capture], "--levels 1 --html page.html")),
        ("generate bash", Vec::new()),
    ]
}

/// Arguments with which it runs until Ctrl-C.
fn endless(url: &str) -> Vec<(&'static str, Vec<String>)> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    vec![
        ("echo", words(&["--listen", "127.0.0.1:0"])),
        (
            "tunnel near",
            words(&["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"]),
        ),
        (
            "tunnel far",
            words(&["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"]),
        ),
        ("ping", words(&[url, "--prometheus", "127.0.0.1:0"])),
    ]
}

#[test]
fn quiet_commands_are_quiet() {
    let server = Postgres::start();
    let url = server.url();
    let mut echo = longwire(&["echo", "--listen", "127.0.0.1:0"]);
    let (_echo, address) = Started::listening(&mut echo, "echo listens on ");
    let directory = tempfile::tempdir().expect("a directory");
    let agent = format!("[[relay]]\ntarget = \"{url}\"\nlisten = \"127.0.0.1:0\"\n");
    for (name, text) in [("lab.toml", SLEEP), ("agent.toml", &agent)] {
        std::fs::write(directory.path().join(name), text).expect("it is written");
    }
    let (ending, endless) = (ending(&url, &address.to_string()), endless(&url));
    let mut faults = Vec::new();
    for (words, arguments) in &ending {
        let mut command = bounded(&["-q"]);
        command
            .args(words.split(' '))
            .args(arguments)
            .current_dir(directory.path());
        let output = command.output().expect("the binary starts");
        if !is_quiet(&stderr(&output)) || output.status.code() == Some(2) {
            faults.push(format!("{words}: {}", shown(&output)));
        }
    }
    for (words, arguments) in &endless {
        let mut command = longwire(&["-q"]);
        command
            .args(words.split(' '))
            .args(arguments)
            .current_dir(directory.path());
        command.stdout(Stdio::piped());
        let started = Started::heard(&mut command);
        std::thread::sleep(Duration::from_secs(1));
        let output = started.interrupt();
        if !is_quiet(&stderr(&output)) || output.status.code() != Some(130) {
            faults.push(format!("{words}: {}", shown(&output)));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let run = ending.iter().chain(&endless).map(|(words, _)| *words);
    let run: BTreeSet<&str> = run.chain(NOT_RUN).collect();
    let all = leaves("", &longwire::cli::command());
    let missing: Vec<&String> = all.iter().filter(|words| !run.contains(words.as_str())).collect();
    assert!(missing.is_empty(), "commands without a row here: {missing:?}");
}

fn is_quiet(errors: &str) -> bool {
    errors
        .lines()
        .all(|line| line.starts_with("longwire: warning: ") || line.starts_with("hint: "))
}

/// Every command without subcommands; `generate` by its first kind.
fn leaves(names: &str, command: &Command) -> Vec<String> {
    let below = command.get_subcommands().filter(|one| one.get_name() != "help");
    let below: Vec<String> = below
        .flat_map(|one| leaves(format!("{names} {}", one.get_name()).trim(), one))
        .collect();
    match below.is_empty() {
        true => vec![names.to_owned()],
        false if names == "generate" => vec!["generate bash".to_owned()],
        false => below,
    }
}
