//! Jobs on MySQL and MariaDB with their native protocol.

mod insert;
mod messages;
mod methods;
mod select;
mod update;

use super::native::job_connection::JobConnection;
use super::native::method::{MethodRow, Work};
use super::native::{Control, Database, KEY};
use super::{Error, MissingMethod};
use client::mysql::{self, ExpectedAnswer, MysqlReplies};
use client::session::Session;
use methods::{IN_BULK, LOAD_DATA, METHODS};
use model::Job;

pub(super) struct MySql;

type Conversation<'a> = JobConnection<'a, MysqlReplies>;

impl Database for MySql {
    type Replies = MysqlReplies;
    const METHODS: &'static [MethodRow<MysqlReplies>] = METHODS;
    const GOODBYE: &'static [u8] = mysql::GOODBYE;
    const TAKEN: &'static [&'static str] = &["1007/HY000"];
    const TRANSACTION: [&'static str; 2] = ["begin", "commit"];

    fn send_request(talk: &mut Conversation<'_>, statement: &str) -> Result<(), Error> {
        query(talk, statement.as_bytes())
    }

    fn product(_: &Session<'_>, version: &str) -> String {
        // "10.11.6-MariaDB-0+deb12u1", "8.4.3"
        let number = version.split('-').next().unwrap_or_default();
        let product = if version.contains("MariaDB") {
            "MariaDB"
        } else {
            "MySQL"
        };
        format!("{product} {number}")
    }

    fn schema(scratch: &str) -> [String; 2] {
        [
            format!("create database {scratch}"),
            format!("drop database {scratch}"),
        ]
    }

    fn columns(widths: &[usize]) -> String {
        let columns = widths.iter().enumerate();
        columns
            .map(|(number, width)| {
                // A row is limited to 64 KiB, excluding columns stored off-page.
                let kind = match width {
                    ..=MAX_SHARED_LEN => format!("varchar({width})"),
                    _ => "mediumtext".to_owned(),
                };
                format!(", c{number} {kind} character set ascii")
            })
            .collect()
    }

    fn table(scratch: &str, name: &str) -> Vec<String> {
        vec![
            format!("create table {scratch}.{name} like {scratch}.origin"),
            format!("alter table {scratch}.{name} add primary key ({KEY})"),
        ]
    }

    fn settled(scratch: &str, table: &str) -> String {
        format!("analyze table {scratch}.{table}")
    }

    fn fill(talk: &mut Conversation<'_>, work: &Work<'_>, table: &str) -> Result<(), Error> {
        let rows = (FILLING.min(work.longest_request) / (2 * work.content.row_bytes())).max(1);
        insert::statements(talk, work, table, rows)
    }

    fn limits(control: &mut Control<'_>) -> Result<(u64, Vec<MissingMethod>), Error> {
        let doing = "asking for the server's limits";
        let longest = control.number(doing, "select @@max_allowed_packet")?;
        let loads = control.number(doing, "select @@local_infile")? == 1;
        let mut absent = Vec::new();
        let mut lacks = |name: &str, reason: &str| {
            absent.push(MissingMethod {
                job: Job::Insert,
                name: name.into(),
                reason: reason.to_owned(),
            });
        };
        if !control.session.takes_bulk() {
            lacks(
                IN_BULK,
                "the server has no COM_STMT_BULK_EXECUTE: MariaDB 10.2 and later have",
            );
        }
        if !loads {
            lacks(
                LOAD_DATA,
                "local_infile is off at the server: set global local_infile = on",
            );
        }
        Ok((longest.min(messages::MAX_BODY_LEN), absent))
    }

    fn memory(control: &mut Control<'_>, process: u32) -> Option<(u64, u64)> {
        // These columns only exist in MariaDB.
        let sql = format!(
            "select memory_used, max_memory_used from information_schema.processlist where id = {process}"
        );
        let rows = control.run_query("asking for the server's memory", &sql).ok()?;
        let row = rows.rows.first()?;
        let number = |place: usize| {
            let text = row.get(place)?.as_deref()?;
            std::str::from_utf8(text).ok()?.parse().ok()
        };
        number(0).zip(number(1))
    }

    fn kill(process: u32) -> String {
        format!("kill {process}")
    }
}

fn query(talk: &mut Conversation<'_>, statement: &[u8]) -> Result<(), Error> {
    mysql::query(&mut talk.out, |text| text.extend_from_slice(statement));
    talk.replies.expect(ExpectedAnswer::Answer);
    talk.send_request()
}

fn prepare(talk: &mut Conversation<'_>, statement: &str) -> Result<u32, Error> {
    mysql::prepare(&mut talk.out, statement);
    talk.replies.expect(ExpectedAnswer::Statement);
    talk.send_request()?;
    Ok(talk.replies.statement())
}

const MAX_SHARED_LEN: usize = 4000;
/// Bytes per statement when filling scratch tables.
const FILLING: u64 = 1 << 20;
