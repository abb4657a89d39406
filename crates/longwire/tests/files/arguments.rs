//! A password argument disappears from the process list and still reaches the server.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::Stdio;
use testbed::binary::{longwire, refused, stderr};

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
    // After connecting, it waits for a reply that never comes.
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

#[test]
fn a_message_repeats_only_the_beginning_of_a_long_argument() {
    let filter = format!("port 5432 {}", "or port 6379 ".repeat(5000)) + "adn";
    let long = "x".repeat(100_000);
    for arguments in [
        &["watch", "--interface", "lo", "--filter", &filter][..],
        &["watch", "--interface", &long],
        &["watch", "postgres://db1", "--listen", &long],
        &["ping", "--count", &long, "postgres://db1"],
        &["read", &format!("--{long}")],
    ] {
        let said = stderr(&refused(arguments, &[]));
        assert!(said.len() < 2000, "{} bytes: {:.500}", said.len(), said);
    }
}

#[test]
fn a_ring_is_refused_that_no_kernel_has() {
    for size in ["0", "100kB", "100GiB", "2049MiB"] {
        for command in ["watch", "top"] {
            let words = ["--ring", "2MiB to 2048MiB"];
            refused(&[command, "--interface", "lo", "--ring", size], &words);
        }
    }
    let folder = tempfile::tempdir().expect("a directory");
    let config = folder.path().join("agent.toml");
    std::fs::write(&config, "[interface]\nnames = [\"lo\"]\nring = \"0\"\n").expect("it is written");
    let config = config.display().to_string();
    refused(
        &["agent", "--config", &config, "--check-config"],
        &["2MiB to 2048MiB"],
    );
}
