//! The `--help` text of each command is kept in `tests/data/help`, one file per command, so that
//! changes show up in review. `LONGWIRE_BLESS=1 cargo test -p longwire --test files help` rewrites
//! the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use testbed::binary::{done, longwire, stdout};

type Helps = BTreeMap<String, String>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/help")
}

/// Line length comes from `COLUMNS`, without colours.
fn help(command: &[&str]) -> String {
    let mut asked = longwire(command);
    asked.arg("--help").env_clear().env("COLUMNS", "100");
    let output = asked.output().expect("the binary starts");
    done(&output);
    stdout(&output)
}

/// Commands listed in a help text: indented by two spaces, continuation lines by more.
fn listed(help: &str) -> Vec<&str> {
    let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    list.lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect()
}

fn collect_help(command: &[&str], helps: &mut Helps) {
    let text = help(command);
    for name in listed(&text) {
        collect_help(&[command, &[name]].concat(), helps);
    }
    helps.insert([&["longwire"], command].concat().join("-"), text);
}

fn kept() -> Helps {
    let files = fs::read_dir(folder()).into_iter().flatten();
    files
        .map(|file| {
            let path = file.expect("the folder can be read").path();
            let name = path.file_stem().expect("a name").display().to_string();
            (name, fs::read_to_string(&path).expect("help is text"))
        })
        .collect()
}

fn keep(helps: &Helps) {
    let _ = fs::remove_dir_all(folder());
    fs::create_dir_all(folder()).expect("the folder of the snapshots");
    for (name, text) in helps {
        fs::write(folder().join(name).with_extension("txt"), text).expect("it can be written");
    }
}

fn difference(kept: &str, said: &str) -> String {
    let (mut kept, mut said) = (kept.lines(), said.lines());
    for line in 1.. {
        let (was, is) = (kept.next(), said.next());
        if was != is || was.is_none() {
            let [was, is] = [was, is].map(|text| text.unwrap_or("(nothing)"));
            return format!("line {line}\n  kept: {was}\n  said: {is}");
        }
    }
    unreachable!("texts end")
}

#[test]
fn every_command_says_what_is_kept_of_it() {
    let mut helps = Helps::new();
    collect_help(&[], &mut helps);
    assert!(
        helps.len() > 20,
        "the commands were not found: {:?}",
        helps.keys()
    );
    if std::env::var_os("LONGWIRE_BLESS").is_some_and(|value| value == "1") {
        keep(&helps);
    }
    let kept = kept();
    let mut names: Vec<&String> = helps.keys().chain(kept.keys()).collect();
    names.sort();
    names.dedup();
    let text = |of: &Helps, name: &str| of.get(name).cloned().unwrap_or_default();
    let wrong: Vec<String> = names
        .into_iter()
        .filter(|name| helps.get(*name) != kept.get(*name))
        .map(|name| format!("{name}: {}", difference(&text(&kept, name), &text(&helps, name))))
        .collect();
    assert!(
        wrong.is_empty(),
        "{}\nWhere that is meant: LONGWIRE_BLESS=1 cargo test -p longwire --test files help",
        wrong.join("\n")
    );
}

#[test]
fn the_version_says_what_was_built() {
    let output = longwire(&["--version"]).output().expect("the binary starts");
    done(&output);
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let begins = ["longwire ", "commit ", "target ", "features "];
    assert_eq!(lines.len(), begins.len(), "{text}");
    assert!(
        lines
            .iter()
            .zip(begins)
            .all(|(line, begin)| line.starts_with(begin)),
        "{text}"
    );
    let short = longwire(&["-V"]).output().expect("the binary starts");
    assert_eq!(stdout(&short).lines().collect::<Vec<_>>(), lines[..1]);
}
