//! Messages for faults of a driver, its jar, its database or Java.

use super::{NEVER, PGJDBC, WAIT, connect, jdbc, start};
use client::bridge::{
    Bridge, BridgeConnection, BridgeError, BridgeOptions, DriverFiles, Execute, JdbcUrl, Login, Wait,
};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::target::Secret;
use testbed::process::{require, run};
use testbed::{Postgres, PostgresAuth, java};

/// A test driver without a declaration in its jar.
fn noisy(home: &Path) -> Arc<Bridge> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bridge/Noisy.java");
    let classes = home.join("classes");
    let mut compiler = Command::new(require("javac"));
    compiler.args(["-d"]).arg(&classes).arg(source);
    run(compiler);
    let jar = home.join("noisy.jar");
    let mut archiver = Command::new(require("jar"));
    archiver
        .args(["--create", "--file"])
        .arg(&jar)
        .arg("-C")
        .arg(&classes)
        .arg(".");
    run(archiver);
    let options = BridgeOptions {
        jar: Some(java::bridge()),
        ..BridgeOptions::new(DriverFiles::find([jar.to_str().unwrap()]).unwrap())
    };
    Bridge::start(&options, &NEVER).unwrap()
}

fn noisy_login(class: Option<&str>) -> Login {
    Login {
        url: JdbcUrl::parse("jdbc:noisy://db1:7/x?password=s3cret").unwrap(),
        properties: Vec::new(),
        class: class.map(str::to_owned),
    }
}

fn noisy_connection(bridge: &Arc<Bridge>) -> BridgeConnection {
    bridge.connect(&noisy_login(Some("Noisy")), WAIT).unwrap().0
}

fn fails(connection: &mut BridgeConnection, sql: &str) -> BridgeError {
    connection.execute(&Execute::text(sql), WAIT).unwrap_err()
}

#[test]
fn a_driver_that_misbehaves_is_told_and_breaks_nothing() {
    let home = tempfile::tempdir().unwrap();
    let bridge = noisy(home.path());
    let mut connection = noisy_connection(&bridge);
    connection.execute(&Execute::text("read"), WAIT).unwrap();
    assert_eq!(fails(&mut connection, "memory"), BridgeError::NoMemory);
    assert_eq!(
        fails(&mut connection, "odd").to_string(),
        "the driver failed: java.lang.IllegalStateException: value '?' is odd"
    );
    connection.execute(&Execute::text("read"), WAIT).unwrap();
    let mut login = noisy_login(Some("Noisy"));
    login.properties.push(("refuse".to_owned(), Secret::new("yes")));
    login
        .properties
        .push(("password".to_owned(), Secret::new("hunter")));
    let refused = bridge.connect(&login, WAIT).unwrap_err();
    assert_eq!(refused.to_string(), "server: 28000/7 no entry for '?' with *** ?");
    let said = fails(&mut connection, "exit").to_string();
    assert!(
        said.starts_with("the JDBC bridge ended (exit status: 3)"),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
    assert!(matches!(
        bridge.connect(&login, WAIT),
        Err(BridgeError::Died { .. })
    ));
}

#[test]
fn what_takes_too_long_or_is_stopped_is_given_up() {
    let home = tempfile::tempdir().unwrap();
    let bridge = noisy(home.path());
    let began = Instant::now();
    let stopped = sys::StopToken::new().unwrap();
    stopped.stop();
    for (timeout, stop, told) in [
        (
            Duration::from_millis(100),
            &NEVER,
            BridgeError::TimedOut {
                after: Duration::from_millis(100),
            },
        ),
        (WAIT.timeout, &stopped, BridgeError::Stopped),
    ] {
        let mut connection = noisy_connection(&bridge);
        let hung = connection.execute(&Execute::text("hang"), Wait { timeout, stop });
        assert_eq!(hung.unwrap_err(), told);
    }
    // Other connections continue, and a process with hanging threads still exits.
    noisy_connection(&bridge)
        .execute(&Execute::text("read"), WAIT)
        .unwrap();
    let process = bridge.process_id();
    drop(bridge);
    assert!(!Path::new(&format!("/proc/{process}")).exists());
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_driver_that_is_not_there_or_none_is_told() {
    let home = tempfile::tempdir().unwrap();
    let bridge = noisy(home.path());
    let with = |class| bridge.connect(&noisy_login(class), WAIT).unwrap_err();
    assert_eq!(
        with(None).to_string(),
        "no driver takes jdbc:noisy://db1:7/x: the jars hold no driver that says it is one"
    );
    assert!(with(None).hint().unwrap().contains("--driver-class"));
    assert_eq!(
        with(Some("no.Such")),
        BridgeError::NoClass {
            class: "no.Such".to_owned()
        }
    );
    assert_eq!(
        with(Some("java.lang.String")),
        BridgeError::NotADriver {
            class: "java.lang.String".to_owned()
        }
    );
}

#[test]
fn a_wrong_password_and_a_process_that_is_killed_are_told() {
    let server = Postgres::options().auth(PostgresAuth::ScramSha256).start();
    let bridge = start(&[PGJDBC]);
    let url = jdbc(&server.url(), "postgresql");
    let refused = connect(&bridge, &url.replace(Postgres::PASSWORD, "s3cret")).unwrap_err();
    assert!(
        matches!(&refused, BridgeError::Sql { code, .. } if code == "28P01"),
        "{refused}"
    );
    assert!(!refused.to_string().contains("s3cret"));
    let none = url.replace(&server.port().to_string(), "1");
    assert!(matches!(connect(&bridge, &none), Err(BridgeError::Sql { code, .. }) if code == "08001"));
    let (mut connection, _) = connect(&bridge, &url).unwrap();
    let mut kill = Command::new(require("kill"));
    kill.args(["-9", &bridge.process_id().to_string()]);
    run(kill);
    let died = fails(&mut connection, "select 1");
    assert_eq!(died.to_string(), "the JDBC bridge ended (signal: 9 (SIGKILL))");
}
