use super::*;
use crate::listening::ClientSide;
use std::io::{Read, Write};

/// More than the kernel buffers for an unread socket.
const LARGE: usize = 16 * 1024 * 1024;

fn limits() -> HttpLimits {
    HttpLimits {
        connections: 8,
        held_bytes: 2 * LARGE,
        body: 1024 * 1024,
        time: Duration::from_secs(60),
    }
}

fn started(limits: HttpLimits) -> HttpServer {
    let service = ListeningService {
        name: "a test",
        exposes: "see it",
        clients: ClientSide::AsClientsLike,
    };
    let free = "127.0.0.1:0".parse().expect("an address");
    HttpServer::start(free, &service, limits, |request| match request.path.as_str() {
        "/large" => HttpResponse::new(200, "text/plain", vec![b'x'; LARGE]),
        _ => HttpResponse::text(200, format!("{} {}", request.path, request.body.len())),
    })
    .expect("it starts")
}

fn connected(server: &HttpServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a socket");
    stream
}

fn get(server: &HttpServer, path: &str) -> String {
    let mut stream = connected(server);
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes())
        .expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn is_closed(stream: &mut TcpStream) -> bool {
    !matches!(stream.read(&mut [0]), Ok(count) if count > 0)
}

#[test]
fn more_silent_connections_than_there_is_room_for_shut_nobody_out() {
    let server = started(limits());
    let mut silent: Vec<TcpStream> = (0..100).map(|_| connected(&server)).collect();
    let answer = get(&server, "/here");
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("/here 0"),
        "{answer}"
    );
    // The oldest was evicted.
    assert!(is_closed(&mut silent[0]));
}

#[test]
fn answers_that_nobody_reads_are_bounded_in_all() {
    let server = started(limits());
    let mut deaf: Vec<TcpStream> = (0..6)
        .map(|_| {
            let mut stream = connected(&server);
            stream
                .write_all(b"GET /large HTTP/1.1\r\n\r\n")
                .expect("it is sent");
            // It has its answer, of which its socket holds a part.
            stream.peek(&mut [0]).expect("an answer begins");
            stream
        })
        .collect();
    assert!(get(&server, "/here").ends_with("/here 0"));
    let mut whole = 0;
    for stream in &mut deaf {
        let mut read = Vec::new();
        // A closed one has less, or an error.
        stream.read_to_end(&mut read).ok();
        whole += usize::from(read.len() > LARGE);
    }
    assert!((1..=2).contains(&whole), "{whole} answers where two have room");
}

#[test]
fn a_request_that_does_not_end_is_answered_when_its_time_is_over() {
    let server = started(HttpLimits {
        time: Duration::from_millis(100),
        ..limits()
    });
    let (mut silent, mut slow) = (connected(&server), connected(&server));
    slow.write_all(b"GET /he").expect("it is sent");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(is_closed(&mut silent));
}

#[test]
fn a_long_answer_arrives_whole_and_the_end_does_not_wait_for_strangers() {
    let server = started(limits());
    let answer = get(&server, "/large");
    assert_eq!(answer.len() - answer.find("\r\n\r\n").expect("a head") - 4, LARGE);
    let mut silent = connected(&server);
    drop(server);
    assert!(is_closed(&mut silent));
}
