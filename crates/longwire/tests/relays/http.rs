//! A captured page and its database work: the work is assigned to the page, and only the moved part
//! is predicted to slow down.

use demo::{PageVariant, Server, ShopApplication};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use testbed::Capture;
use testbed::binary;

fn web_server(database: SocketAddr, requests: usize) -> (SocketAddr, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    let address = listener.local_addr().expect("a bound socket has an address");
    let server = std::thread::spawn(move || {
        let workers: Vec<_> = (0..requests)
            .map(|_| {
                let (stream, _) = listener.accept().expect("a client connects");
                std::thread::spawn(move || serve(stream, database))
            })
            .collect();
        for worker in workers {
            worker.join().expect("the page is served");
        }
    });
    (address, server)
}

fn serve(mut stream: TcpStream, database: SocketAddr) {
    let mut request = Vec::new();
    let mut bytes = [0; 1024];
    while !request.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut bytes).expect("the request comes");
        request.extend_from_slice(&bytes[..count]);
    }
    let page = ShopApplication::new()
        .page(database, PageVariant::Chatty)
        .expect("the shop answers");
    let body = format!("{} products\n", page.rows);
    let reply = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).expect("the reply goes out");
}

fn get(server: SocketAddr, path: &str) {
    let mut stream = TcpStream::connect(server).expect("the web server listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: shop\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .expect("the request goes out");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("the reply comes");
    assert!(reply.ends_with(" products\n"), "{reply}");
}

fn longwire(arguments: &[&str], capture: &std::path::Path) -> Vec<Value> {
    let output = binary::longwire(arguments).arg(capture).output();
    let output = output.expect("the binary starts");
    binary::done(&output);
    binary::records(&output)
}

fn number(record: &Value, key: &str) -> f64 {
    record[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} is missing in {record}"))
}

#[test]
fn a_page_is_one_operation_with_the_database_work_it_caused() {
    const PAGES: usize = 12;
    let database = Server::start(std::net::TcpListener::bind("127.0.0.1:0").expect("a free port"))
        .expect("the shop starts");
    let (web, server) = web_server(database.address(), PAGES);
    let capture = Capture::start_ports(&[web.port(), database.address().port()]);
    for page in 0..PAGES / 3 {
        get(web, &format!("/category/{page}?session=secret"));
    }
    for page in 0..PAGES / 3 {
        let other = std::thread::spawn(move || get(web, &format!("/category/{}", 100 + page)));
        get(web, &format!("/category/{}", 200 + page));
        other.join().expect("the other page is served");
    }
    server.join().expect("all pages are served");
    let capture = capture.stop();

    let read = longwire(&["read", "--json"], &capture.path());
    let pages: Vec<&Value> = read.iter().filter(|record| record["kind"] == "http").collect();
    assert_eq!(pages.len(), PAGES);
    for page in &pages {
        let name = page["operation_name"].as_str().expect("a text");
        assert!(
            name == "GET /category/?" || name == "GET /category/??session=?",
            "{name}"
        );
    }
    // Page: handshake and request. Database: handshake, login and 25 statements.
    for page in &pages[..PAGES / 3] {
        assert_eq!(
            (number(page, "turns"), number(page, "connections")),
            (29.0, 2.0),
            "{page}"
        );
    }
    // With two concurrent pages the assignment is a guess, but the work certainly belongs to one of
    // the two.
    let turns: f64 = pages.iter().map(|page| number(page, "turns")).sum();
    assert_eq!(turns, 29.0 * PAGES as f64);
    let other = read
        .iter()
        .filter(|record| record["type"] == "operation" && record["kind"] != "http");
    assert_eq!(other.count(), 0, "no database work is left over");

    let slope = |on: &str| -> f64 {
        let predicted = longwire(
            &["predict", "--json", "--rtt", "10ms,40ms", "--on", on],
            &capture.path(),
        );
        let mut times = predicted
            .iter()
            .filter(|record| {
                record["type"] == "prediction" && record["operation_name"] == "GET /category/??session=?"
            })
            .map(|record| number(record, "duration_ns"));
        let (near, far) = (times.next().expect("at 10 ms"), times.next().expect("at 40 ms"));
        (far - near) / 30e6
    };
    // Milliseconds of page per millisecond of distance: the number of moved round trips, within 2
    // %.
    assert!(
        (slope("postgres") - 27.0).abs() < 27.0 * 0.02,
        "{}",
        slope("postgres")
    );
    assert!((slope("http") - 2.0).abs() < 0.05, "{}", slope("http"));
}
