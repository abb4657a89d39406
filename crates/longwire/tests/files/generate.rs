//! Completions and man pages match the existing commands.

use std::fs;
use std::process::Command;
use testbed::binary::{done, longwire, refused, stdout};

fn offered_by_bash(line: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("longwire");
    let output = longwire(&["generate", "bash"]).output().expect("it starts");
    done(&output);
    fs::write(&file, &output.stdout).expect("it can be written");
    let script = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                  _longwire longwire \"${COMP_WORDS[COMP_CWORD]}\" longwire; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash"]).arg(&file).args(line);
    let output = bash.output().expect("bash starts");
    done(&output);
    stdout(&output).lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_and_their_options() {
    assert_eq!(offered_by_bash(&["longwire", "re"]), ["relay", "read"]);
    assert_eq!(offered_by_bash(&["longwire", "read", "--op"]), ["--operations"]);
    assert_eq!(offered_by_bash(&["longwire", "tunnel", "ad"]), ["advise"]);
}

#[test]
fn each_command_is_in_the_completions_of_each_shell_and_has_a_man_page() {
    let folder = tempfile::tempdir().expect("a directory");
    let pages = folder.path().join("share/man1");
    let into = pages.display().to_string();
    done(
        &longwire(&["generate", "man", "--directory", &into])
            .output()
            .expect("it starts"),
    );
    let help = longwire(&["--help"]).output().expect("it starts");
    let help = stdout(&help);
    let list = help.split("\nCommands:\n").nth(1).expect("commands");
    let commands = list.lines().take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    let shells = ["bash", "zsh", "fish"].map(|shell| {
        let output = longwire(&["generate", shell]).output().expect("it starts");
        done(&output);
        stdout(&output)
    });
    for name in commands {
        let page = fs::read_to_string(pages.join(format!("longwire-{name}.1"))).expect(name);
        assert!(
            page.contains(".SH DESCRIPTION") || page.contains(".SH SYNOPSIS"),
            "{page}"
        );
        assert!(shells.iter().all(|text| text.contains(name)), "{name}");
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    refused(&["generate"], &["generate"]);
    refused(&["generate", "man"], &["--directory"]);
    refused(
        &["generate", "man", "--directory", "/dev/null/man1"],
        &["could not write man pages into /dev/null/man1"],
    );
}
