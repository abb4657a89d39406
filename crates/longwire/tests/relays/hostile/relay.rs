//! The port of `watch` with TLS by longwire: threads, and time limits per client.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;
use testbed::binary::longwire;
use testbed::{Postgres, Started};

fn relay(server: &Postgres) -> (Started, SocketAddr) {
    let target = format!("{}?sslmode=require", server.url());
    let mut command = longwire(&["watch", "--quiet", &target]);
    Started::listening(command.stdout(Stdio::null()), "relaying ")
}

fn carries(server: &Postgres, relay: SocketAddr) -> bool {
    let url = server
        .url()
        .replace(&format!(":{}/", server.port()), &format!(":{}/", relay.port()));
    let mut psql = Command::new("psql");
    psql.args(["-X", "-A", "-t", "-c", "select 'it ' || 'works'", &url])
        .env("PGCONNECT_TIMEOUT", "20")
        .env("PGSSLMODE", "disable")
        .stdin(Stdio::null());
    let output = psql.output().expect("psql is there");
    String::from_utf8_lossy(&output.stdout).trim() == "it works"
}

#[test]
fn clients_that_say_nothing_have_a_bounded_number_of_threads() {
    let server = Postgres::options().tls().start();
    let (relay, address) = relay(&server);
    assert!(carries(&server, address));
    let silent: Vec<TcpStream> = (0..500)
        .map(|_| TcpStream::connect(address).expect("it listens"))
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    let threads = relay.figure("Threads").expect("it runs");
    assert!(
        threads < 200,
        "{threads} threads for {} connections",
        silent.len()
    );
    assert!(carries(&server, address), "a client that speaks gets in");
}

#[test]
fn who_asks_for_encryption_again_and_again_is_turned_away() {
    let server = Postgres::options().tls().start();
    let (_relay, address) = relay(&server);
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a socket");
    let mut answers = 0;
    loop {
        let request = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];
        let mut answer = [0];
        if stream.write_all(&request).is_err() || stream.read_exact(&mut answer).is_err() {
            break;
        }
        answers += 1;
        assert!(answers < 100, "it answers for ever");
    }
    assert!(carries(&server, address));
}
