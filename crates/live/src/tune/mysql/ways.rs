//! The ways of MySQL and MariaDB.

use super::replies::MysqlReplies;
use super::{insert, select, update};
use crate::tune::native::way::{KnobRow, Series, WayRow};
use model::Job;

/// `COM_STMT_BULK_EXECUTE`.
pub const IN_BULK: &str = "bulk execute";
/// `LOAD DATA LOCAL INFILE`.
pub const LOAD_DATA: &str = "load data";

pub const WAYS: &[WayRow<MysqlReplies>] = &[
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
            spelling: "insert into ... values (...), (...) with {} rows; MySQL Connector/J: \
                       rewriteBatchedStatements=true and executeBatch() every {} rows",
        }),
        run: insert::multi_row,
    },
    WayRow {
        job: Job::Insert,
        name: "pipeline",
        knob: Some(KnobRow {
            name: "depth",
            series: Series::Depth,
            default: None,
            spelling: "{} COM_STMT_EXECUTE under way; MariaDB Connector/J: executeBatch() every {} rows with \
                       useBulkStmts=false",
        }),
        run: insert::pipeline,
    },
    WayRow {
        job: Job::Insert,
        name: IN_BULK,
        knob: Some(KnobRow {
            name: "rows a request",
            series: Series::Rows,
            default: None,
            spelling: "COM_STMT_BULK_EXECUTE of {} rows; MariaDB Connector/J: useBulkStmts=true and executeBatch() every \
                       {} rows; MariaDB Connector/C: STMT_ATTR_ARRAY_SIZE {}",
        }),
        run: insert::in_bulk,
    },
    WayRow {
        job: Job::Insert,
        name: LOAD_DATA,
        knob: Some(KnobRow {
            name: "buffer",
            series: Series::Buffer,
            default: None,
            spelling: "load data local infile ..., {} bytes a packet; Connector/J: allowLoadLocalInfile=true and \
                       setLocalInfileInputStream(...)",
        }),
        run: insert::load_data,
    },
    WayRow {
        job: Job::Select,
        name: "whole result",
        knob: None,
        run: select::whole,
    },
    WayRow {
        job: Job::Select,
        name: "cursor",
        knob: Some(KnobRow {
            name: "fetch size",
            series: Series::Fetch,
            default: None,
            spelling: "COM_STMT_FETCH of {} rows; MySQL Connector/J: useCursorFetch=true and defaultFetchSize={}",
        }),
        run: select::cursor,
    },
    WayRow {
        job: Job::Update,
        name: "read, then by key",
        knob: None,
        run: update::by_key,
    },
    WayRow {
        job: Job::Update,
        name: "cursor, then by key",
        knob: Some(KnobRow {
            name: "fetch size",
            series: Series::FetchForUpdate,
            default: None,
            spelling: "COM_STMT_FETCH of {} rows of a select ... for update, then update ... where key = ... for each row",
        }),
        run: update::cursor_by_key,
    },
    WayRow {
        job: Job::Update,
        name: "read, then a pipeline",
        knob: Some(KnobRow {
            name: "depth",
            series: Series::Depth,
            default: None,
            spelling: "select ... for update, then {} updates under way",
        }),
        run: update::pipeline,
    },
    WayRow {
        job: Job::Update,
        name: "read, then by list",
        knob: Some(KnobRow {
            name: "rows a statement",
            series: Series::Rows,
            default: None,
            spelling: "select ... for update, then update ... where key in (...) with {} keys",
        }),
        run: update::by_list,
    },
    WayRow {
        job: Job::Update,
        name: "one statement",
        knob: None,
        run: update::one_statement,
    },
];
