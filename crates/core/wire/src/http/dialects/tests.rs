use super::*;
use crate::http::head;
use crate::http::lines::Lines;

fn named(head: &str, body: &str) -> Option<(Protocol, String, CallSyntax)> {
    let head = head.replace("SIGNED", SIGNED).replace('\n', "\r\n") + "\r\n\r\n";
    let request = head::request(&mut Lines::new(head.as_bytes())).expect("a request");
    let head = request.head();
    let (dialect, fit) = recognise(&head, !body.is_empty(), None)?;
    let body = if fit == Fit::Named { "" } else { body };
    let mut text = Vec::new();
    let syntax = (dialect.name)(&Call::new(&head, body.as_bytes()), &mut text)?;
    Some((dialect.protocol, String::from_utf8(text).expect("text"), syntax))
}

#[test]
fn requests_are_named_by_what_they_do() {
    for (head, body, protocol, name) in NAMES {
        let found = named(head, body).unwrap_or_else(|| panic!("{head}"));
        assert_eq!((found.0, found.1.as_str()), (protocol, name), "{head}");
    }
}

#[test]
fn pages_of_programs_are_no_stores() {
    for (head, body) in [
        ("GET /search?query=shoes HTTP/1.1", ""),
        ("GET /?query=shoes HTTP/1.1", ""),
        ("GET /?query=select HTTP/1.1", ""),
        (
            "POST / HTTP/1.1\nContent-Type: application/x-www-form-urlencoded",
            "name=a&query=b",
        ),
        (
            "POST /search HTTP/1.1\nContent-Type: application/json",
            r#"{"query":"a"}"#,
        ),
        (
            "POST /graphql HTTP/1.1\nContent-Type: application/json",
            r#"{"name":"a"}"#,
        ),
        ("GET /graphql HTTP/1.1", ""),
        ("GET /query?q=shoes HTTP/1.1", ""),
        ("POST /write HTTP/1.1", "a"),
        ("GET /api/v1/query HTTP/1.1", ""),
        ("GET /api/v1/series HTTP/1.1", ""),
        ("GET /rest/v1/orders HTTP/1.1", ""),
        ("POST /sql HTTP/1.1", r#"{"query":"select 1"}"#),
        ("POST /v2/pipeline HTTP/1.1", r#"{"name":"a"}"#),
        ("GET /v1/projects/p HTTP/1.1", ""),
        ("GET /_next/static/a.js HTTP/1.1", ""),
    ] {
        assert_eq!(named(head, body), None, "{head}");
    }
}

#[test]
fn the_next_page_of_a_result_is_a_fetch() {
    for (head, body, name, syntax) in PAGES {
        let found = named(head, body).expect("named");
        assert_eq!((found.1.as_str(), found.2), (name, syntax), "{head} {body}");
    }
}

const SCAN: &str = "POST / HTTP/1.1\nX-Amz-Target: DynamoDB_20120810.Scan";
const SEARCH: &str = "POST /orders/_search HTTP/1.1\nContent-Type: application/json";
const FIRST: CallSyntax = CallSyntax::FirstPage { rows: 10 };

const PAGES: [(&str, &str, &str, CallSyntax); 7] = [
    (SCAN, r#"{"TableName":"t","Limit":10}"#, "Scan t", FIRST),
    (
        SCAN,
        r#"{"TableName":"t","Limit":10,"ExclusiveStartKey":{"id":{"S":"v"}}}"#,
        "Scan t",
        CallSyntax::NextPage,
    ),
    (SEARCH, r#"{"size":10}"#, "search orders", FIRST),
    (
        SEARCH,
        r#"{"size":10,"search_after":["v"]}"#,
        "search orders",
        CallSyntax::NextPage,
    ),
    (SEARCH, r#"{"from":20,"size":10}"#, "search orders?from", FIRST),
    (
        "GET /photos?list-type=2&max-keys=10 HTTP/1.1\nSIGNED",
        "",
        "GET /photos?list-type",
        FIRST,
    ),
    (
        "GET /api/v2/statements/h?partition=1 HTTP/1.1\nHost: a.snowflakecomputing.com",
        "",
        "partition",
        CallSyntax::NextPage,
    ),
];

pub(crate) const SIGNED: &str =
    "Authorization: AWS4-HMAC-SHA256 Credential=K/20261127/us-east-1/s3/aws4_request, SignedHeaders=host";

pub(crate) const NAMES: [(&str, &str, Protocol, &str); 26] = [
    (
        "POST / HTTP/1.1\nX-Amz-Target: DynamoDB_20120810.GetItem",
        r#"{"TableName": "Orders", "Key": {"id": {"S": "k"}}}"#,
        Protocol::Dynamodb,
        "GetItem Orders",
    ),
    (
        "POST / HTTP/1.1\nX-Amz-Target: DynamoDB_20120810.BatchGetItem",
        r#"{"RequestItems": {"Orders": {"Keys": []}}}"#,
        Protocol::Dynamodb,
        "BatchGetItem Orders",
    ),
    (
        "POST / HTTP/1.1\nX-Amz-Target: AmazonSQS.SendMessage",
        "{}",
        Protocol::Aws,
        "AmazonSQS.SendMessage",
    ),
    (
        "GET /photos/a/b.jpg HTTP/1.1\nSIGNED",
        "",
        Protocol::S3,
        "GET /photos/?",
    ),
    (
        "GET /photos?list-type=2&prefix=secret HTTP/1.1\nSIGNED",
        "",
        Protocol::S3,
        "GET /photos?list-type&prefix",
    ),
    (
        "GET /a/b.jpg HTTP/1.1\nHost: photos.s3.eu-west-1.amazonaws.com\nSIGNED",
        "",
        Protocol::S3,
        "GET /photos/?",
    ),
    (
        "GET /?query=SELECT%201 HTTP/1.1",
        "",
        Protocol::Clickhouse,
        "SELECT 1",
    ),
    (
        "POST / HTTP/1.1",
        "SELECT count() FROM t",
        Protocol::Clickhouse,
        "SELECT count() FROM t",
    ),
    (
        "POST /?query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1",
        "1,2",
        Protocol::Clickhouse,
        "INSERT INTO t FORMAT CSV",
    ),
    (
        "POST /orders/_search HTTP/1.1\nContent-Type: application/json",
        "{}",
        Protocol::Elasticsearch,
        "search orders",
    ),
    (
        "POST /_search/scroll HTTP/1.1\nContent-Type: application/json",
        "{}",
        Protocol::Elasticsearch,
        "scroll",
    ),
    (
        "GET /orders/_doc/17 HTTP/1.1\nUser-Agent: elasticsearch-py/8.1",
        "",
        Protocol::Elasticsearch,
        "get orders",
    ),
    (
        "POST /sql HTTP/1.1\nNeon-Connection-String: postgresql://u:p@h/d",
        r#"{"query":"select \"a\" from t where b = $1","params":["v"]}"#,
        Protocol::Neon,
        "select \"a\" from t where b = $1",
    ),
    (
        "POST /v2/pipeline HTTP/1.1",
        r#"{"requests":[{"type":"execute","stmt":{"sql":"select ?"}},{"type":"close"}]}"#,
        Protocol::Libsql,
        "select ?",
    ),
    (
        "POST / HTTP/1.1\nUpstash-Telemetry-Sdk: x",
        r#"["get","key"]"#,
        Protocol::Upstash,
        "GET \"key\"",
    ),
    (
        "POST /bigquery/v2/projects/p/queries HTTP/1.1",
        r#"{"query":"SELECT 1"}"#,
        Protocol::Bigquery,
        "SELECT 1",
    ),
    (
        "POST /queries/v1/query-request?requestId=1 HTTP/1.1",
        r#"{"sqlText":"select 1"}"#,
        Protocol::Snowflake,
        "select 1",
    ),
    (
        "POST /v1/projects/p/databases/d/documents:runQuery HTTP/1.1",
        r#"{"structuredQuery":{"from":[{"collectionId":"users"}]}}"#,
        Protocol::Firestore,
        "runQuery users",
    ),
    (
        "GET /v1/projects/p/databases/d/documents/users/17 HTTP/1.1",
        "",
        Protocol::Firestore,
        "get users",
    ),
    ("POST /v3/kv/range HTTP/1.1", "{}", Protocol::Etcd, "range"),
    ("POST /db/_find HTTP/1.1", "{}", Protocol::Couchdb, "find db"),
    (
        "GET /query?db=d&q=SELECT+1 HTTP/1.1",
        "",
        Protocol::Influxdb,
        "SELECT 1",
    ),
    (
        "GET /api/v1/query_range?query=up&start=1&end=2&step=1 HTTP/1.1",
        "",
        Protocol::Prometheus,
        "query_range",
    ),
    (
        "POST /graphql HTTP/1.1\nContent-Type: application/json",
        r#"{"query":"query Page($a: Int) { a }"}"#,
        Protocol::Graphql,
        "query Page",
    ),
    (
        "POST /graphql HTTP/1.1\nContent-Type: application/json",
        r#"{"query":"{ a(b: \"v\") }"}"#,
        Protocol::Graphql,
        "query",
    ),
    (
        "GET /rest/v1/t?id=eq.1 HTTP/1.1\napikey: k",
        "",
        Protocol::Postgrest,
        "GET /rest/v1/t?id=eq.1",
    ),
];
