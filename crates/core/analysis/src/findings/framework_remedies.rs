//! Remedies in the terms of the framework that wrote the statements.
//!
//! The first matching row wins; without one, the driver's remedy is used ([`super::remedies`]).
//! Each row ends with a way to check the framework. Spellings are from the frameworks' manuals.

use super::frameworks::{Certainty, Framework, is_next_value};
use super::software::Software;
use model::{FindingKind, Protocol};

/// `None` if the driver's remedy is as good.
pub(super) fn find_remedy(
    kind: FindingKind,
    (framework, certainty): (Framework, Certainty),
    software: Software,
    fingerprint: Option<&str>,
) -> Option<String> {
    let what = What::from_finding(kind, fingerprint)?;
    let fits = |row: &&Row| {
        row.framework == framework && row.what == what && row.software.is_none_or(|wanted| wanted == software)
    };
    let words = ROWS.iter().find(fits)?.words;
    let name = framework.name();
    Some(match certainty {
        Certainty::Named => format!("{name}: {words}"),
        Certainty::Style => format!("The statements are written as {name} writes them. {name}: {words}"),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Reads,
    Sequence,
    Inserts,
    Changes,
    Connections,
    Fetches,
    Comments,
}

impl What {
    fn from_finding(kind: FindingKind, fingerprint: Option<&str>) -> Option<Self> {
        let text = fingerprint.unwrap_or_default();
        #[expect(clippy::wildcard_enum_match_arm, reason = "frameworks name few kinds")]
        match kind {
            FindingKind::NPlusOne if is_next_value(text) => Some(Self::Sequence),
            FindingKind::NPlusOne => Some(Self::Reads),
            FindingKind::RowByRow | FindingKind::UnrewrittenBatch if text.starts_with("insert ") => {
                Some(Self::Inserts)
            }
            FindingKind::RowByRow | FindingKind::UnrewrittenBatch => Some(Self::Changes),
            FindingKind::Reconnect => Some(Self::Connections),
            FindingKind::SmallFetch => Some(Self::Fetches),
            FindingKind::CommentDefeatsCache => Some(Self::Comments),
            _ => None,
        }
    }
}

struct Row {
    framework: Framework,
    what: What,
    /// `None` for all software.
    software: Option<Software>,
    words: &'static str,
}

const fn row(framework: Framework, what: What, words: &'static str) -> Row {
    Row {
        framework,
        what,
        software: None,
        words,
    }
}

const fn driver_row(framework: Framework, what: What, software: Software, words: &'static str) -> Row {
    Row {
        framework,
        what,
        software: Some(software),
        words,
    }
}

use Framework::{ActiveRecord, Django, Go, Hibernate, Prisma, Sequelize, SqlAlchemy};
use What::{Changes, Comments, Connections, Fetches, Inserts, Reads, Sequence};

const ROWS: &[Row] = &[
    row(
        Hibernate,
        Reads,
        "load the association with its owner (JOIN FETCH in the query, or an @EntityGraph), or many at once (@BatchSize, hibernate.default_batch_fetch_size). \
         Check: hibernate.generate_statistics=true counts the statements of a session.",
    ),
    row(
        Hibernate,
        Sequence,
        "give @SequenceGenerator an allocationSize (50 is the default) and the sequence the same INCREMENT BY: one round trip for as many rows. \
         Check: hibernate.generate_statistics=true counts the statements of a session.",
    ),
    driver_row(
        Hibernate,
        Inserts,
        Software::Pgjdbc,
        "set hibernate.jdbc.batch_size (50, say) and hibernate.order_inserts=true, with identifiers of a sequence (IDENTITY prevents batches); \
         reWriteBatchedInserts=true in pgjdbc's URL then makes one statement of many rows. Check: hibernate.generate_statistics=true counts batches.",
    ),
    driver_row(
        Hibernate,
        Inserts,
        Software::ConnectorJ,
        "set hibernate.jdbc.batch_size (50, say) and hibernate.order_inserts=true, and rewriteBatchedStatements=true in the URL, without which \
         Connector/J sends each row of a batch by itself; IDENTITY prevents batches. Check: hibernate.generate_statistics=true counts batches.",
    ),
    row(
        Hibernate,
        Inserts,
        "set hibernate.jdbc.batch_size (50, say) and hibernate.order_inserts=true; IDENTITY prevents batches, identifiers of a sequence do not. \
         Check: hibernate.generate_statistics=true counts batches.",
    ),
    driver_row(
        Hibernate,
        Changes,
        Software::ConnectorJ,
        "set hibernate.jdbc.batch_size (50, say) and hibernate.order_updates=true, and rewriteBatchedStatements=true in the URL, or change all rows \
         with one UPDATE or DELETE of JPQL. Check: hibernate.generate_statistics=true counts batches.",
    ),
    row(
        Hibernate,
        Changes,
        "set hibernate.jdbc.batch_size (50, say) and hibernate.order_updates=true, or change all rows with one UPDATE or DELETE of JPQL. \
         Check: hibernate.generate_statistics=true counts batches.",
    ),
    row(
        Django,
        Reads,
        "select_related(...) on the query that reads the parents joins a foreign key's rows to it; prefetch_related(...) reads those of the other direction with one \
         query. Check: assertNumQueries in a test, or len(connection.queries) with DEBUG.",
    ),
    row(
        Django,
        Inserts,
        "bulk_create(objects) inserts them with one statement (batch_size limits it). Check: assertNumQueries in a test.",
    ),
    row(
        Django,
        Changes,
        "QuerySet.update(...) and delete() change all rows with one statement, bulk_update(objects, fields) those with values of their own. \
         Check: assertNumQueries in a test.",
    ),
    driver_row(
        Django,
        Connections,
        POSTGRES,
        "CONN_MAX_AGE=60 (say) keeps a connection from request to request, with CONN_HEALTH_CHECKS=True; or a pool: OPTIONS={\"pool\": True} (Django 5.1, \
         psycopg 3; CONN_MAX_AGE=0 then). Under ASGI only the pool keeps them. Check: pg_stat_activity.backend_start stays.",
    ),
    row(
        Django,
        Connections,
        "CONN_MAX_AGE=60 (say) keeps a connection from request to request, with CONN_HEALTH_CHECKS=True. Check: the server's count of connections stays.",
    ),
    row(
        Django,
        Comments,
        "leave the trace out of comments: SQLCOMMENTER_WITH_OPENTELEMETRY=False and SQLCOMMENTER_WITH_OPENCENSUS=False of sqlcommenter; route, controller and \
         framework may stay.",
    ),
    row(
        SqlAlchemy,
        Reads,
        "options(selectinload(Parent.children)), or joinedload(...) for a reference to one row, on the select that reads the parents. \
         Check: create_engine(echo=True); raiseload(\"*\") turns every lazy load into an error.",
    ),
    row(
        SqlAlchemy,
        Inserts,
        "session.add_all(objects) and one flush, or session.execute(insert(Table), list_of_rows): insertmanyvalues of SQLAlchemy 2.0 then makes statements of many \
         rows (insertmanyvalues_page_size). Check: create_engine(echo=True).",
    ),
    row(
        SqlAlchemy,
        Changes,
        "one update(...) or delete(...) with a condition for all rows; session.execute(update(Table), list_of_rows) is an executemany, whose round trips are the driver's. \
         Check: create_engine(echo=True).",
    ),
    row(
        SqlAlchemy,
        Connections,
        "one create_engine for the process, whose pool keeps connections (pool_size, pool_recycle), and no NullPool. Check: create_engine(echo_pool=True).",
    ),
    row(
        SqlAlchemy,
        Fetches,
        "raise yield_per, or max_row_buffer of stream_results, or do without where the client can hold all rows. Check: create_engine(echo=\"debug\").",
    ),
    row(
        SqlAlchemy,
        Comments,
        "leave the trace out of comments: commenter_options={\"opentelemetry_values\": False} of SQLAlchemyInstrumentor; framework and route may stay.",
    ),
    row(
        ActiveRecord,
        Reads,
        "includes(:association) (or preload, eager_load) on the query that reads the parents. Check: strict_loading raises at each lazy load.",
    ),
    row(
        ActiveRecord,
        Inserts,
        "Model.insert_all(rows), or upsert_all, writes them with one statement (without callbacks and validations). Check: the log at level debug.",
    ),
    row(
        ActiveRecord,
        Changes,
        "update_all(...) and delete_all on the relation change all rows with one statement (without callbacks). Check: the log at level debug.",
    ),
    row(
        ActiveRecord,
        Comments,
        "leave identifiers such as request_id out of config.active_record.query_log_tags; :application, :controller and :action may stay.",
    ),
    row(
        Sequelize,
        Reads,
        "findAll({ include: Model }) joins the related rows (separate: true reads them with one query). Check: the option logging: console.log.",
    ),
    row(
        Sequelize,
        Inserts,
        "Model.bulkCreate(rows) inserts them with one statement. Check: the option logging: console.log.",
    ),
    row(
        Sequelize,
        Changes,
        "Model.update(values, { where }) and Model.destroy({ where }) change all rows with one statement; bulkCreate with updateOnDuplicate those with values of their \
         own. Check: the option logging: console.log.",
    ),
    row(
        Sequelize,
        Connections,
        "one Sequelize object for the process, with pool: { min, max, idle }: connections idle for 10 seconds are closed by default. Check: the option logging: console.log.",
    ),
    row(
        Prisma,
        Reads,
        "findMany({ include: { relation: true } }) reads the related rows with one query, with relationLoadStrategy: \"join\" in the same. \
         Check: new PrismaClient({ log: [\"query\"] }).",
    ),
    row(
        Prisma,
        Inserts,
        "createMany({ data: rows }) (createManyAndReturn) inserts them with one statement. Check: new PrismaClient({ log: [\"query\"] }).",
    ),
    row(
        Prisma,
        Changes,
        "updateMany and deleteMany change all rows with one statement. Check: new PrismaClient({ log: [\"query\"] }).",
    ),
    row(
        Prisma,
        Connections,
        "one PrismaClient for the process, and no $disconnect after each request; its pool keeps connections (connection_limit). \
         Check: new PrismaClient({ log: [\"info\"] }).",
    ),
    driver_row(
        Go,
        Reads,
        POSTGRES,
        "WHERE key = ANY($1) with a slice of the keys asks once; statements that differ go together with pgx's SendBatch. \
         Check: count the statements with a QueryTracer.",
    ),
    driver_row(
        Go,
        Inserts,
        POSTGRES,
        "pgx: CopyFrom for many rows, SendBatch for statements in one round trip; with database/sql, one INSERT of many rows. Check: count the statements with a QueryTracer.",
    ),
    driver_row(
        Go,
        Changes,
        POSTGRES,
        "pgx: SendBatch sends all statements in one round trip. Check: count the statements with a QueryTracer.",
    ),
    row(
        Go,
        Connections,
        "one sql.DB for the process; SetMaxIdleConns as large as SetMaxOpenConns, since it keeps only 2 idle connections by default. With pgx, pgxpool. \
         Check: DB.Stats().MaxIdleClosed stays 0.",
    ),
];

const POSTGRES: Software = Software::Speaks(Protocol::Postgres);

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: Software = Software::Speaks(Protocol::Mysql);

    fn words(kind: FindingKind, framework: Framework, software: Software, text: &str) -> String {
        find_remedy(kind, (framework, Certainty::Style), software, Some(text)).unwrap_or_default()
    }

    #[test]
    fn a_framework_hears_its_own_terms() {
        let read = "select v from t where id = ?";
        let insert = "insert into t values (?)";
        let [reads, inserts] = [FindingKind::NPlusOne, FindingKind::RowByRow];
        for (kind, text, framework, software, term) in [
            (reads, read, Hibernate, Software::Pgjdbc, "@BatchSize"),
            (
                reads,
                "select nextval(?)",
                Hibernate,
                Software::Pgjdbc,
                "allocationSize",
            ),
            (
                inserts,
                insert,
                Hibernate,
                Software::Pgjdbc,
                "reWriteBatchedInserts=true",
            ),
            (
                inserts,
                insert,
                Hibernate,
                Software::ConnectorJ,
                "rewriteBatchedStatements=true",
            ),
            (
                inserts,
                "update t set v = ?",
                Hibernate,
                Software::Pgjdbc,
                "order_updates",
            ),
            (reads, read, Django, POSTGRES, "select_related"),
            (inserts, insert, Django, POSTGRES, "bulk_create"),
            (reads, read, SqlAlchemy, POSTGRES, "selectinload"),
            (reads, read, ActiveRecord, MYSQL, "includes"),
            (inserts, insert, Sequelize, POSTGRES, "bulkCreate"),
            (reads, read, Prisma, POSTGRES, "relationLoadStrategy"),
            (inserts, insert, Go, POSTGRES, "CopyFrom"),
        ] {
            let found = words(kind, framework, software, text);
            assert!(
                found.contains(term) && found.contains("Check:"),
                "{framework:?}: {found}"
            );
            assert!(found.starts_with("The statements are written as"), "{found}");
        }
    }

    #[test]
    fn what_the_framework_does_not_know_is_the_drivers() {
        let named = (Go, Certainty::Named);
        assert_eq!(
            find_remedy(FindingKind::RowByRow, named, MYSQL, Some("insert into t")),
            None
        );
        assert_eq!(find_remedy(FindingKind::AckStall, named, MYSQL, None), None);
    }

    #[test]
    fn a_framework_that_names_itself_is_not_guessed() {
        let words = find_remedy(FindingKind::Reconnect, (Django, Certainty::Named), POSTGRES, None);
        assert!(words.is_some_and(|words| words.starts_with("Django: CONN_MAX_AGE")));
    }
}
