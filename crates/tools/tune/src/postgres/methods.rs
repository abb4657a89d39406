use super::{insert, select, update};
use crate::native::method::{MethodRow, ParameterRow, Series};
use client::postgres::PostgresReplies;
use model::Job;

pub const METHODS: &[MethodRow<PostgresReplies>] = &[
    MethodRow::plain(Job::Insert, "row by row", insert::row_by_row),
    MethodRow::plain(Job::Insert, "prepared row by row", insert::prepared_row_by_row),
    MethodRow::set(
        Job::Insert,
        "multi-row statement",
        ParameterRow {
            name: "rows a statement",
            series: Series::Rows,
            spelling: "insert into ... values (...), (...) with {} rows; pgjdbc: reWriteBatchedInserts=true and \
                       executeBatch() every {} rows",
        },
        insert::multi_row,
    ),
    MethodRow::set(
        Job::Insert,
        "prepared batch",
        ParameterRow {
            name: "rows a batch",
            series: Series::Rows,
            spelling: "Bind and Execute of {} rows before a Sync; pgjdbc: executeBatch() every {} rows",
        },
        insert::prepared_batch,
    ),
    MethodRow::set(
        Job::Insert,
        "pipeline",
        ParameterRow {
            name: "depth",
            series: Series::Depth,
            spelling: "{} statements in flight, each with its Sync; libpq: PQenterPipelineMode",
        },
        insert::pipeline,
    ),
    MethodRow::set(
        Job::Insert,
        "copy",
        ParameterRow {
            name: "buffer",
            series: Series::Buffer,
            spelling: "copy ... from stdin, {} bytes a CopyData; pgjdbc: CopyManager.copyIn(sql, reader, {}); libpq: \
                       PQputCopyData",
        },
        insert::copy,
    ),
    MethodRow::plain(Job::Select, "whole result", select::whole),
    MethodRow::set(
        Job::Select,
        "portal",
        ParameterRow {
            name: "fetch size",
            series: Series::Fetch,
            spelling: "Execute of at most {} rows; pgjdbc: defaultRowFetchSize={} and setAutoCommit(false)",
        },
        select::portal,
    ),
    MethodRow::set(
        Job::Select,
        "cursor",
        ParameterRow {
            name: "fetch size",
            series: Series::Fetch,
            spelling: "declare ... cursor; fetch {} from ...; psycopg: a named cursor's itersize = {}; psql: FETCH_COUNT {}",
        },
        select::cursor,
    ),
    MethodRow::plain(Job::Select, "copy", select::copy),
    MethodRow::plain(Job::Update, "cursor row by row", update::row_by_row),
    MethodRow::set(
        Job::Update,
        "cursor then by key",
        ParameterRow {
            name: "fetch size",
            series: Series::FetchForUpdate,
            spelling: "fetch {} from a cursor for update, then update ... where key = ... for each row",
        },
        update::by_key,
    ),
    MethodRow::set(
        Job::Update,
        "cursor then a batch",
        ParameterRow {
            name: "rows a batch",
            series: Series::FetchForUpdate,
            spelling: "fetch {} from a cursor for update, then their updates before one Sync; pgjdbc: executeBatch() every {} rows",
        },
        update::batch,
    ),
    MethodRow::plain(Job::Update, "one statement", update::one_statement),
];
