//! Commands that measure a server fit a terminal of 24 lines and 80 columns.

use testbed::{Postgres, Started, Tmux};

/// The lines from command to prompt, with those of stderr.
#[track_caller]
fn shown(terminal: &Tmux, number: usize, command: &str) -> Vec<String> {
    let ended = format!("ended-{number} ");
    terminal.line(&format!("clear; echo begin; $lw {command}; echo {ended}$?"));
    terminal.wait_for(&format!("{ended}0"));
    let shown = terminal.unwrapped();
    let lines = shown
        .lines()
        .skip_while(|line| line.trim_end() != "begin")
        .skip(1);
    lines
        .take_while(|line| !line.starts_with(&ended))
        .map(|line| line.trim_end().to_owned())
        .collect()
}

#[test]
fn a_server_is_measured_in_one_screen() {
    let server = Postgres::start();
    let url = server.url().replace(&format!(":{}@", Postgres::PASSWORD), "@");
    let mut echo = testbed::binary::longwire(&["echo", "--listen", "127.0.0.1:0"]);
    let (_echo, address) = Started::listening(&mut echo, "echo listens on ");
    let commands = [
        format!("ping '{url}' -n 40 -i 10ms"),
        format!("ping '{url}' --connect -n 3 -i 10ms"),
        format!("ping '{url}' '{url}' -n 3 -i 10ms"),
        format!("ping '{url}' --rows 50"),
        format!("echo {address} -T 50ms --request 16..256:*2"),
        format!("echo {address} -T 200ms --bulk"),
        format!("split '{url}' -c 1,2,4,8 -T 500ms --rounds 3 --link 5ms --link 20ms"),
        format!("load '{url}' --statement 'select 1' -c 4 -T 3"),
        format!("load '{url}' --statement 'select 1' -r -R 50 -T 1 -P 0"),
        format!("tune '{url}' --rows 50 --select-rows 200 --rounds 1 --predict --rtt 1ms,10ms,40ms"),
        format!("watch '{url}' -- psql -qXc 'select 1' -o /dev/null"),
    ];
    // Higher than a screen, so that further lines are seen.
    let terminal = Tmux::start(80, 100);
    let (program, password) = (testbed::binary::program(), Postgres::PASSWORD);
    terminal.line(&format!("lw={}; export PGPASSWORD={password}", program.display()));
    let mut faults = Vec::new();
    for (number, command) in commands.iter().enumerate() {
        let lines = shown(&terminal, number, command);
        let text = format!("$ longwire {command}\n{}\n", lines.join("\n"));
        println!("{text}");
        let width = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        if !(1..=24).contains(&lines.len()) || width > 80 {
            faults.push(format!("{} lines, {width} columns:\n{text}", lines.len()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
