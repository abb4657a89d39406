//! The same steps for each driver: version, a table, inserts in every way, selects, updates.

use super::{PGJDBC, WAIT, connect, jdbc, start};
use client::bridge::{
    BridgeConnection, Column, Execute, HowInserted, HowRun, HowUpdated, Insert, Parameter, Update,
};
use testbed::{MariaDb, Postgres};

fn columns() -> Vec<Column> {
    vec![
        Column {
            name: "id".to_owned(),
            kind: Column::INTEGER,
            width: 0,
        },
        Column {
            name: "v".to_owned(),
            kind: Column::VARCHAR,
            width: 30,
        },
    ]
}

/// 25 rows in each way, with batches and statements of ten, so that a remainder occurs.
fn rows_go_in(connection: &mut BridgeConnection) {
    let columns = columns();
    for how in [
        HowInserted::Text,
        HowInserted::Prepared,
        HowInserted::Batch,
        HowInserted::ManyRows,
    ] {
        connection
            .execute(&Execute::text("delete from t_lw"), WAIT)
            .unwrap();
        let insert = Insert {
            how,
            insert: "insert into t_lw (id, v)",
            columns: &columns,
            rows: 25,
            size: 10,
            weigh: how == HowInserted::Batch,
        };
        let done = connection.insert(&insert, WAIT).unwrap();
        assert_eq!((done.rows, done.changed), (25, 25), "{how:?}");
        assert_eq!(done.heap.is_some(), how == HowInserted::Batch);
    }
}

fn rows_come_back(connection: &mut BridgeConnection) {
    let all = Execute {
        fetch_size: 7,
        ..Execute::text("select id, v from t_lw")
    };
    assert_eq!(connection.execute(&all, WAIT).unwrap().rows, 25);
    let some = Execute {
        how: HowRun::PreparedOnce,
        parameters: &[Parameter::Whole(3)],
        times: 5,
        keep: true,
        ..Execute::text("select id, v from t_lw where id = ?")
    };
    let done = connection.execute(&some, WAIT).unwrap();
    assert_eq!((done.rows, done.durations.len()), (5, 5));
    assert_eq!(done.durations.iter().sum::<std::time::Duration>(), done.duration);
    let [(_, id), (_, text)] = &done.kept[..] else {
        panic!("two columns: {:?}", done.kept);
    };
    assert_eq!(
        (id.as_deref(), text.as_ref().map(String::len)),
        (Some("3"), Some(30))
    );
}

fn rows_are_changed(connection: &mut BridgeConnection, select: &str, methods: &[HowUpdated]) {
    for how in methods {
        let update = Update {
            how: *how,
            select,
            update: "update t_lw set v = ? where id = ?",
            column: "v",
            value: "changed",
            fetch_size: 10,
            batch: 10,
        };
        let done = connection.update(&update, WAIT).unwrap();
        assert_eq!((done.rows, done.changed), (25, 25), "{how:?}");
    }
}

pub fn works(connection: &mut BridgeConnection, table: &str, select: &str, methods: &[HowUpdated]) {
    connection.execute(&Execute::text(table), WAIT).unwrap();
    connection.set_autocommit(false, WAIT).unwrap();
    rows_go_in(connection);
    rows_come_back(connection);
    connection
        .execute(&Execute::text("delete from t_lw"), WAIT)
        .unwrap();
    connection.rollback(WAIT).unwrap();
    let empty = connection
        .execute(&Execute::text("delete from t_lw"), WAIT)
        .unwrap();
    assert_eq!(empty.changed, 25);
    let columns = columns();
    let insert = Insert {
        how: HowInserted::Batch,
        insert: "insert into t_lw (id, v)",
        columns: &columns,
        rows: 25,
        size: 25,
        weigh: false,
    };
    connection.insert(&insert, WAIT).unwrap();
    rows_are_changed(connection, select, methods);
    connection.commit(WAIT).unwrap();
}

const ALL: [HowUpdated; 3] = [HowUpdated::ByKey, HowUpdated::Batch, HowUpdated::InResult];
const TABLE: &str = "create table t_lw (id int primary key, v varchar(40))";
pub const FOR_UPDATE: &str = "select id, v from t_lw for update";

#[test]
fn postgresqls_driver_works_and_its_overhead_is_told() {
    let server = Postgres::start();
    let bridge = start(&[PGJDBC]);
    let url = jdbc(&server.url(), "postgresql");
    let (mut connection, who) = connect(&bridge, &url).unwrap();
    assert_eq!(who.class, "org.postgresql.Driver");
    assert_eq!(who.driver.as_deref(), Some("PostgreSQL JDBC Driver 42.7.4"));
    assert!(who.server.unwrap().starts_with("PostgreSQL 1"));
    works(&mut connection, TABLE, FOR_UPDATE, &ALL);
    connection.close(WAIT).unwrap();
    let overhead = bridge.overhead(WAIT).unwrap();
    assert!(overhead.call < overhead.round_trip, "{overhead:?}");
}

#[test]
fn kingbases_driver_works_where_it_asks_simply() {
    let server = Postgres::start();
    let bridge = start(&["cn.com.kingbase:kingbase8:8.6.0"]);
    let url = jdbc(&server.url(), "kingbase8");
    let (mut connection, who) = connect(&bridge, &format!("{url}&preferQueryMode=simple")).unwrap();
    assert!(who.server.unwrap().starts_with("KingbaseES "));
    works(&mut connection, TABLE, FOR_UPDATE, &ALL);
}

#[test]
fn mariadbs_and_mysqls_drivers_work() {
    let server = MariaDb::start();
    for (coordinate, scheme, parameters) in [
        ("org.mariadb.jdbc:mariadb-java-client:3.4.1", "mariadb", ""),
        (
            "com.mysql:mysql-connector-j:9.1.0",
            "mysql",
            "&useCursorFetch=true&rewriteBatchedStatements=true",
        ),
    ] {
        let bridge = start(&[coordinate]);
        let url = jdbc(&server.url(), scheme);
        let (mut connection, who) = connect(&bridge, &format!("{url}{parameters}")).unwrap();
        assert!(who.server.unwrap().contains("MariaDB"), "{scheme}");
        works(&mut connection, TABLE, FOR_UPDATE, &ALL);
        connection
            .execute(&Execute::text("drop table t_lw"), WAIT)
            .unwrap();
    }
}
