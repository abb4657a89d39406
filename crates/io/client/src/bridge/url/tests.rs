use super::*;

const URLS: [[&str; 3]; 15] = [
    [
        "jdbc:postgresql://db1/shop?user=app&password=s3cret",
        "jdbc:postgresql://db1:5432/shop",
        "jdbc:postgresql://127.0.0.1:9/shop?user=app&password=s3cret",
    ],
    [
        "jdbc:postgresql://[::1]:5433/shop",
        "jdbc:postgresql://[::1]:5433/shop",
        "jdbc:postgresql://127.0.0.1:9/shop",
    ],
    [
        "jdbc:mysql://app:s3cret@db1:3307/shop?rewriteBatchedStatements=true",
        "jdbc:mysql://db1:3307/shop",
        "jdbc:mysql://app:s3cret@127.0.0.1:9/shop?rewriteBatchedStatements=true",
    ],
    [
        "jdbc:mariadb://db1",
        "jdbc:mariadb://db1:3306",
        "jdbc:mariadb://127.0.0.1:9",
    ],
    [
        "jdbc:kingbase8://db1/test?preferQueryMode=simple",
        "jdbc:kingbase8://db1:54321/test",
        "jdbc:kingbase8://127.0.0.1:9/test?preferQueryMode=simple",
    ],
    [
        "jdbc:derby://db1:1527/shop;create=true;user=app;password=s3cret",
        "jdbc:derby://db1:1527/shop",
        "jdbc:derby://127.0.0.1:9/shop;create=true;user=app;password=s3cret",
    ],
    [
        "jdbc:oracle:thin:@db1:1521:ORCL",
        "jdbc:oracle:thin:@db1:1521:ORCL",
        "jdbc:oracle:thin:@127.0.0.1:9:ORCL",
    ],
    [
        "jdbc:oracle:thin:app/s3cret@//db1:1521/sales",
        "jdbc:oracle:thin:@db1:1521/sales",
        "jdbc:oracle:thin:app/s3cret@//127.0.0.1:9/sales",
    ],
    [
        "jdbc:oracle:thin:@db1/sales?TNS_ADMIN=/x",
        "jdbc:oracle:thin:@db1:1521/sales",
        "jdbc:oracle:thin:@127.0.0.1:9/sales?TNS_ADMIN=/x",
    ],
    [
        "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=db1)(PORT=1522))(CONNECT_DATA=(SERVICE_NAME=s)))",
        "jdbc:oracle:thin:@db1:1522",
        "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(PROTOCOL=TCP)(HOST=127.0.0.1)(PORT=9))(CONNECT_DATA=(SERVICE_NAME=s)))",
    ],
    [
        "jdbc:informix-sqli://db1:9088/stores:INFORMIXSERVER=ids;user=app;password=s3cret",
        "jdbc:informix-sqli://db1:9088/stores",
        "jdbc:informix-sqli://127.0.0.1:9/stores:INFORMIXSERVER=ids;user=app;password=s3cret",
    ],
    [
        "jdbc:db2://db1:50001/sample:user=app;password=s3cret;",
        "jdbc:db2://db1:50001/sample",
        "jdbc:db2://127.0.0.1:9/sample:user=app;password=s3cret;",
    ],
    [
        "jdbc:sqlserver://db1;databaseName=shop;user=app;password=s3cret",
        "jdbc:sqlserver://db1:1433",
        "jdbc:sqlserver://127.0.0.1:9;databaseName=shop;user=app;password=s3cret",
    ],
    [
        "jdbc:acme://db1:7/x?secret=y",
        "jdbc:acme://db1:7/x",
        "jdbc:acme://127.0.0.1:9/x?secret=y",
    ],
    [
        "jdbc:postgresql:///shop",
        "jdbc:postgresql://localhost:5432/shop",
        "jdbc:postgresql://127.0.0.1:9/shop",
    ],
];

#[test]
fn host_and_port_are_found_shown_and_replaced() {
    for [written, shown, through] in URLS {
        let url = JdbcUrl::parse(written).unwrap();
        assert_eq!(url.to_string(), shown, "{written}");
        assert!(!format!("{url:?}").contains("s3cret"));
        let relayed = url.through("127.0.0.1:9".parse().unwrap()).unwrap();
        assert_eq!(relayed.reveal(), through);
    }
}

#[test]
fn what_has_no_single_host_is_left_alone() {
    for text in [
        "jdbc:mysql://a,b/shop",
        "jdbc:h2:mem:x;password=s3cret",
        "jdbc:sqlite:/tmp/x",
        "jdbc:postgresql:shop",
    ] {
        let url = JdbcUrl::parse(text).unwrap();
        assert_eq!(url.server(), None, "{text}");
        assert!(!url.to_string().contains("s3cret"));
        let refused = url.through("127.0.0.1:9".parse().unwrap());
        assert!(matches!(refused, Err(BridgeError::NoPlace { .. })));
    }
    assert_eq!(JdbcUrl::parse("postgres://db1/shop"), Err(BridgeError::NotJdbc));
}

#[test]
fn parameters_are_found_and_set_in_every_spelling() {
    for [written, ..] in URLS.iter().filter(|[written, ..]| written.contains("password=")) {
        let url = JdbcUrl::parse(written).unwrap();
        assert_eq!(url.parameter("PASSWORD"), Some("s3cret"), "{written}");
        assert!(url.has_user());
        assert!(url.secrets().contains(&"s3cret".to_owned()));
        let other = url.with("password", "x").unwrap();
        assert_eq!(other.reveal(), written.replace("s3cret", "x"));
        assert_eq!(url.with("nothing", "x"), None);
    }
    let oracle = JdbcUrl::parse("jdbc:oracle:thin:app/s3cret@//db1:1521/sales").unwrap();
    assert!(oracle.has_user());
    assert!(oracle.secrets().contains(&"s3cret".to_owned()));
}
