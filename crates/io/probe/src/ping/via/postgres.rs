//! Links of PostgreSQL by `dblink` and `postgres_fdw`.
//!
//! **dblink** sends a simple query: a call is one round trip if the far server runs one statement
//! for it. The far server confirms this. In three calls its transaction count (second part of
//! `pg_locks.virtualxid`) must rise by one each, and the statement must be the first of its
//! transaction (`statement_timestamp() = transaction_timestamp()`, so no earlier `BEGIN`). The far
//! server also reports its own time.
//!
//! **postgres_fdw** reads through a cursor: `START TRANSACTION`, `DECLARE`, `FETCH`, `CLOSE`, with
//! `COMMIT` after the timed part. With `fetch_size 1` every further row is one `FETCH` statement
//! and one round trip. The time of a call divided by this is its number of round trips.
//!
//! Many rows: dblink reads rows that the far server makes, postgres_fdw those of its catalogue
//! `pg_proc`, with the foreign server's own `fetch_size`.

use super::{Established, OpenLink, Source, ViaError};

/// `link` is a foreign server of the source database.
pub fn open(source: &mut Source<'_, '_>, link: &str, rows: Option<u64>) -> Result<OpenLink, ViaError> {
    let handler = source.value(&format!(
        "select coalesce(p.proname, '') from pg_foreign_server s join pg_foreign_data_wrapper w on w.oid = s.srvfdw \
         left join pg_proc p on p.oid = w.fdwhandler where s.srvname = {}",
        literal(link)
    ))?;
    let Some(handler) = handler else {
        let there = source.column("select srvname from pg_foreign_server order by srvname limit 20")?;
        return Err(ViaError::NoSuchLink {
            link: link.to_owned(),
            there,
        });
    };
    if handler == "postgres_fdw_handler" {
        return open_wrapper(source, link, rows);
    }
    let schema = source.value(
        "select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace \
         where e.extname = 'dblink'",
    )?;
    match schema {
        Some(schema) => open_dblink(source, link, &schema, rows),
        None => Err(ViaError::NoDblink {
            link: link.to_owned(),
            wrapper: if handler.is_empty() {
                "a wrapper without a handler".to_owned()
            } else {
                handler
            },
        }),
    }
}

fn open_dblink(
    source: &mut Source<'_, '_>,
    link: &str,
    schema: &str,
    rows: Option<u64>,
) -> Result<OpenLink, ViaError> {
    let connect = format!(
        "declare t timestamptz; begin t := clock_timestamp(); perform {schema}.dblink_connect('longwire', {}); \
         perform set_config('longwire.via', {}, false); end",
        literal(link),
        since("t")
    );
    source.run(&block(&connect))?;
    let connect = source.value(READ)?.and_then(|text| text.parse().ok());
    let far = "select extract(epoch from clock_timestamp() - statement_timestamp()) * 1e6";
    // Twice: the first includes planning, the second counts.
    let sample = format!(
        "declare t timestamptz; f float8; begin for i in 1..2 loop t := clock_timestamp(); \
         select x into f from {schema}.dblink('longwire', {}) as d(x float8); \
         perform set_config('longwire.via', concat_ws(' ', {took}, {took}, '-', f), false); end loop; end",
        literal(far),
        took = since("t")
    );
    Ok(OpenLink {
        through: "dblink",
        connect: connect.and_then(super::microseconds),
        sample: block(&sample),
        read: READ,
        rows: rows.map(|rows| {
            let far = format!("select repeat('x', {ROW_BYTES}) from generate_series(1, {rows})");
            many_rows(&format!(
                "* from {schema}.dblink('longwire', {}) as d(x text)",
                literal(&far)
            ))
        }),
        turns: 1,
        established: statements_per_call(source, schema)?,
        reopen: Some(block(&format!(
            "begin begin perform {schema}.dblink_disconnect('longwire'); exception when others then null; end; \
             perform {schema}.dblink_connect('longwire', {}); end",
            literal(link)
        ))),
        leftover: None,
    })
}

/// Asks the far server in each call for its transaction count, and whether this statement is the
/// first of its transaction.
fn statements_per_call(source: &mut Source<'_, '_>, schema: &str) -> Result<Established, ViaError> {
    let ask = "select split_part(virtualxid, '/', 2) from pg_locks where pid = pg_backend_pid() \
               and locktype = 'virtualxid' and statement_timestamp() = transaction_timestamp()";
    let ask = format!(
        "select x from {schema}.dblink('longwire', {}) as d(x text)",
        literal(ask)
    );
    let mut counts = Vec::new();
    for _ in 0..CALLS_TO_COUNT {
        counts.push(source.value(&ask)?.and_then(|count| count.parse::<u64>().ok()));
    }
    let one_each = counts
        .windows(2)
        .all(|pair| matches!(pair, [Some(one), Some(next)] if next.wrapping_sub(*one) == 1));
    Ok(if one_each {
        Established::ByFarServer {
            statements: Some(1),
            how: "the far server ran one statement a call, in a transaction of its own".to_owned(),
        }
    } else {
        Established::ByFarServer {
            statements: None,
            how: "not established: the far server's count of transactions is not that of the calls (a pool on the way?)"
                .to_owned(),
        }
    })
}

fn open_wrapper(source: &mut Source<'_, '_>, link: &str, rows: Option<u64>) -> Result<OpenLink, ViaError> {
    if rows.is_some() {
        source.run(&format!(
            "create foreign table pg_temp.longwire_rows (proname text, prosrc text) server {} \
             options (schema_name 'pg_catalog', table_name 'pg_proc')",
            identifier(link)
        ))?;
    }
    source.run(&format!(
        "create foreign table pg_temp.longwire_far (oid oid) server {} options (schema_name 'pg_catalog', \
         table_name 'pg_type', fetch_size '1')",
        identifier(link)
    ))?;
    let before =
        "declare t timestamptz; u timestamptz; v timestamptz; w timestamptz; c refcursor; x oid; begin ";
    let first = format!(
        "{before} t := clock_timestamp(); open c for select oid from pg_temp.longwire_far; \
         u := clock_timestamp(); close c; perform set_config('longwire.via', {}, false); end",
        between("t", "u")
    );
    // The first opening connects, the second reuses the connection.
    let mut opening = || -> Result<Option<f64>, ViaError> {
        source.run(&block(&first))?;
        Ok(source.value(READ)?.and_then(|text| text.parse().ok()))
    };
    let connect = opening()?.zip(opening()?).map(|(first, later)| first - later);
    let sample = format!(
        "{before} t := clock_timestamp(); open c for select oid from pg_temp.longwire_far; fetch c into x; \
         u := clock_timestamp(); fetch c into x; v := clock_timestamp(); fetch c into x; w := clock_timestamp(); close c; \
         perform set_config('longwire.via', concat_ws(' ', {}, {}), false); end",
        between("t", "u + (clock_timestamp() - w)"),
        between("v", "w"),
    );
    Ok(OpenLink {
        through: "postgres_fdw",
        connect: connect.and_then(super::microseconds),
        sample: block(&sample),
        read: READ,
        rows: rows.map(|rows| {
            many_rows(&format!(
                "proname, prosrc from pg_temp.longwire_rows limit {rows}"
            ))
        }),
        turns: 1,
        established: Established::ByDivision {
            words: "START TRANSACTION, DECLARE, FETCH and CLOSE where it is 4; one more, for COMMIT, comes when the \
                    source's transaction ends",
        },
        reopen: None,
        leftover: None,
    })
}

/// `from` is a query without its `select`.
fn many_rows(from: &str) -> String {
    block(&format!(
        "declare t timestamptz; n bigint; begin t := clock_timestamp(); perform {from}; \
         get diagnostics n = row_count; perform set_config('longwire.via', concat_ws(' ', {}, n), false); end",
        since("t")
    ))
}

/// A simple query is one transaction, so the link's transaction ends with it.
fn block(body: &str) -> String {
    format!("do {}", literal(body))
}

/// Microseconds since the time in `variable`.
fn since(variable: &str) -> String {
    between(variable, "clock_timestamp()")
}

fn between(from: &str, to: &str) -> String {
    format!("round((extract(epoch from {to} - {from}) * 1e6)::numeric, 1)::text")
}

/// Correct for both values of `standard_conforming_strings`.
fn literal(text: &str) -> String {
    format!("e'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

const READ: &str = "select current_setting('longwire.via')";
const CALLS_TO_COUNT: usize = 3;
/// About an Ethernet packet each.
const ROW_BYTES: usize = 1400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_bodies_stay_what_they_are() {
        assert_eq!(literal(r"it's \n"), r"e'it''s \\n'");
        assert_eq!(identifier("a\"b"), "\"a\"\"b\"");
    }
}
