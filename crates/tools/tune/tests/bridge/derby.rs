//! Derby speaks DRDA, and its server is written in Java.

use super::{WAIT, connect, driver, drivers, start};
use client::bridge::{Execute, HowUpdated};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use testbed::process::{free_port, require};

const SERVER: [&str; 4] = [
    "org.apache.derby:derby:10.16.1.1",
    "org.apache.derby:derbynet:10.16.1.1",
    "org.apache.derby:derbyshared:10.16.1.1",
    "org.apache.derby:derbytools:10.16.1.1",
];
const CLIENT: [&str; 2] = [
    "org.apache.derby:derbyclient:10.16.1.1",
    "org.apache.derby:derbyshared:10.16.1.1",
];

struct Derby {
    process: Child,
    port: u16,
    _home: tempfile::TempDir,
}

impl Derby {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let port = free_port();
        let jars = driver(&SERVER);
        let jars: Vec<String> = jars.jars().iter().map(|jar| jar.display().to_string()).collect();
        let mut command = Command::new(require("java"));
        command
            .args([
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Dderby.stream.error.file=derby.log",
            ])
            .args([
                "-classpath",
                &jars.join(":"),
                "org.apache.derby.drda.NetworkServerControl",
                "start",
            ])
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-noSecurityManager"])
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(process.stdout.take().unwrap());
        while !said.contains("ready to accept") {
            said.clear();
            assert_ne!(lines.read_line(&mut said).unwrap(), 0, "Derby did not start");
        }
        // Drains further output.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self {
            process,
            port,
            _home: home,
        }
    }
}

impl Drop for Derby {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

#[test]
fn derbys_driver_works() {
    let server = Derby::start();
    let bridge = start(&CLIENT);
    let url = format!(
        "jdbc:derby://127.0.0.1:{}/lw;create=true;user=app;password=secret",
        server.port
    );
    let (mut connection, who) = connect(&bridge, &url).unwrap();
    assert!(who.server.unwrap().starts_with("Apache Derby 10.16"));
    let table = "create table t_lw (id int not null primary key, v varchar(40))";
    drivers::works(
        &mut connection,
        table,
        drivers::FOR_UPDATE,
        &[HowUpdated::ByKey, HowUpdated::Batch],
    );
    let done = connection.execute(&Execute::text("values 1"), WAIT).unwrap();
    assert_eq!(done.rows, 1);
    assert!(done.duration < Duration::from_secs(5));
    connection.close(WAIT).unwrap();
}
