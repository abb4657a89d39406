//! Links of MariaDB are tables of the engines FEDERATED (FederatedX) and CONNECT.
//!
//! **FEDERATED** (`--link SERVER/TABLE`) sends the far server one statement for the table's status
//! and one to read it. In a join that reads it once per row of another table, each further row is
//! one further statement. The time of five rows minus that of one is four round trips.
//!
//! **CONNECT** (`--link SERVER`) opens a new connection for every call. A table of type `Execsrc`
//! sends each command of a list as one statement: five commands minus one are four round trips. The
//! rest of a call is connecting.
//!
//! `SERVER` is a row of `CREATE SERVER`. All tables are temporary, except that of CONNECT, which is
//! dropped at the end.

use super::{Established, OpenLink, Source, ViaError};

/// `link` is `SERVER` or `SERVER/TABLE`.
pub fn open(source: &mut Source<'_, '_>, link: &str) -> Result<OpenLink, ViaError> {
    let version = source.value("select version()")?.unwrap_or_default();
    if !can_time(&version) {
        return Err(ViaError::CannotTime { version });
    }
    if source.value("select @@sysdate_is_now").ok().flatten().as_deref() == Some("1") {
        return Err(ViaError::ClockStands);
    }
    if source.value("select database()")?.is_none() {
        return Err(ViaError::NoDatabase);
    }
    let engines = source.column(
        "select engine from information_schema.engines where engine in ('FEDERATED', 'CONNECT') \
         and support in ('YES', 'DEFAULT')",
    )?;
    let has = |engine: &str| engines.iter().any(|there| there == engine);
    match link.split_once('/') {
        Some((_, table)) if has("FEDERATED") => {
            let is_known = table.eq_ignore_ascii_case(SMALL_TABLE);
            open_federated(source, link, if is_known { ITS_COLUMNS } else { "" })
        }
        None if has("CONNECT") => open_connect(source, link),
        // A small table that every MariaDB has, if the link leads to its database.
        None if has("FEDERATED") => open_federated(source, &format!("{link}/{SMALL_TABLE}"), ITS_COLUMNS),
        _ => Err(ViaError::NoEngine),
    }
}

/// Anonymous blocks exist since MariaDB 10.1.1.
fn can_time(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map(str::parse::<u32>);
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or_default();
    version.contains("MariaDB") && (next(), next()) >= (10, 1)
}

/// If `columns` is empty, the engine discovers them.
fn open_federated(source: &mut Source<'_, '_>, table: &str, columns: &str) -> Result<OpenLink, ViaError> {
    source.run(&format!(
        "create temporary table {FAR} {columns} engine=federated connection={}",
        literal(table)
    ))?;
    let rows = source.run(&format!("explain select count(*) from {FAR}"))?;
    let estimate = rows
        .rows
        .first()
        .and_then(|row| row.get(ROWS_OF_EXPLAIN))
        .cloned()
        .flatten();
    let estimate = estimate.and_then(|text| String::from_utf8_lossy(&text).parse().ok());
    if let Some(rows) = estimate.filter(|rows| *rows > MAX_ROWS) {
        return Err(ViaError::LargeTable { rows });
    }
    // Otherwise several rows share one pass through the table.
    source.run("set session join_cache_level = 0")?;
    let passes = |count: u32| {
        let rows: Vec<String> = (1..=count).map(|row| format!("select {row}")).collect();
        format!(
            "select sql_no_cache count(*) into n from ({}) passes straight_join {FAR}",
            rows.join(" union all ")
        )
    };
    let sample = timed(&[
        &format!("select sql_no_cache count(*) into n from {FAR}"),
        &passes(1),
        &passes(1 + MORE),
    ]);
    Ok(OpenLink {
        through: "FEDERATED",
        connect: None,
        sample,
        read: READ,
        rows: None,
        turns: MORE,
        established: Established::ByDivision {
            words: "the table's status and its rows where it is 2",
        },
        reopen: None,
        leftover: None,
    })
}

fn open_connect(source: &mut Source<'_, '_>, server: &str) -> Result<OpenLink, ViaError> {
    let connection = source.value("select connection_id()")?.unwrap_or_default();
    let table = format!("longwire_via_{connection}");
    source.run(&format!(
        "create table {table} (command varchar(64) not null flag=0, number int(6) not null flag=1, \
         message varchar(255) flag=2) engine=connect table_type=mysql connection={} option_list='Execsrc=1'",
        literal(server)
    ))?;
    let commands = |count: u32| {
        let list: Vec<String> = (0..count).map(|number| format!("'do {number}'")).collect();
        format!(
            "select sql_no_cache count(*) into n from {table} where command in ({})",
            list.join(", ")
        )
    };
    let sample = timed(&[&commands(1), &commands(1), &commands(1 + MORE)]);
    Ok(OpenLink {
        through: "CONNECT",
        connect: None,
        sample,
        read: READ,
        rows: None,
        turns: MORE,
        established: Established::ByDivision {
            words: "CONNECT opens a connection for every call: TCP's handshake, greeting, login and the statement where it is 4",
        },
        reopen: None,
        leftover: Some(table),
    })
}

/// One usual call, one with few round trips, one with [`MORE`] more.
fn timed([call, few, more]: &[&str; 3]) -> String {
    format!(
        "begin not atomic declare n bigint; declare t, u, v, w datetime(6); \
         set t = sysdate(6); {call}; set u = sysdate(6); {few}; set v = sysdate(6); {more}; set w = sysdate(6); \
         set @longwire_via = concat_ws(' ', timestampdiff(microsecond, t, u), \
         timestampdiff(microsecond, v, w), timestampdiff(microsecond, u, v)); end"
    )
}

/// Doubles backslashes, which is wrong under `NO_BACKSLASH_ESCAPES`.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

const FAR: &str = "longwire_far";
/// In `information_schema`, for engines that cannot discover columns: one row per role in use.
const SMALL_TABLE: &str = "ENABLED_ROLES";
const ITS_COLUMNS: &str = "(role_name varchar(128))";
const READ: &str = "select @longwire_via";
/// Round trips of the longer call minus those of the shorter one.
const MORE: u32 = 4;
/// More rows would not fit the first packets of a reply, and take time to read.
const MAX_ROWS: u64 = 100;
/// Position of the estimate among the columns of EXPLAIN.
const ROWS_OF_EXPLAIN: usize = 8;

#[cfg(test)]
mod tests {
    use super::can_time;

    #[test]
    fn only_mariadb_from_10_1_on_has_anonymous_blocks() {
        assert!(can_time("10.11.19-MariaDB-0+deb12u1"));
        assert!(can_time("11.4.2-MariaDB"));
        assert!(!can_time("10.0.38-MariaDB"));
        assert!(!can_time("8.4.2"));
    }
}
