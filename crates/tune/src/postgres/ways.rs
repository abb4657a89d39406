//! The ways of PostgreSQL.

use super::replies::PostgresReplies;
use super::{insert, select, update};
use crate::native::way::{KnobRow, Series, WayRow};
use model::Job;

pub const WAYS: &[WayRow<PostgresReplies>] = &[
    WayRow::plain(Job::Insert, "row by row", insert::row_by_row),
    WayRow::plain(Job::Insert, "prepared, row by row", insert::prepared_row_by_row),
    WayRow::set(
        Job::Insert,
        "multi-row statement",
        KnobRow {
            name: "rows a statement",
            series: Series::Rows,
            spelling: "insert into ... values (...), (...) with {} rows; pgjdbc: reWriteBatchedInserts=true and \
                       executeBatch() every {} rows",
        },
        insert::multi_row,
    ),
    WayRow::set(
        Job::Insert,
        "prepared batch",
        KnobRow {
            name: "rows a batch",
            series: Series::Rows,
            spelling: "Bind and Execute of {} rows before a Sync; pgjdbc: executeBatch() every {} rows",
        },
        insert::prepared_batch,
    ),
    WayRow::set(
        Job::Insert,
        "pipeline",
        KnobRow {
            name: "depth",
            series: Series::Depth,
            spelling: "{} statements under way, each with its Sync; libpq: PQenterPipelineMode",
        },
        insert::pipeline,
    ),
    WayRow::set(
        Job::Insert,
        "copy",
        KnobRow {
            name: "buffer",
            series: Series::Buffer,
            spelling: "copy ... from stdin, {} bytes a CopyData; pgjdbc: CopyManager.copyIn(sql, reader, {}); libpq: \
                       PQputCopyData",
        },
        insert::copy,
    ),
    WayRow::plain(Job::Select, "whole result", select::whole),
    WayRow::set(
        Job::Select,
        "portal",
        KnobRow {
            name: "fetch size",
            series: Series::Fetch,
            spelling: "Execute of at most {} rows; pgjdbc: defaultRowFetchSize={} and setAutoCommit(false)",
        },
        select::portal,
    ),
    WayRow::set(
        Job::Select,
        "cursor",
        KnobRow {
            name: "fetch size",
            series: Series::Fetch,
            spelling: "declare ... cursor; fetch {} from ...; psycopg: a named cursor's itersize = {}; psql: FETCH_COUNT {}",
        },
        select::cursor,
    ),
    WayRow::plain(Job::Select, "copy", select::copy),
    WayRow::plain(Job::Update, "cursor, row by row", update::row_by_row),
    WayRow::set(
        Job::Update,
        "cursor, then by key",
        KnobRow {
            name: "fetch size",
            series: Series::FetchForUpdate,
            spelling: "fetch {} from a cursor for update, then update ... where key = ... for each row",
        },
        update::by_key,
    ),
    WayRow::set(
        Job::Update,
        "cursor, then a batch",
        KnobRow {
            name: "rows a batch",
            series: Series::FetchForUpdate,
            spelling: "fetch {} from a cursor for update, then their updates before one Sync; pgjdbc: executeBatch() every {} rows",
        },
        update::batch,
    ),
    WayRow::plain(Job::Update, "one statement", update::one_statement),
];
