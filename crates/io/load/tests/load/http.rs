use super::{assert_whole, plan, run};
use load::http::HttpLoad;
use load::{Error, Outcome, Plan};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Serves every request with `answer`, which returns whether the connection continues. Returns the
/// result of `load` and the number of connections.
pub fn serve(
    answer: impl Fn(&str, &mut TcpStream) -> bool + Sync,
    load: impl FnOnce(SocketAddr) -> Outcome,
) -> (Outcome, u64) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let (connections, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                connections.fetch_add(1, Ordering::SeqCst);
                let answer = &answer;
                scope.spawn(move || converse(stream, answer));
            }
        });
        let outcome = load(address);
        over.store(true, Ordering::SeqCst);
        // Wakes the listener.
        TcpStream::connect(address).unwrap();
        outcome
    });
    (outcome, connections.load(Ordering::SeqCst))
}

fn converse(mut stream: TcpStream, answer: &(impl Fn(&str, &mut TcpStream) -> bool + Sync)) {
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if lines.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        if !answer(&head, &mut stream) {
            return;
        }
    }
}

fn load(address: SocketAddr, keep_alive: bool, plan: &Plan) -> Outcome {
    let url = format!("http://site:{}/a/page?x=1#part", address.port());
    run(&HttpLoad::new(&url, address, keep_alive).unwrap(), plan).unwrap()
}

#[test]
fn each_request_has_a_connection_or_each_client_has() {
    let answer = |head: &str, stream: &mut TcpStream| {
        assert!(
            head.starts_with("GET /a/page?x=1 HTTP/1.1\r\nHost: site:"),
            "{head}"
        );
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            .is_ok()
    };
    let (outcome, connections) = serve(answer, |address| load(address, false, &plan(3, 30)));
    assert_whole(&outcome, 30);
    assert_eq!(connections, 30);
    let mut warm = plan(3, 30);
    warm.warm_up = 2;
    let (outcome, connections) = serve(answer, |address| load(address, true, &warm));
    assert_whole(&outcome, 30);
    assert_eq!(connections, 3);
}

#[test]
fn a_duration_lasts_until_the_last_byte_of_the_body() {
    let pause = || std::thread::sleep(Duration::from_millis(20));
    let chunked = |_: &str, stream: &mut TcpStream| {
        for piece in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
            "lo\r\n0\r\n",
            "\r\n",
        ] {
            stream.write_all(piece.as_bytes()).unwrap();
            pause();
        }
        true
    };
    let (outcome, _) = serve(chunked, |address| load(address, true, &plan(2, 10)));
    assert_whole(&outcome, 10);
    assert!(outcome.measured.unwrap().spread.min >= Some(Duration::from_millis(40)));

    let until_close = |_: &str, stream: &mut TcpStream| {
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").unwrap();
        stream.write_all(&vec![b'x'; 1 << 20]).unwrap();
        pause();
        false
    };
    let (outcome, _) = serve(until_close, |address| load(address, false, &plan(2, 10)));
    assert_whole(&outcome, 10);
    assert!(outcome.measured.unwrap().spread.min >= Some(Duration::from_millis(20)));
}

#[test]
fn failures_are_counted_by_their_text_and_are_in_no_other_figure() {
    let number = AtomicU64::new(0);
    let answer = |_: &str, stream: &mut TcpStream| {
        let reply = match number.fetch_add(1, Ordering::SeqCst) % 4 {
            0 => "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
            1 => "HTTP/1.1 301 Elsewhere\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
            2 => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all of it",
            _ => "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        };
        stream.write_all(reply.as_bytes()).unwrap();
        false
    };
    let (outcome, _) = serve(answer, |address| load(address, false, &plan(1, 20)));
    let measured = outcome.measured.unwrap();
    assert_eq!((measured.operations, measured.errors), (5, 15));
    let errors: Vec<(&str, u64)> = outcome
        .errors
        .iter()
        .map(|error| (error.text.as_str(), error.count))
        .collect();
    assert_eq!(
        errors,
        [
            ("server: HTTP status 301", 5),
            ("server: HTTP status 500", 5),
            (
                "server: the connection was closed before the reply was complete",
                5
            ),
        ]
    );
}

#[test]
fn a_server_that_is_not_there_or_never_answers_is_told() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let mut short = plan(2, 4);
    short.timeout = Duration::from_millis(50);
    let outcome = load(address, false, &short);
    assert_eq!((outcome.measured, outcome.errors.len()), (None, 1));
    assert_eq!(outcome.errors[0].text, "server: no complete reply within 0.05 s");
    assert_eq!(outcome.errors[0].count, 4);

    drop(listener);
    let outcome = load(address, false, &plan(1, 3));
    let text = format!(
        "could not connect to the server site:{} ({address}): connection refused",
        address.port()
    );
    assert_eq!(
        (outcome.errors[0].text.as_str(), outcome.errors[0].count),
        (text.as_str(), 3)
    );
    // Persistent connections are opened first: if none can be, there is no run.
    let url = format!("http://{address}");
    let error = run(&HttpLoad::new(&url, address, true).unwrap(), &plan(1, 3)).unwrap_err();
    assert!(error.to_string().ends_with("connection refused"), "{error}");
    for wrong in ["https://site/", "site", "http://site/a b"] {
        assert_eq!(HttpLoad::new(wrong, address, true), Err(Error::NotHttp));
    }
}

#[test]
fn a_run_ends_after_its_time() {
    let answer = |_: &str, stream: &mut TcpStream| {
        std::thread::sleep(Duration::from_millis(10));
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            .is_ok()
    };
    let mut for_a_while = plan(4, 0);
    for_a_while.operations = None;
    for_a_while.duration = Some(Duration::from_millis(300));
    let (outcome, _) = serve(answer, |address| load(address, true, &for_a_while));
    let measured = outcome.measured.unwrap();
    assert!(outcome.elapsed >= Duration::from_millis(300));
    // Four clients with at least 10 ms per operation: at most 30 operations each, plus one in
    // progress at the end.
    assert!(
        (4..=4 * 31).contains(&measured.operations),
        "{}",
        measured.operations
    );
    assert!(measured.per_second <= 400.0, "{}", measured.per_second);
}
