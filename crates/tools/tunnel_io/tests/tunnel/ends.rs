//! Half-closes, resets, an unreachable database, a slow reader and a lost lane.

use crate::stand::{self, Tunnel};
use model::Direction;
use rustix::net::sockopt::set_socket_linger;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use testbed::waiting::wait_until;

fn reset(stream: TcpStream) {
    set_socket_linger(&stream, Some(Duration::ZERO)).expect("SO_LINGER");
}

fn is_reset(stream: &mut TcpStream) -> bool {
    let mut rest = [0; 1024];
    loop {
        match stream.read(&mut rest) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn each_side_may_finish_first_and_still_hear_the_other() {
    let database = stand::server(|mut stream| {
        let mut question = Vec::new();
        stream.read_to_end(&mut question).expect("the client's end");
        stream.write_all(&question).expect("write");
    });
    let tunnel = Tunnel::before(database, 1, 1);
    let mut client = tunnel.client();
    client.write_all(b"all I have to say").expect("write");
    client.shutdown(Shutdown::Write).expect("shutdown");
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("read");
    assert_eq!(answer, b"all I have to say");

    let (heard, hears) = mpsc::channel();
    let heard = std::sync::Mutex::new(heard);
    let database = stand::server(move |mut stream| {
        stream.write_all(b"goodbye").expect("write");
        stream.shutdown(Shutdown::Write).expect("shutdown");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("read");
        heard.lock().expect("heard").send(rest).expect("sent");
    });
    let tunnel = Tunnel::before(database, 1, 1);
    let mut client = tunnel.client();
    let mut word = Vec::new();
    client.read_to_end(&mut word).expect("read");
    assert_eq!(word, b"goodbye");
    client.write_all(b"one more thing").expect("write");
    drop(client);
    let rest = hears.recv_timeout(Duration::from_secs(10)).expect("heard");
    assert_eq!(rest, b"one more thing");
    wait_until("the stream is over at both ends", || {
        tunnel.near.totals().open_streams + tunnel.far.totals().open_streams == 0
    });
    assert_eq!(tunnel.near.totals().broken_streams, 0);
}

#[test]
fn a_reset_of_either_side_is_one_at_the_other() {
    let (how, ended) = mpsc::channel();
    let how = std::sync::Mutex::new(how);
    let database = stand::server(move |mut stream| {
        let mut order = [0; 1];
        stream.read_exact(&mut order).expect("an order");
        if order == *b"r" {
            return reset(stream);
        }
        stream.write_all(b"!").expect("write");
        how.lock()
            .expect("how")
            .send(is_reset(&mut stream))
            .expect("sent");
    });
    let tunnel = Tunnel::before(database, 1, 1);
    let mut client = tunnel.client();
    client.write_all(b"r").expect("write");
    assert!(is_reset(&mut client), "the database reset it");

    let mut client = tunnel.client();
    client.write_all(b"s").expect("write");
    client.read_exact(&mut [0; 1]).expect("an answer");
    reset(client);
    assert!(
        ended.recv_timeout(Duration::from_secs(10)).expect("reported"),
        "the client reset it"
    );
    wait_until("both count", || {
        tunnel.near.totals().broken_streams == 2 && tunnel.far.totals().broken_streams == 2
    });
}

#[test]
fn a_database_that_is_not_there_resets_the_client_and_is_told_once() {
    let nobody = TcpListener::bind(stand::any_port()).expect("bind");
    let database = nobody.local_addr().expect("address");
    drop(nobody);
    let tunnel = Tunnel::before(database, 1, 1);
    for _ in 0..3 {
        assert!(is_reset(&mut tunnel.client()));
    }
    let [near_told, far_told] = &tunnel.told;
    let unreachable =
        format!("could not connect to the database {database} ({database}): connection refused");
    wait_until("reported once", || {
        let told = far_told.lock().expect("told");
        told.iter().filter(|line| **line == unreachable).count() == 1
    });
    let near_told = near_told.lock().expect("told");
    let away = near_told
        .iter()
        .filter(|line| line.contains("could not connect to the database"));
    assert_eq!(away.count(), 1, "{near_told:?}");
    let totals = tunnel.far.totals();
    assert_eq!(
        (totals.streams, totals.broken_streams, totals.open_streams),
        (3, 3, 0)
    );
}

#[test]
fn a_slow_reader_holds_back_itself_alone() {
    let database = stand::server(|mut stream| {
        let mut order = [0; 1];
        while stream.read_exact(&mut order).is_ok() {
            let answer = stand::bytes(3, if order == *b"L" { 60_000_000 } else { 1000 });
            if stream.write_all(&answer).is_err() {
                return;
            }
        }
    });
    let tunnel = Tunnel::before(database, 1, 1);
    let mut slow = tunnel.client();
    slow.write_all(b"L").expect("write");
    slow.read_exact(&mut [0; 1]).expect("it begins");
    let mut held = 0;
    wait_until("the far end has sent all that it may", || {
        thread::sleep(Duration::from_millis(100));
        let totals = tunnel.far.totals();
        let before = std::mem::replace(&mut held, totals.ways[Direction::ServerToClient].payload_bytes);
        totals.ways[Direction::ServerToClient].reader_stalls > 0 && before == held
    });
    assert!(
        held < 16_000_000,
        "{held} bytes have gone to a reader that reads nothing"
    );
    let mut quick = tunnel.client();
    let mut answer = vec![0; 1000];
    for _ in 0..50 {
        quick.write_all(b"s").expect("write");
        quick.read_exact(&mut answer).expect("an answer");
        assert!(answer == stand::bytes(3, 1000));
    }
    // Counters are updated once per round.
    wait_until("nothing but the quick one's answers has gone since", || {
        tunnel.far.totals().ways[Direction::ServerToClient].payload_bytes == held + 50_000
    });
    let mut rest = vec![0; 60_000_000 - 1];
    slow.read_exact(&mut rest).expect("the rest");
    assert!(rest == stand::bytes(3, 60_000_000)[1..]);
}

#[test]
fn a_far_end_that_is_gone_ends_its_streams_and_new_ones_work_when_it_is_back() {
    let database = stand::echo_server();
    let (far, _) = stand::far(database, stand::any_port());
    let address = far.addresses()[0];
    let (near, told) = stand::near(address, 1, 1);
    let mut old = stand::client(near.addresses()[0]);
    old.write_all(b"x").expect("write");
    old.read_exact(&mut [0; 1]).expect("an echo");
    far.stop();
    assert!(is_reset(&mut old));
    // A client that connects now waits.
    let waits = thread::spawn({
        let near = near.addresses()[0];
        move || {
            let mut early = stand::client(near);
            early.write_all(b"y").expect("write");
            early.read_exact(&mut [0; 1]).is_ok()
        }
    });
    thread::sleep(Duration::from_millis(100));
    let (far, _) = stand::far(database, address);
    assert!(waits.join().expect("no panic"), "the one that waited is served");
    wait_until("it is over", || {
        let totals = near.totals();
        totals.ways[Direction::ServerToClient].payload_bytes == 2 && totals.open_streams == 0
    });
    let totals = near.stop();
    assert_eq!((totals.streams, totals.broken_streams), (2, 1));
    assert_eq!(totals.lane_losses, 0, "it said that it was stopped");
    let told = told.lock().expect("told");
    assert!(
        told.iter()
            .any(|line| line.contains("was stopped; 1 stream ended with it")),
        "{told:?}"
    );
    far.stop();
}

#[test]
fn without_a_far_end_a_client_waits_and_is_then_turned_away() {
    let nobody = TcpListener::bind(stand::any_port()).expect("bind");
    let address = nobody.local_addr().expect("address");
    drop(nobody);
    let (near, told) = stand::near(address, 1, 1);
    let began = Instant::now();
    assert!(is_reset(&mut stand::client(near.addresses()[0])));
    assert!(
        began.elapsed() >= Duration::from_millis(1900),
        "{:?}",
        began.elapsed()
    );
    let totals = near.stop();
    assert_eq!((totals.streams, totals.refused_streams), (0, 1));
    let told = told.lock().expect("told");
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("connection refused; trying again"), "{told:?}");
    assert!(told[1].ends_with("no lane to the far end within 2 s"), "{told:?}");
}
