//! Client `redis-cli` through a tunnel.

use super::{assert_same, output, tunnels_to};
use std::fmt::Write;
use std::process::{Command, Stdio};
use testbed::Redis;

#[test]
fn redis_cli_works_unchanged() {
    let server = Redis::start();
    let mut commands = String::new();
    for number in 0..20_000 {
        writeln!(commands, "rpush list 'entry {number} of a list of entries'").expect("a string takes all");
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), commands).expect("it can be written");
    let list = |port: u16, option: &str| output(cli(port).args([option, "lrange", "list", "0", "-1"]));
    let mut direct = None;
    for (level, tunnel) in tunnels_to(server.port()) {
        let port = tunnel.port();
        output(cli(port).arg("flushall"));
        let piped = cli(port)
            .arg("--pipe")
            .stdin(Stdio::from(file.reopen().expect("a file")))
            .output();
        let piped = piped.expect("it starts");
        let said = String::from_utf8_lossy(&piped.stdout).into_owned();
        assert!(said.contains("errors: 0, replies: 20000"), "{said}");
        let direct = direct.get_or_insert_with(|| list(server.port(), "-2"));
        for protocol in ["-2", "-3"] {
            assert_same(
                &list(port, protocol),
                direct,
                &format!("a list at level {level} by RESP{protocol}"),
            );
        }
    }
}

fn cli(port: u16) -> Command {
    Redis::client_at("redis-cli", port)
}
