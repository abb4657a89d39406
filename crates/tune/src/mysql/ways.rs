//! The ways of MySQL and MariaDB.

use super::replies::MysqlReplies;
use super::{insert, select, update};
use crate::native::way::{KnobRow, Series, WayRow};
use model::Job;

/// `COM_STMT_BULK_EXECUTE`.
pub const IN_BULK: &str = "bulk execute";
/// `LOAD DATA LOCAL INFILE`.
pub const LOAD_DATA: &str = "load data";

pub const WAYS: &[WayRow<MysqlReplies>] = &[
    WayRow::plain(Job::Insert, "row by row", insert::row_by_row),
    WayRow::plain(Job::Insert, "prepared, row by row", insert::prepared_row_by_row),
    WayRow::set(
        Job::Insert,
        "multi-row statement",
        KnobRow {
            name: "rows a statement",
            series: Series::Rows,
            spelling: "insert into ... values (...), (...) with {} rows; MySQL Connector/J: \
                       rewriteBatchedStatements=true and executeBatch() every {} rows",
        },
        insert::multi_row,
    ),
    WayRow::set(
        Job::Insert,
        "pipeline",
        KnobRow {
            name: "depth",
            series: Series::Depth,
            spelling: "{} COM_STMT_EXECUTE under way; MariaDB Connector/J: executeBatch() every {} rows with \
                       useBulkStmts=false",
        },
        insert::pipeline,
    ),
    WayRow::set(
        Job::Insert,
        IN_BULK,
        KnobRow {
            name: "rows a request",
            series: Series::Rows,
            spelling: "COM_STMT_BULK_EXECUTE of {} rows; MariaDB Connector/J: useBulkStmts=true and executeBatch() every \
                       {} rows; MariaDB Connector/C: STMT_ATTR_ARRAY_SIZE {}",
        },
        insert::in_bulk,
    ),
    WayRow::set(
        Job::Insert,
        LOAD_DATA,
        KnobRow {
            name: "buffer",
            series: Series::Buffer,
            spelling: "load data local infile ..., {} bytes a packet; Connector/J: allowLoadLocalInfile=true and \
                       setLocalInfileInputStream(...)",
        },
        insert::load_data,
    ),
    WayRow::plain(Job::Select, "whole result", select::whole),
    WayRow::set(
        Job::Select,
        "cursor",
        KnobRow {
            name: "fetch size",
            series: Series::Fetch,
            spelling: "COM_STMT_FETCH of {} rows; MySQL Connector/J: useCursorFetch=true and defaultFetchSize={}",
        },
        select::cursor,
    ),
    WayRow::plain(Job::Update, "read, then by key", update::by_key),
    WayRow::set(
        Job::Update,
        "cursor, then by key",
        KnobRow {
            name: "fetch size",
            series: Series::FetchForUpdate,
            spelling: "COM_STMT_FETCH of {} rows of a select ... for update, then update ... where key = ... for each row",
        },
        update::cursor_by_key,
    ),
    WayRow::set(
        Job::Update,
        "read, then a pipeline",
        KnobRow {
            name: "depth",
            series: Series::Depth,
            spelling: "select ... for update, then {} updates under way",
        },
        update::pipeline,
    ),
    WayRow::set(
        Job::Update,
        "read, then by list",
        KnobRow {
            name: "rows a statement",
            series: Series::Rows,
            spelling: "select ... for update, then update ... where key in (...) with {} keys",
        },
        update::by_list,
    ),
    WayRow::plain(Job::Update, "one statement", update::one_statement),
];
