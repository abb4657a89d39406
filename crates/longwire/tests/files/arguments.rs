//! A password among the arguments is not left in the list of processes, and still reaches the server.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::Stdio;
use testbed::binary::longwire;

#[test]
fn a_password_is_overwritten_before_anything_is_done() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("bound").port();
    let target = format!("postgres://ann:open-sesame@127.0.0.1:{port}/shop?sslmode=disable");
    let mut command = longwire(&["ping", "--count", "1", &target]);
    let mut started = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // By the time it connects, its first acts are over. It waits for a reply that does not come.
    let (mut asked, _) = server.accept().expect("it connects");
    let mut request = [0; 8];
    asked.read_exact(&mut request).expect("its first message");
    let shown = std::fs::read(format!("/proc/{}/cmdline", started.id())).expect("it runs");
    let shown = String::from_utf8_lossy(&shown).replace('\0', " ");
    assert!(
        shown.contains(" ping --count 1 postgres://ann:***********@127.0.0.1:"),
        "{shown}"
    );
    assert!(shown.contains("/shop?sslmode=disable"), "{shown}");
    started.kill().expect("it runs");
    started.wait().expect("it ends");
    let said = BufReader::new(started.stderr.take().expect("piped")).lines();
    let said: Vec<String> = said.map_while(Result::ok).collect();
    assert!(
        said[0].contains("could see the password") && said[0].contains("PGPASSWORD"),
        "{said:?}"
    );
    assert!(!said.iter().any(|line| line.contains("open-sesame")), "{said:?}");
}
