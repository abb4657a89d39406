use super::{insert, select, update};
use crate::native::method::{MethodRow, ParameterRow, Series};
use client::mysql::MysqlReplies;
use model::Job;

pub const IN_BULK: &str = "bulk execute";
pub const LOAD_DATA: &str = "load data";

pub const METHODS: &[MethodRow<MysqlReplies>] = &[
    MethodRow::plain(Job::Insert, "row by row", insert::row_by_row),
    MethodRow::plain(Job::Insert, "prepared row by row", insert::prepared_row_by_row),
    MethodRow::set(
        Job::Insert,
        "multi-row statement",
        ParameterRow {
            name: "rows a statement",
            series: Series::Rows,
            spelling: "insert into ... values (...), (...) with {} rows; MySQL Connector/J: \
                       rewriteBatchedStatements=true and executeBatch() every {} rows",
        },
        insert::multi_row,
    ),
    MethodRow::set(
        Job::Insert,
        "pipeline",
        ParameterRow {
            name: "depth",
            series: Series::Depth,
            spelling: "{} COM_STMT_EXECUTE under method; MariaDB Connector/J: executeBatch() every {} rows with \
                       useBulkStmts=false",
        },
        insert::pipeline,
    ),
    MethodRow::set(
        Job::Insert,
        IN_BULK,
        ParameterRow {
            name: "rows a request",
            series: Series::Rows,
            spelling: "COM_STMT_BULK_EXECUTE of {} rows; MariaDB Connector/J: useBulkStmts=true and executeBatch() every \
                       {} rows; MariaDB Connector/C: STMT_ATTR_ARRAY_SIZE {}",
        },
        insert::in_bulk,
    ),
    MethodRow::set(
        Job::Insert,
        LOAD_DATA,
        ParameterRow {
            name: "buffer",
            series: Series::Buffer,
            spelling: "load data local infile ..., {} bytes a packet; Connector/J: allowLoadLocalInfile=true and \
                       setLocalInfileInputStream(...)",
        },
        insert::load_data,
    ),
    MethodRow::plain(Job::Select, "whole result", select::whole),
    MethodRow::set(
        Job::Select,
        "cursor",
        ParameterRow {
            name: "fetch size",
            series: Series::Fetch,
            spelling: "COM_STMT_FETCH of {} rows; MySQL Connector/J: useCursorFetch=true and defaultFetchSize={}",
        },
        select::cursor,
    ),
    MethodRow::plain(Job::Update, "read then by key", update::by_key),
    MethodRow::set(
        Job::Update,
        "cursor then by key",
        ParameterRow {
            name: "fetch size",
            series: Series::FetchForUpdate,
            spelling: "COM_STMT_FETCH of {} rows of a select ... for update, then update ... where key = ... for each row",
        },
        update::cursor_by_key,
    ),
    MethodRow::set(
        Job::Update,
        "read then a pipeline",
        ParameterRow {
            name: "depth",
            series: Series::Depth,
            spelling: "select ... for update, then {} updates in flight",
        },
        update::pipeline,
    ),
    MethodRow::set(
        Job::Update,
        "read then by list",
        ParameterRow {
            name: "rows a statement",
            series: Series::Rows,
            spelling: "select ... for update, then update ... where key in (...) with {} keys",
        },
        update::by_list,
    ),
    MethodRow::plain(Job::Update, "one statement", update::one_statement),
];
