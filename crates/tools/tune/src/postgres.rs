//! Jobs on PostgreSQL with its native protocol.

mod insert;
mod messages;
mod methods;
mod select;
mod update;

use super::Error;
use super::MissingMethod;
use super::native::job_connection::JobConnection;
use super::native::memory::ProcessMemory;
use super::native::method::{MethodRow, Work};
use super::native::{Control, Database, KEY};
use client::postgres::{self, PostgresReplies};
use client::session::Session;
use methods::METHODS;
use sys::listening::is_own_address;

pub(super) struct PostgreSql;

type Conversation<'a> = JobConnection<'a, PostgresReplies>;

impl Database for PostgreSql {
    type Replies = PostgresReplies;
    const METHODS: &'static [MethodRow<PostgresReplies>] = METHODS;
    const GOODBYE: &'static [u8] = postgres::GOODBYE;
    const TAKEN: &'static [&'static str] = &["42P06"];
    const TRANSACTION: [&'static str; 2] = ["begin", "commit"];

    fn send_request(talk: &mut Conversation<'_>, statement: &str) -> Result<(), Error> {
        query(talk, statement.as_bytes())
    }

    fn product(_: &Session<'_>, version: &str) -> String {
        // "PostgreSQL 15.18 (Debian ...) on x86_64-pc-linux-gnu, compiled by ..."
        let words: Vec<&str> = version.split(' ').take(2).collect();
        words.join(" ")
    }

    fn schema(scratch: &str) -> [String; 2] {
        [
            format!("create schema {scratch}"),
            format!("drop schema {scratch} cascade"),
        ]
    }

    fn columns(widths: &[usize]) -> String {
        let columns = widths.iter().enumerate();
        columns
            .map(|(number, width)| format!(", c{number} varchar({width})"))
            .collect()
    }

    fn table(scratch: &str, name: &str) -> Vec<String> {
        vec![
            // Autovacuum at a random time would distort some job.
            format!(
                "create table {scratch}.{name} (like {scratch}.origin) with (autovacuum_enabled = false)"
            ),
            format!("alter table {scratch}.{name} add primary key ({KEY})"),
        ]
    }

    fn settled(scratch: &str, table: &str) -> String {
        format!("vacuum analyze {scratch}.{table}")
    }

    fn fill(talk: &mut Conversation<'_>, work: &Work<'_>, table: &str) -> Result<(), Error> {
        insert::copy_into(talk, work, table, FILLING)
    }

    fn limits(_: &mut Control<'_>) -> Result<(u64, Vec<MissingMethod>), Error> {
        Ok((MAX_REQUEST_LEN, Vec::new()))
    }

    fn memory(control: &mut Control<'_>, process: u32) -> Option<(u64, u64)> {
        if control
            .session
            .server()
            .is_some_and(|server| !is_own_address(server.ip()))
        {
            return None;
        }
        let memory = ProcessMemory::from_process(process, "postgres")?;
        Some((memory.own, memory.most))
    }

    fn kill(process: u32) -> String {
        format!(
            "select pg_terminate_backend(pid) from pg_stat_activity \
             where pid = {process} and application_name = 'longwire'"
        )
    }
}

fn query(talk: &mut Conversation<'_>, statement: &[u8]) -> Result<(), Error> {
    postgres::query(&mut talk.out, |text| text.extend_from_slice(statement));
    talk.replies.owe(1);
    talk.send_request()
}

fn prepare(talk: &mut Conversation<'_>, name: &str, statement: &str) -> Result<(), Error> {
    postgres::parse(&mut talk.out, name, statement);
    talk.out.extend_from_slice(postgres::SYNC);
    talk.replies.owe(1);
    talk.send_request()
}

/// Limit for a statement, which the client builds in memory. The server accepts 1 GB.
const MAX_REQUEST_LEN: u64 = 64 << 20;
/// Buffer size of COPY when filling scratch tables.
const FILLING: usize = 64 * 1024;
