//! The ways of PostgreSQL.

use super::replies::PostgresReplies;
use super::{insert, select, update};
use crate::tune::native::way::{KnobRow, Series, WayRow};
use model::Job;

pub const WAYS: &[WayRow<PostgresReplies>] = &[
    WayRow {
        job: Job::Insert,
        name: "row by row",
        knob: None,
        run: insert::row_by_row,
    },
    WayRow {
        job: Job::Insert,
        name: "prepared, row by row",
        knob: None,
        run: insert::prepared_row_by_row,
    },
    WayRow {
        job: Job::Insert,
        name: "multi-row statement",
        knob: Some(KnobRow {
            name: "rows a statement",
            series: Series::Rows,
            default: None,
            spelling: "insert into ... values (...), (...) with {} rows; pgjdbc: reWriteBatchedInserts=true and \
                       executeBatch() every {} rows",
        }),
        run: insert::multi_row,
    },
    WayRow {
        job: Job::Insert,
        name: "prepared batch",
        knob: Some(KnobRow {
            name: "rows a batch",
            series: Series::Rows,
            default: None,
            spelling: "Bind and Execute of {} rows before a Sync; pgjdbc: executeBatch() every {} rows",
        }),
        run: insert::prepared_batch,
    },
    WayRow {
        job: Job::Insert,
        name: "pipeline",
        knob: Some(KnobRow {
            name: "depth",
            series: Series::Depth,
            default: None,
            spelling: "{} statements under way, each with its Sync; libpq: PQenterPipelineMode",
        }),
        run: insert::pipeline,
    },
    WayRow {
        job: Job::Insert,
        name: "copy",
        knob: Some(KnobRow {
            name: "buffer",
            series: Series::Buffer,
            default: None,
            spelling: "copy ... from stdin, {} bytes a CopyData; pgjdbc: CopyManager.copyIn(sql, reader, {}); libpq: \
                       PQputCopyData",
        }),
        run: insert::copy,
    },
    WayRow {
        job: Job::Select,
        name: "whole result",
        knob: None,
        run: select::whole,
    },
    WayRow {
        job: Job::Select,
        name: "portal",
        knob: Some(KnobRow {
            name: "fetch size",
            series: Series::Fetch,
            default: None,
            spelling: "Execute of at most {} rows; pgjdbc: defaultRowFetchSize={} and setAutoCommit(false)",
        }),
        run: select::portal,
    },
    WayRow {
        job: Job::Select,
        name: "cursor",
        knob: Some(KnobRow {
            name: "fetch size",
            series: Series::Fetch,
            default: None,
            spelling: "declare ... cursor; fetch {} from ...; psycopg: a named cursor's itersize = {}; psql: FETCH_COUNT {}",
        }),
        run: select::cursor,
    },
    WayRow {
        job: Job::Select,
        name: "copy",
        knob: None,
        run: select::copy,
    },
    WayRow {
        job: Job::Update,
        name: "cursor, row by row",
        knob: None,
        run: update::row_by_row,
    },
    WayRow {
        job: Job::Update,
        name: "cursor, then by key",
        knob: Some(KnobRow {
            name: "fetch size",
            series: Series::FetchForUpdate,
            default: None,
            spelling: "fetch {} from a cursor for update, then update ... where key = ... for each row",
        }),
        run: update::by_key,
    },
    WayRow {
        job: Job::Update,
        name: "cursor, then a batch",
        knob: Some(KnobRow {
            name: "rows a batch",
            series: Series::FetchForUpdate,
            default: None,
            spelling: "fetch {} from a cursor for update, then their updates before one Sync; pgjdbc: executeBatch() every {} rows",
        }),
        run: update::batch,
    },
    WayRow {
        job: Job::Update,
        name: "one statement",
        knob: None,
        run: update::one_statement,
    },
];
