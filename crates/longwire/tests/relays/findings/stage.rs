//! Environment of the programs: servers with the same tables, and commands to reach them through
//! longwire.

use std::path::{Path, PathBuf};
use std::process::Command;
use testbed::{JavaProgram, MariaDb, Postgres, java};

pub struct Stage {
    pub postgres: Postgres,
    pub mariadb: MariaDb,
    jdbc: JavaProgram,
    pages: JavaProgram,
    jars: Vec<PathBuf>,
}

impl Stage {
    pub fn set() -> Self {
        let (postgres, mariadb, [jdbc, pages]) = std::thread::scope(|scope| {
            let programs = scope.spawn(|| ["JdbcPrograms.java", "JdbcPages.java"].map(compile));
            // Not on threads: a server ends with the thread that started it.
            let (postgres, mariadb) = (Postgres::start(), MariaDb::start());
            (postgres, mariadb, programs.join().expect("they compile"))
        });
        postgres.sql(&format!(
            "create table items as select id, 'item ' || id as name from generate_series(1, {ITEMS}) id; \
             alter table items add primary key (id); {ARRIVALS}"
        ));
        mariadb.sql(&format!(
            "use test; create table items (id int primary key, name varchar(40)); \
             insert into items select seq, concat('item ', seq) from seq_1_to_{ITEMS}; {ARRIVALS}"
        ));
        Self {
            postgres,
            mariadb,
            jdbc,
            pages,
            jars: java::jars(&[PGJDBC, MYSQL_CONNECTOR]),
        }
    }

    /// Command line for JdbcPrograms.java with label, program, count and URL of each; `{port}`
    /// becomes the relay's port.
    pub fn jdbc(&self, programs: &[[&str; 4]]) -> Vec<String> {
        let mut command = self.jdbc.command(&self.jars);
        let login = match programs.first() {
            Some([.., url]) if url.starts_with("jdbc:mysql:") => [MariaDb::USER, MariaDb::PASSWORD],
            _ => [Postgres::USER, Postgres::PASSWORD],
        };
        words(command.args(login).args(programs.iter().flatten()))
    }

    pub fn pages(&self, port: u16, requests: u32) -> Vec<String> {
        let mut command = self.pages.command(&self.jars);
        command.args([&port.to_string(), Postgres::USER, Postgres::PASSWORD]);
        words(command.args([PGJDBC_URL, &requests.to_string()]))
    }
}

fn compile(source: &str) -> JavaProgram {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/relays/findings");
    JavaProgram::compile(&folder.join(source), &[])
}

fn words(command: &Command) -> Vec<String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Settings may follow after `&`.
pub const PGJDBC_URL: &str = "jdbc:postgresql://127.0.0.1:{port}/postgres?sslmode=disable";
pub const MYSQL_URL: &str = "jdbc:mysql://127.0.0.1:{port}/test?sslMode=DISABLED";

pub const ITEMS: u32 = 1000;

const ARRIVALS: &str = "create table arrivals (id int, name varchar(40))";
const PGJDBC: &str = "org.postgresql:postgresql:42.7.4";
const MYSQL_CONNECTOR: &str = "com.mysql:mysql-connector-j:9.0.0";
