//! Every kind of server starts, answers, ends, and explains failures.
#![allow(clippy::unwrap_used, reason = "a test that cannot have its server fails")]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use servers::command::CommandServer;
use servers::mariadb::MariaDbConfig;
use servers::nginx::Nginx;
use servers::php_fpm::PhpFpm;
use servers::postgres::PostgresConfig;
use servers::{Error, Here, Readiness, Running, ServerHost, ServerPlace};
use tempfile::TempDir;

fn directory() -> TempDir {
    let directory = tempfile::Builder::new().prefix("servers-").tempdir().unwrap();
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    directory
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn server_place<'a>(name: &'a str, directory: &'a Path, port: u16) -> ServerPlace<'a> {
    ServerPlace {
        name,
        host: &Here,
        directory,
        listen: Ipv4Addr::LOCALHOST,
        port,
        ready_within: Duration::from_secs(60),
    }
}

/// Retries on another port if another process took it.
fn start(start: impl Fn(u16) -> Result<Running, Error>) -> (Running, u16) {
    loop {
        let port = free_port();
        match start(port) {
            Ok(running) => return (running, port),
            Err(error) if error.is_port_in_use() => {}
            Err(error) => panic!("{error}"),
        }
    }
}

fn get(port: u16, path: &str) -> String {
    let mut stream = Here.connect(port).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nHost: site\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

/// The process has ended, and the port is closed.
fn assert_gone(process: u32, port: u16) {
    assert!(!Path::new(&format!("/proc/{process}")).exists());
    assert!(Here.connect(port).is_err());
}

fn assert_no_process_names(directory: &Path) {
    let name = directory.display().to_string();
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let left: Vec<String> = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok())
            .filter(|line| line.contains(&name))
            .collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "{left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn databases_start_answer_and_are_gone() {
    let postgres = directory();
    let data = postgres.path().join("pg");
    let kind = PostgresConfig {
        database: Some("shop".to_owned()),
        ..PostgresConfig::default()
    };
    let (server, port) = start(|port| kind.start(&server_place("database (postgres)", &data, port)));
    // SSLRequest: PostgreSQL answers with one byte that TLS is not available.
    let mut stream = Here.connect(port).unwrap();
    stream.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"N");
    let process = server.process_id();
    drop(server);
    assert_gone(process, port);
    assert_no_process_names(&data);

    let mariadb = directory();
    let data = mariadb.path().join("my");
    let kind = MariaDbConfig {
        user: Some(("it's".to_owned(), "a \\ 'secret'".to_owned())),
        database: Some("shop`s".to_owned()),
        ..MariaDbConfig::default()
    };
    let (server, port) = start(|port| kind.start(&server_place("database (mariadb)", &data, port)));
    let mut greeting = [0; 5];
    Here.connect(port).unwrap().read_exact(&mut greeting).unwrap();
    assert_eq!(greeting[4], 10, "the protocol's version");
    let process = server.process_id();
    drop(server);
    assert_gone(process, port);
    assert_no_process_names(&data);
}

#[test]
fn nginx_serves_files_and_php() {
    let private = directory();
    let root = private.path().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("plain.txt"), "plain words\n").unwrap();
    let script = "<?php echo 6 * 7, ' ', getenv('SITE'), ' ', ini_get('memory_limit'), ' ',\
                  opcache_get_status(false) !== false ? 'kept' : 'not kept';";
    std::fs::write(root.join("index.php"), script).unwrap();

    let php = PhpFpm {
        listens_on_tcp: false,
        workers: 2,
        settings: vec![("memory_limit".to_owned(), "77M".to_owned())],
        environment: vec![("SITE".to_owned(), "a \"site\"".to_owned())],
    };
    let php_directory = private.path().join("php");
    let php_server = php
        .start(&server_place("php (php-fpm)", &php_directory, 0))
        .unwrap();
    let nginx = Nginx {
        root: root.clone(),
        php: Some(PhpFpm::socket(&php_directory).display().to_string()),
        directives: vec!["add_header X-Lab yes;".to_owned()],
    };
    let nginx_directory = private.path().join("nginx");
    let (server, port) = start(|port| nginx.start(&server_place("web (nginx)", &nginx_directory, port)));

    let plain = get(port, "/plain.txt");
    assert!(plain.starts_with("HTTP/1.1 200"), "{plain}");
    assert!(
        plain.contains("X-Lab: yes") && plain.ends_with("\r\n\r\nplain words\n"),
        "{plain}"
    );
    for path in ["/", "/index.php", "/a/page/without/a/file?x=1"] {
        let page = get(port, path);
        assert!(page.ends_with("\r\n\r\n42 a \"site\" 77M kept"), "{page}");
    }
    assert!(get(port, "/other.php").starts_with("HTTP/1.1 404"));

    let process = server.process_id();
    drop((server, php_server));
    assert_gone(process, port);
    assert_no_process_names(private.path());
}

#[test]
fn a_command_is_ready_when_it_is_said_to_be_and_its_children_end_with_it() {
    let private = directory();
    let child = private.path().join("child");
    let server = CommandServer {
        words: vec![
            "sh".into(),
            "-c".into(),
            "echo $WORD; sleep 1000 & echo $! > child; wait".into(),
        ],
        environment: vec![("WORD".into(), "at last".into())],
        directory: None,
        readiness: Readiness::Log("at last".into()),
        user: None,
    };
    let running = server
        .start(&server_place("sleeper (command)", private.path(), 0))
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let read = || {
        std::fs::read_to_string(&child)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    while read().is_empty() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = format!("/proc/{}/stat", read());
    assert!(Path::new(&status).exists());
    drop(running);
    // If no process reaps the child, it stays as a zombie.
    let gone = || std::fs::read_to_string(&status).map_or(true, |line| line.contains(") Z "));
    while !gone() {
        assert!(Instant::now() < deadline, "the child still runs");
        std::thread::sleep(Duration::from_millis(5));
    }

    let by_command = CommandServer {
        words: vec!["sleep".into(), "1000".into()],
        readiness: Readiness::Command(vec!["test".into(), "-e".into(), child.display().to_string()]),
        ..server
    };
    by_command
        .start(&server_place("sleeper (command)", private.path(), 0))
        .unwrap();
}

#[test]
fn what_does_not_get_ready_says_why() {
    let private = directory();
    let start = |words: &[&str], readiness| {
        let server = CommandServer {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            environment: Vec::new(),
            directory: None,
            readiness,
            user: None,
        };
        let mut place = server_place("web (command)", private.path(), 0);
        place.ready_within = Duration::from_millis(300);
        server.start(&place).unwrap_err().to_string()
    };
    assert_eq!(
        start(&["sh", "-c", "echo a reason; exit 3"], Readiness::Port(1)),
        "web (command) ended before it was ready; its log ends with:\na reason"
    );
    assert_eq!(
        start(&["sleep", "1000"], Readiness::Port(1)),
        "web (command) was not ready within 0.3 s: it did not listen on port 1; its log ends with:\n"
    );
    let http = Readiness::Http {
        port: 1,
        path: "/up".into(),
    };
    assert!(start(&["sleep", "1000"], http).contains("it did not answer GET /up on port 1"));
    assert_eq!(
        start(&["no-such-server"], Readiness::Running),
        "no-such-server could not be started: no such program"
    );

    let settings = vec![("shared_buffers".to_owned(), "many".to_owned())];
    let postgres = PostgresConfig {
        settings,
        ..PostgresConfig::default()
    };
    let data = private.path().join("pg");
    let error = postgres
        .start(&server_place("database (postgres)", &data, free_port()))
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("database (postgres) ended before it was ready"),
        "{text}"
    );
    assert!(
        text.contains("invalid value for parameter \"shared_buffers\": \"many\""),
        "{text}"
    );

    let nginx = Nginx {
        root: private.path().to_owned(),
        php: None,
        directives: vec!["no_such_directive;".to_owned()],
    };
    let error = nginx.start(&server_place(
        "web (nginx)",
        &private.path().join("web"),
        free_port(),
    ));
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("unknown directive \"no_such_directive\"")
    );
    assert_no_process_names(private.path());
}
