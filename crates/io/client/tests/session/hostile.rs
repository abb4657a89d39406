//! Hostile servers: a session ends in time, without harm, and without revealing its password.

use super::open_within;
use client::session::SessionError;
use proptest::prelude::*;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::thread::spawn;
use std::time::Duration;

/// Opens a session to a server that sends `said` and then stays silent; returns the bytes of the
/// client.
fn spoken_to(scheme: &str, said: Vec<u8>) -> (Option<SessionError>, Vec<u8>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&said).ok();
        stream.shutdown(std::net::Shutdown::Write).ok();
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).ok();
        heard
    });
    let url = format!("{scheme}://anna:the-password@127.0.0.1:{port}/3?sslmode=disable");
    let opened = open_within(&url, Duration::from_secs(5));
    let error = opened.map(drop).err();
    (error, server.join().unwrap())
}

fn greeting(method: &str) -> Vec<u8> {
    let mut body = b"\x0a8.4.0\0\x08\0\0\x0012345678\0\xff\xf7\x2d\x02\0\xff\xdf\x15".to_vec();
    body.extend_from_slice(&[0; 10]);
    body.extend_from_slice(b"abcdefghijkl\0");
    body.extend_from_slice(method.as_bytes());
    body.push(0);
    packet(0, &body)
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let [low, middle, high, _] = (body.len() as u32).to_le_bytes();
    [&[low, middle, high, number], body].concat()
}

#[test]
fn the_password_itself_is_not_told_over_a_connection_that_others_can_read() {
    for said in [
        [
            greeting("mysql_native_password"),
            packet(2, b"\xfemysql_clear_password\0"),
        ]
        .concat(),
        [
            greeting("mysql_clear_password"),
            packet(2, b"\xfemysql_clear_password\0"),
        ]
        .concat(),
        [greeting("caching_sha2_password"), packet(2, &[1, 4])].concat(),
    ] {
        let (error, heard) = spoken_to("mysql", said);
        assert!(
            matches!(error, Some(SessionError::PasswordUnprotected { .. })),
            "{error:?}"
        );
        assert!(error.unwrap().hint().unwrap().contains("sslmode=require"));
        assert!(!heard.windows(12).any(|window| window == b"the-password"));
    }
}

#[test]
fn a_server_cannot_make_the_client_work_without_end() {
    let first = b"r=xxxxxxxxxxxxxxxxxxxxxxxx,s=QSXCR+Q6sek8bf92,i=2000000000";
    let sasl = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 8).to_be_bytes();
        [b"R".as_slice(), &length, &kind.to_be_bytes(), body].concat()
    };
    let (error, _) = spoken_to(
        "postgres",
        [sasl(10, b"SCRAM-SHA-256\0\0"), sasl(11, first)].concat(),
    );
    assert!(
        matches!(error, Some(SessionError::NotTheProtocol { .. })),
        "{error:?}"
    );
}

#[test]
fn a_fast_success_of_caching_sha2_is_a_login() {
    let ok = packet(3, &[0, 0, 0, 2, 0, 0, 0]);
    let said = [greeting("caching_sha2_password"), packet(2, &[1, 3]), ok].concat();
    let (error, heard) = spoken_to("mysql", said);
    assert_eq!(error, None);
    assert!(heard.windows(21).any(|window| window == b"caching_sha2_password"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_bytes_end_the_login(
        scheme in prop::sample::select(vec!["postgres", "mysql", "redis"]),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        begins in any::<bool>(),
    ) {
        let beginning = match (begins, scheme) {
            (true, "mysql") => greeting("mysql_native_password"),
            (true, "postgres") => b"R\0\0\0\x0c\0\0\0\x05salt".to_vec(),
            _ => Vec::new(),
        };
        spoken_to(scheme, [beginning, bytes].concat());
    }
}
