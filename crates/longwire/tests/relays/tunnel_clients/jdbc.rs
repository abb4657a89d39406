//! JDBC batches, fetch sizes, errors, and cancelling over a separate connection of the driver.

use super::tunnels_to;
use std::path::Path;
use testbed::{JavaProgram, MariaDb, Postgres, java, process};

/// Maven coordinate and URL, with `PORT` to be replaced.
struct Driver {
    coordinate: &'static str,
    urls: &'static [&'static str],
    /// Text type, binary type and sleep statement of the database.
    words: [&'static str; 3],
}

const POSTGRES: [&str; 3] = ["varchar(200)", "bytea", "select pg_sleep(600)"];
/// KingbaseES's driver cannot bind bytes in the mode that PostgreSQL understands.
const KINGBASE: [&str; 3] = ["varchar(200)", "text", "select pg_sleep(600)"];
const MARIADB: [&str; 3] = [
    "varchar(200) character set utf8mb4",
    "longblob",
    "select sleep(600)",
];

#[test]
fn the_drivers_of_postgresql_and_kingbase_work_unchanged() {
    let server = Postgres::options()
        .auth(testbed::postgres::PostgresAuth::ScramSha256)
        .start();
    let (user, password) = (Postgres::USER, Postgres::PASSWORD);
    let drivers = [
        Driver {
            coordinate: "org.postgresql:postgresql:42.7.4",
            urls: &["jdbc:postgresql://127.0.0.1:PORT/postgres"],
            words: POSTGRES,
        },
        Driver {
            coordinate: "cn.com.kingbase:kingbase8:8.6.0",
            urls: &["jdbc:kingbase8://127.0.0.1:PORT/postgres?preferQueryMode=simple"],
            words: KINGBASE,
        },
        Driver {
            coordinate: "cn.com.kingbase:kingbase8:9.0.1",
            urls: &["jdbc:kingbase8://127.0.0.1:PORT/postgres?preferQueryMode=simple"],
            words: KINGBASE,
        },
    ];
    same_through_tunnels(&drivers, server.port(), [user, password]);
}

#[test]
fn the_drivers_of_mariadb_and_mysql_work_unchanged() {
    let server = MariaDb::start();
    let (user, password) = (MariaDb::USER, MariaDb::PASSWORD);
    let drivers = [
        Driver {
            coordinate: "org.mariadb.jdbc:mariadb-java-client:3.4.1",
            urls: &[
                "jdbc:mariadb://127.0.0.1:PORT/test",
                "jdbc:mariadb://127.0.0.1:PORT/test?useCompression=true&useServerPrepStmts=true",
            ],
            words: MARIADB,
        },
        Driver {
            coordinate: "com.mysql:mysql-connector-j:9.0.0",
            urls: &[
                "jdbc:mysql://127.0.0.1:PORT/test?sslMode=DISABLED&useCursorFetch=true",
                "jdbc:mysql://127.0.0.1:PORT/test?sslMode=DISABLED&rewriteBatchedStatements=true",
            ],
            words: MARIADB,
        },
    ];
    same_through_tunnels(&drivers, server.port(), [user, password]);
}

/// Reads the same directly and through a tunnel at every level.
fn same_through_tunnels(drivers: &[Driver], port: u16, login: [&str; 2]) {
    let coordinates: Vec<&str> = drivers.iter().map(|driver| driver.coordinate).collect();
    let jars = java::jars(&coordinates);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/relays/tunnel_clients/JdbcClient.java");
    let program = JavaProgram::compile(&source, &[]);
    let tunnels = tunnels_to(port);
    for (driver, jar) in drivers.iter().zip(jars) {
        let mut client = program.command(&[jar]);
        client.args(driver.words).args(login);
        let ports = std::iter::once(port).chain(tunnels.iter().map(|(_, tunnel)| tunnel.port()));
        for port in ports {
            client.args(
                driver
                    .urls
                    .iter()
                    .map(|url| url.replace("PORT", &port.to_string())),
            );
        }
        let printed = process::run(client);
        let lines: Vec<&str> = printed.lines().filter(|line| line.contains(" rows=")).collect();
        assert_eq!(
            lines.len(),
            driver.urls.len() * (1 + tunnels.len()),
            "{}: {printed}",
            driver.coordinate
        );
        let same = lines.iter().all(|line| *line == lines[0]);
        assert!(
            same,
            "{}, first without and then with tunnels: {lines:#?}",
            driver.coordinate
        );
    }
}
