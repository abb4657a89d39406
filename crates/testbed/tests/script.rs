//! A scripted server reports each deviation of its peer by step and names.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use testbed::script::postgres::{authentication_ok, ready_for_query};
use testbed::script::{Script, ScriptedServer, mysql};

const STARTUP: &[u8] = b"\0\0\0\x08\0\x03\0\0";
const QUERY: &[u8] = b"Q\0\0\0\x06;\0";
const SYNC: &[u8] = b"S\0\0\0\x04";

fn session() -> ScriptedServer {
    Script::postgres()
        .expect("StartupMessage")
        .send(authentication_ok())
        .send(ready_for_query(b'I'))
        .expect("Query")
        .close()
        .start()
}

fn say(server: &ScriptedServer, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).expect("it listens");
    stream.write_all(bytes).expect("it reads");
    stream.shutdown(std::net::Shutdown::Write).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    answer
}

fn deviation(end: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(end)).expect_err("it deviates");
    *panic.downcast::<String>().expect("a text")
}

#[test]
fn a_peer_that_follows_the_script_gets_its_bytes() {
    let server = session();
    let answer = say(&server, &[STARTUP, QUERY].concat());
    assert_eq!(answer, b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I");
    let received = server.finish();
    let names: Vec<&str> = received.iter().map(|message| message.name).collect();
    assert_eq!(names, ["StartupMessage", "Query"]);
    assert_eq!(received[1].bytes, QUERY);
}

#[test]
fn a_deviation_names_its_step_and_both_messages() {
    let after_startup = |bytes: &[u8]| {
        let server = session();
        say(&server, &[STARTUP, bytes].concat());
        deviation(|| drop(server.finish()))
    };
    assert_eq!(
        after_startup(SYNC),
        "Postgres, step 4 of 5: expected Query, received Sync (1 more not reached)"
    );
    assert_eq!(
        after_startup(b""),
        "Postgres, step 4 of 5: expected Query, received the end of the connection (1 more not reached)"
    );
    let open = Script::postgres().expect("StartupMessage").start();
    say(&open, &[STARTUP, SYNC].concat());
    assert_eq!(
        deviation(|| drop(open.finish())),
        "Postgres, after step 1 of 1: received Sync"
    );
}

#[test]
fn a_script_that_nobody_follows_fails_on_drop() {
    let server = session();
    assert_eq!(
        deviation(|| drop(server)),
        "Postgres, step 1 of 5: expected StartupMessage, received no connection (4 more not reached)"
    );
}

#[test]
fn one_connection_that_deviates_fails_all() {
    let server = Script::postgres()
        .expect("StartupMessage")
        .close()
        .start_for_all();
    say(&server, STARTUP);
    say(&server, b"\0\0\0\x08\x04\xd2\x16\x2f");
    assert_eq!(
        deviation(|| drop(server.finish())),
        "Postgres, step 1 of 2: expected StartupMessage, received SSLRequest (1 more not reached)"
    );
}

#[test]
fn a_script_begins_again_until_its_peer_has_enough() {
    let ping = b"\x01\0\0\0\x0e";
    let server = Script::mysql()
        .expect("COM_PING")
        .send(mysql::ok_packet(1))
        .again()
        .start();
    let answer = say(&server, &ping.repeat(3));
    assert_eq!(answer, mysql::ok_packet(1).bytes.repeat(3));
    assert_eq!(server.finish().len(), 3);
}

#[test]
fn a_name_that_no_manual_knows_is_refused() {
    let unknown = deviation(|| drop(Script::postgres().expect("Querry")));
    assert_eq!(unknown, "Postgres has no message Querry");
}
