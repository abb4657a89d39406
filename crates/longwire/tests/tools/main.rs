//! Tests with programs in other languages: browsers, Python, JavaScript, Spark, DuckDB and
//! ClickHouse, drivers and frameworks.

mod action;
mod comments;
mod frameworks;
mod mcp;
mod packages;
mod page;
mod pytest;
mod queries;
mod run_pages;
mod spark;
mod tables;
