//! `top --interface` shows the same round trips, refusals and missing data as `watch --interface`.

use super::{pgbench, restored, server_of_pgbench, start_with};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use testbed::binary::{done, longwire, number, of_type, program, records};
use testbed::capture::may_capture;
use testbed::waiting::wait_until;
use testbed::{Started, Tmux};

fn right() -> String {
    std::env::var("LONGWIRE_SETPRIV").map_or_else(
        |_| String::new(),
        |setpriv| format!("{setpriv} --inh-caps +net_raw --ambient-caps +net_raw"),
    )
}

const LOAD: [&str; 5] = ["-n", "-c", "2", "-t", "40"];
const NAME: &str = "update pgbench_accounts";

/// Per transaction, as `watch` reports at the interface.
fn turns_by_watch(address: &str) -> String {
    let port = address.rsplit(':').next().expect("a port");
    let observed = [
        "watch",
        "--interface",
        "lo",
        "--port",
        port,
        "--operations",
        "transaction",
        "--json",
        "--",
        "pgbench",
        "-h",
        "127.0.0.1",
        "-p",
        port,
        "-U",
        "postgres",
    ];
    let output = may_capture(&[&observed[..], &LOAD, &["postgres"]].concat()).output();
    let output = output.expect("the binary starts");
    done(&output);
    let records = records(&output);
    let turns: Vec<u64> = of_type(&records, "operation")
        .iter()
        .filter(|record| {
            record["operation_name"]
                .as_str()
                .is_some_and(|name| name.starts_with(NAME))
        })
        .map(|record| number(record, "turns"))
        .collect();
    assert_eq!(turns.len(), 80);
    format!("{:.1}", turns.iter().sum::<u64>() as f64 / turns.len() as f64)
}

#[test]
fn turns_are_those_of_watch_and_connections_have_their_programs() {
    let (server, address) = server_of_pgbench();
    let turns = turns_by_watch(&address);
    let terminal = Tmux::start(200, 40);
    let port = server.port();
    start_with(
        &terminal,
        &right(),
        &format!("--interface lo --port {port} -o run.lwr"),
    );
    terminal.wait_for(&format!("interface lo, packets of port {port}"));
    let load = pgbench(&address, &LOAD).status();
    assert!(load.expect("it starts").success());
    // pgbench first queries over a connection of its own.
    let shown = terminal.wait_for("open: 0 connections, 0 transactions; closed: 3 connections");
    let row = shown.lines().find(|line| line.starts_with(NAME));
    let row = row.unwrap_or_else(|| panic!("{NAME} is not in\n{shown}"));
    assert!(
        row.contains(&format!(" {turns} ")),
        "{turns} round trips are not in: {row}"
    );
    assert!(shown.contains("   dropped 0 of "), "{shown}");
    // Clients pause for seconds between transactions, so their connections stay open.
    let load = Started::start(&mut pgbench(&address, &["-n", "-c", "2", "-T", "120", "-R", "2"]));
    terminal.text("4");
    let shown = terminal.wait_for(&format!("pgbench {} -> postgres ", load.id()));
    assert!(shown.contains("programs"), "{shown}");
    terminal.text("h");
    terminal.wait_for("the page is in longwire-top.html");
    terminal.text("q");
    restored(&terminal, 0);
    let recording = terminal.folder().join("run.lwr").display().to_string();
    let read = longwire(&["read", "--json", &recording])
        .output()
        .expect("it starts");
    done(&read);
    let records = records(&read);
    let updates = of_type(&records, "statement").into_iter().find(|record| {
        record["fingerprint"]
            .as_str()
            .is_some_and(|text| text.starts_with(NAME))
    });
    assert!(number(updates.expect("pgbench updates"), "calls") >= 80);
}

#[test]
fn refusals_are_those_of_watch_before_the_screen() {
    for (before, arguments, words) in [
        (
            "",
            "--interface nowhere7",
            "there is no network interface 'nowhere7': there are",
        ),
        (
            "",
            "--interface lo --filter 'port 1 adn port 2'",
            "at 'adn' (character 8)",
        ),
        (
            "",
            "--interface lo --link rtt=1ms",
            "--listen, --link and --allow-plain-clients are of a relay",
        ),
        ("", "--interface lo run.lwr", "could not open run.lwr"),
        ("", "--port 5432", "--interface"),
        (
            "unshare --user --map-current-user",
            "--interface lo",
            "sudo setcap cap_net_raw+ep",
        ),
    ] {
        let terminal = Tmux::start(200, 24);
        start_with(&terminal, before, arguments);
        let shown = terminal.wait_for("ended 2");
        assert!(shown.replace('\n', "").contains(words), "{shown}");
        assert!(!shown.contains("q quit"), "{shown}");
        assert_eq!(terminal.value("alternate_on"), "0");
    }
}

#[test]
fn an_interface_that_goes_away_is_named_until_q() {
    let terminal = Tmux::start(160, 24);
    let script = format!(
        "ip link set lo up; ip link add near type veth peer far; ip link set near up; ip link set far up; \
         (until [ -e go ]; do sleep 0.1; done; ip link delete near) & exec {} top --interface near",
        program().display()
    );
    std::fs::write(terminal.folder().join("observe"), script).expect("it can be written");
    terminal.line(&format!(
        "cd {}; clear; stty -a >before",
        terminal.folder().display()
    ));
    terminal.line("unshare --user --map-root-user --net sh observe; echo \"ended $?\"; stty -a >after");
    terminal.wait_for("interface near");
    terminal.wait_for("q quit");
    std::fs::write(terminal.folder().join("go"), "").expect("it can be written");
    terminal.wait_for("the interface is gone, nothing more is seen; q quits");
    let shown = terminal.wait_for("warnings 1: the interface near is gone");
    assert!(shown.contains("longwire top"), "{shown}");
    assert_eq!(terminal.value("alternate_on"), "1");
    terminal.text("q");
    restored(&terminal, 0);
}

#[test]
fn packets_that_were_dropped_are_counted_on_the_screen() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    let terminal = Tmux::start(160, 24);
    let arguments = format!("--interface lo --port {} --ring 2MiB", address.port());
    start_with(&terminal, &right(), &arguments);
    terminal.wait_for("   dropped 0 of 0 packets");
    terminal.keys(&["C-z"]);
    terminal.wait_for("ended 14");
    let reader = std::thread::spawn(move || {
        let (mut peer, _) = listener.accept().expect("the client connects");
        std::io::copy(&mut peer, &mut std::io::sink()).expect("it can be read")
    });
    let mut client = TcpStream::connect(address).expect("the reader listens");
    client.write_all(&vec![b'x'; 32 << 20]).expect("it takes all");
    drop(client);
    assert_eq!(reader.join().expect("it reads all"), 32 << 20);
    terminal.line("clear; fg; echo \"finished $?\"");
    wait_until("drops", || {
        let shown = terminal.shown();
        let dropped = shown
            .split("dropped ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next()?.parse().ok());
        dropped.is_some_and(|dropped: u64| dropped > 0)
    });
    terminal.text("q");
    terminal.wait_for("finished 0");
}
