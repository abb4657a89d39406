//! Real logins, and other traffic.

use super::{Login, Part};
use client::session::{Session, SessionOptions};
use model::Direction::{self, ClientToServer, ServerToClient};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use testbed::{MariaDb, Postgres, PostgresAuth, Redis};

static NEVER: StopToken = StopToken::never();
const WITHIN: Duration = Duration::from_secs(20);

#[test]
fn nothing_of_a_real_login_is_compressed_and_the_work_behind_it_is() {
    let postgres = [PostgresAuth::Trust, PostgresAuth::ScramSha256];
    for server in postgres.map(|auth| Postgres::options().auth(auth).start()) {
        check(
            &record(&server.url()),
            b"select 'work itself'",
            &[
                b"AuthenticationOk",
                b"SCRAM",
                b"R\0\0\0",
                b"K\0\0\0",
                b"user\0",
                b"p=",
            ],
        );
    }
    let mariadb = MariaDb::start();
    check(
        &record(&mariadb.url()),
        b"select 'work itself'",
        &[b"mysql_native_password", b"MariaDB"],
    );
}

#[test]
fn nothing_of_a_redis_login_is_compressed() {
    let server = Redis::start_with_password();
    let (port, pieces) = proxy("127.0.0.1".to_owned(), server.port());
    let mut client = Redis::client_at("redis-cli", port);
    client
        .args(["-a", Redis::PASSWORD])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut client = client.spawn().unwrap();
    client
        .stdin
        .take()
        .unwrap()
        .write_all(b"PING\nGET work-itself\n")
        .unwrap();
    assert!(client.wait().unwrap().success());
    let pieces: Vec<_> = pieces.iter().collect();
    let whole: Vec<u8> = pieces.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
    assert!(holds(&whole, Redis::PASSWORD.as_bytes()));
    check(&pieces, b"work-itself", &[Redis::PASSWORD.as_bytes(), b"AUTH"]);
}

#[test]
fn a_client_that_encrypts_by_itself_is_told_apart() {
    let server = Postgres::options().tls().start();
    let pieces = record(&format!("{}?sslmode=require", server.url()));
    let mut login = Login::new(Some(server.port()));
    let parts: Vec<Part> = pieces
        .iter()
        .map(|(direction, bytes)| login.pass(*direction, bytes))
        .collect();
    assert_eq!(parts.first(), Some(&Part::Login));
    assert!(
        parts.iter().skip(2).all(|part| *part == Part::Encrypted),
        "{parts:?}"
    );
    assert!(!parts.contains(&Part::Work));
}

#[test]
fn tls_from_the_first_byte_is_told_apart() {
    let hello = [&[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3][..], &[7; 190]].concat();
    let mut login = Login::new(None);
    login.pass(ClientToServer, &hello);
    assert_eq!(
        login.pass(ServerToClient, &[22, 3, 3, 0, 6, 2, 0, 0, 2, 3, 3]),
        Part::Encrypted
    );
}

#[test]
fn what_nobody_knows_is_a_login_for_16_kib_each_way() {
    let mut login = Login::new(None);
    let chunk = [0xfe; 4096];
    for _ in 0..4 {
        assert_eq!(login.pass(ClientToServer, &chunk), Part::Login);
    }
    assert_eq!(login.pass(ClientToServer, &chunk), Part::Work);
    for _ in 0..4 {
        assert_eq!(login.pass(ServerToClient, &chunk), Part::Login);
    }
    assert_eq!(login.pass(ServerToClient, &chunk), Part::Work);
    assert_eq!(login.pass(ClientToServer, &chunk), Part::Work);
}

#[test]
fn a_login_that_fails_is_never_over() {
    let mut login = Login::new(Some(6379));
    assert_eq!(
        login.pass(ClientToServer, b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"),
        Part::Login
    );
    assert_eq!(
        login.pass(ServerToClient, b"-NOAUTH Authentication required.\r\n"),
        Part::Login
    );
    assert_eq!(
        login.pass(ClientToServer, b"*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n"),
        Part::Login
    );
}

/// Checks both whole pieces and single bytes: work is compressed, the login never.
fn check(pieces: &[(Direction, Vec<u8>)], work: &[u8], login_only: &[&[u8]]) {
    for piece in [usize::MAX, 1] {
        let mut login = Login::new(None);
        let mut free = Vec::new();
        for (direction, bytes) in pieces {
            for bytes in bytes.chunks(piece) {
                if login.pass(*direction, bytes) == Part::Work {
                    free.extend_from_slice(bytes);
                }
            }
        }
        assert!(holds(&free, work), "{} bytes of work", free.len());
        for what in login_only {
            assert!(!holds(&free, what), "{}", String::from_utf8_lossy(what));
        }
    }
}

fn holds(bytes: &[u8], what: &[u8]) -> bool {
    bytes.windows(what.len()).any(|window| window == what)
}

fn record(url: &str) -> Vec<(Direction, Vec<u8>)> {
    let target = Target::parse(url).unwrap();
    let (port, pieces) = proxy(target.host.clone(), target.port);
    let url = url.replace(&format!(":{}", target.port), &format!(":{port}"));
    let options = SessionOptions {
        timeout: WITHIN,
        ..SessionOptions::new(&NEVER)
    };
    let mut session = Session::open(&Target::parse(&url).unwrap(), options).unwrap();
    session.query("select 'work itself'", WITHIN).unwrap();
    drop(session);
    pieces.iter().collect()
}

/// A port that forwards one connection and reports its bytes, until both sides have ended.
fn proxy(host: String, port: u16) -> (u16, Receiver<(Direction, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (pieces, recorded) = channel();
    thread::spawn(move || {
        let (client, _) = listener.accept().unwrap();
        let server = TcpStream::connect((host.as_str(), port)).unwrap();
        let (client_read, server_write) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let others = pieces.clone();
        thread::spawn(move || copy(client_read, server_write, ClientToServer, &others));
        copy(server, client, ServerToClient, &pieces);
    });
    (address.port(), recorded)
}

/// Reports bytes before forwarding them, so that the order is causal.
fn copy(mut from: TcpStream, mut to: TcpStream, direction: Direction, pieces: &Sender<(Direction, Vec<u8>)>) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        pieces.send((direction, buffer[..length].to_vec())).unwrap();
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Write);
}
