//! Ways that JDBC offers, and the driver properties they need.

use super::super::{MissingMethod, Shape};
use client::bridge::{HowInserted, HowUpdated, JdbcDialect};
use model::{Job, Method, MethodParameter, ParameterUnit};

#[derive(Debug, Clone)]
pub(super) struct Recipe {
    pub method: Method,
    pub bench_request: BenchRequest,
    needs: Vec<(&'static str, &'static str)>,
    parameter: Turned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BenchRequest {
    Insert(HowInserted),
    Select,
    Update(HowUpdated),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turned {
    Nothing,
    Size,
    FetchSize,
    Property(&'static str),
}

impl Recipe {
    /// All properties, with `value` applied.
    pub fn properties(&self, value: Option<u64>) -> Vec<(&'static str, String)> {
        let mut properties: Vec<(&str, String)> = self
            .needs
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        if let (Turned::Property(name), Some(value)) = (self.parameter, value) {
            properties.push((name, value.to_string()));
        }
        properties
    }

    pub fn size(&self, value: Option<u64>) -> u64 {
        match self.parameter {
            Turned::Size => value.unwrap_or(1),
            Turned::Nothing | Turned::FetchSize | Turned::Property(_) => 1,
        }
    }

    /// 0 keeps the driver's default.
    pub fn fetch_size(&self, value: Option<u64>) -> i32 {
        match self.parameter {
            Turned::FetchSize => value.and_then(|value| i32::try_from(value).ok()).unwrap_or(0),
            Turned::Nothing | Turned::Size | Turned::Property(_) => 0,
        }
    }

    /// True if the driver buffers many rows, so that memory is of interest.
    pub fn holds_rows(&self) -> bool {
        match self.bench_request {
            BenchRequest::Insert(HowInserted::Batch | HowInserted::ManyRows) | BenchRequest::Select => true,
            BenchRequest::Insert(HowInserted::Text | HowInserted::Prepared) | BenchRequest::Update(_) => {
                false
            }
        }
    }
}

/// Available ways of a dialect, and those that it lacks.
pub(super) fn find_recipes(
    dialect: JdbcDialect,
    shape: &Shape,
    columns: u64,
    can_update: bool,
) -> (Vec<Recipe>, Vec<MissingMethod>) {
    let mut recipes = inserting(dialect, shape, columns);
    recipes.extend(selecting(dialect, shape));
    let mut absent = Vec::new();
    if can_update {
        recipes.extend(updating(dialect, shape));
    } else {
        absent.push(MissingMethod {
            job: Job::Update,
            name: "row by row".into(),
            reason: "the example table has no column of whole numbers together with one of text".to_owned(),
        });
    }
    (recipes, absent)
}

/// Fills tables in batches, rewritten if the driver can.
pub(super) fn filling(dialect: JdbcDialect) -> Recipe {
    Recipe {
        needs: rewriting(dialect).into_iter().collect(),
        ..plain(Job::Insert, "batch", BenchRequest::Insert(HowInserted::Batch))
    }
}

fn inserting(dialect: JdbcDialect, shape: &Shape, columns: u64) -> Vec<Recipe> {
    let mut recipes = vec![
        plain(Job::Insert, "row by row", BenchRequest::Insert(HowInserted::Text)),
        plain(
            Job::Insert,
            "prepared row by row",
            BenchRequest::Insert(HowInserted::Prepared),
        ),
        Recipe {
            needs: not_rewriting(dialect).into_iter().collect(),
            ..sized(
                plain(Job::Insert, "batch", BenchRequest::Insert(HowInserted::Batch)),
                ("rows a batch", doubled(10, shape.rows.min(10_240))),
                "addBatch() {} times, then executeBatch()".to_owned(),
            )
        },
    ];
    if let Some((name, value)) = rewriting(dialect) {
        recipes.push(Recipe {
            needs: vec![(name, value)],
            ..sized(
                plain(
                    Job::Insert,
                    "rewritten batch",
                    BenchRequest::Insert(HowInserted::Batch),
                ),
                ("rows a batch", doubled(10, shape.rows.min(10_240))),
                format!("{name}={value} in the URL, addBatch() {{}} times, then executeBatch()"),
            )
        });
    }
    if has_multi_row(dialect) {
        // PostgreSQL and MySQL have 16-bit parameter counts.
        let most = (MAX_PARAMETERS / columns.max(1)).min(shape.rows).min(5_120);
        recipes.push(sized(
            plain(
                Job::Insert,
                "multi-row statement",
                BenchRequest::Insert(HowInserted::ManyRows),
            ),
            ("rows a statement", doubled(10, most)),
            "insert into ... values (?, ...) {} times, as one statement".to_owned(),
        ));
    }
    recipes
}

fn selecting(dialect: JdbcDialect, shape: &Shape) -> Vec<Recipe> {
    let mut recipes = Vec::new();
    if dialect == JdbcDialect::Informix {
        let method = plain(Job::Select, "fetch buffer", BenchRequest::Select);
        recipes.push(Recipe {
            parameter: Turned::Property("FET_BUF_SIZE"),
            method: Method {
                parameter: Some(MethodParameter {
                    name: "FET_BUF_SIZE".into(),
                    unit: ParameterUnit::Bytes,
                    values: vec![4096, 8192, 16384, 32767, 65535, 131_072, 262_144, 524_288],
                    default: Some(4096),
                    spelling: "FET_BUF_SIZE={} in the URL".into(),
                }),
                ..method.method
            },
            ..method
        });
        return recipes;
    }
    recipes.push(plain(Job::Select, "driver default", BenchRequest::Select));
    let (needs, spelling, default) = fetching(dialect);
    let method = plain(Job::Select, "fetch size", BenchRequest::Select);
    recipes.push(Recipe {
        needs,
        parameter: Turned::FetchSize,
        method: Method {
            parameter: Some(MethodParameter {
                name: "fetch size".into(),
                unit: ParameterUnit::Rows,
                values: doubled(10, shape.select_rows.min(20_480)),
                default,
                spelling: spelling.into(),
            }),
            ..method.method
        },
        ..method
    });
    recipes
}

fn updating(dialect: JdbcDialect, shape: &Shape) -> Vec<Recipe> {
    let mut recipes = vec![plain(
        Job::Update,
        "row by row",
        BenchRequest::Update(HowUpdated::ByKey),
    )];
    if dialect != JdbcDialect::Informix && dialect != JdbcDialect::Oracle {
        recipes.push(plain(
            Job::Update,
            "updatable result",
            BenchRequest::Update(HowUpdated::InResult),
        ));
    }
    recipes.push(Recipe {
        needs: rewriting(dialect).into_iter().collect(),
        ..sized(
            plain(Job::Update, "batch", BenchRequest::Update(HowUpdated::Batch)),
            ("rows a batch", doubled(10, shape.rows.min(10_240))),
            "update ... where key = ?: addBatch() {} times, then executeBatch()".to_owned(),
        )
    });
    recipes
}

/// Property that makes the driver combine rows of a batch. By default, all but the drivers of
/// Oracle, DB2 and Derby send some kind of row one at a time.
fn rewriting(dialect: JdbcDialect) -> Option<(&'static str, &'static str)> {
    Some(match dialect {
        JdbcDialect::Postgres | JdbcDialect::Kingbase => ("reWriteBatchedInserts", "true"),
        JdbcDialect::Mysql => ("rewriteBatchedStatements", "true"),
        JdbcDialect::Mariadb => ("useBulkStmts", "true"),
        JdbcDialect::Informix => ("IFX_USEPUT", "1"),
        JdbcDialect::SqlServer => ("useBulkCopyForBatchInsert", "true"),
        JdbcDialect::Derby | JdbcDialect::Oracle | JdbcDialect::Db2 | JdbcDialect::Other => return None,
    })
}

fn not_rewriting(dialect: JdbcDialect) -> Option<(&'static str, &'static str)> {
    rewriting(dialect).map(|(name, value)| (name, if value == "1" { "0" } else { "false" }))
}

/// Properties needed to respect a fetch size, the spelling of the setting, and its default.
fn fetching(dialect: JdbcDialect) -> (Vec<(&'static str, &'static str)>, &'static str, Option<u64>) {
    match dialect {
        JdbcDialect::Postgres | JdbcDialect::Kingbase => (
            Vec::new(),
            "setFetchSize({}) or defaultRowFetchSize={} in the URL, with autocommit off",
            None,
        ),
        JdbcDialect::Mysql => (
            vec![("useCursorFetch", "true")],
            "setFetchSize({}) or defaultFetchSize={}, with useCursorFetch=true in the URL",
            None,
        ),
        JdbcDialect::Mariadb => (
            Vec::new(),
            "setFetchSize({}) or defaultFetchSize={} in the URL: rows are read in such parts of one reply",
            None,
        ),
        JdbcDialect::Oracle => (
            Vec::new(),
            "setFetchSize({}) or defaultRowPrefetch={} in the properties",
            Some(10),
        ),
        JdbcDialect::Derby
        | JdbcDialect::Informix
        | JdbcDialect::Db2
        | JdbcDialect::SqlServer
        | JdbcDialect::Other => (Vec::new(), "setFetchSize({})", None),
    }
}

const fn has_multi_row(dialect: JdbcDialect) -> bool {
    !matches!(
        dialect,
        JdbcDialect::Oracle | JdbcDialect::Informix | JdbcDialect::Other
    )
}

fn plain(job: Job, name: &str, bench_request: BenchRequest) -> Recipe {
    Recipe {
        method: Method {
            job,
            name: name.into(),
            parameter: None,
        },
        bench_request,
        needs: Vec::new(),
        parameter: Turned::Nothing,
    }
}

fn sized(recipe: Recipe, (name, values): (&str, Vec<u64>), spelling: String) -> Recipe {
    Recipe {
        parameter: Turned::Size,
        method: Method {
            parameter: Some(MethodParameter {
                name: name.into(),
                unit: ParameterUnit::Rows,
                values,
                default: None,
                spelling: spelling.into(),
            }),
            ..recipe.method
        },
        ..recipe
    }
}

/// At least one value.
fn doubled(first: u64, most: u64) -> Vec<u64> {
    let values = std::iter::successors(Some(first), |value| value.checked_mul(2));
    let values: Vec<u64> = values.take_while(|value| *value <= most).collect();
    match values.is_empty() {
        true => vec![most.max(1)],
        false => values,
    }
}

const MAX_PARAMETERS: u64 = 32_767;
