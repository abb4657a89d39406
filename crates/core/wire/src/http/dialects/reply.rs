//! Errors and rows in the body of a reply, regardless of its status.

use super::json;
use super::kept::KeptBody;
use model::Content;

/// Signs of errors and rows in the replies of a dialect.
#[derive(Debug)]
pub(crate) enum Reading {
    Same(Reads),
    /// Takes the name of the request.
    ByName(fn(&[u8]) -> Reads),
}

impl Reading {
    pub(crate) fn of_request(&self, name: &[u8]) -> Reads {
        match self {
            Self::Same(reads) => *reads,
            Self::ByName(of) => of(name),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Reads {
    #[default]
    Nothing,
    /// Members of a text in JSON.
    Members(&'static [Sign]),
    Text(MatchText),
    /// The field `Content-Range` of the head has the rows.
    ContentRange,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum MatchText {
    Anywhere(&'static [u8]),
    /// A last line that begins with the first, with a number behind it, and contains the second.
    LastLine(&'static [u8], &'static [u8]),
}

/// A member within so many objects; arrays do not count.
#[derive(Debug)]
pub(crate) struct Sign {
    objects: usize,
    name: &'static [u8],
    says: Says,
}

#[derive(Debug)]
enum Says {
    Failed,
    FailedIf(&'static [u8]),
    /// The value is a number of rows.
    Rows,
    /// One row has one such member.
    Row,
}

impl Sign {
    /// A request has failed, at least in part, if the value is more than false, zero or empty.
    pub(super) const fn failed(objects: usize, name: &'static [u8]) -> Self {
        let says = Says::Failed;
        Self { objects, name, says }
    }

    /// A request has failed if the value begins so.
    pub(super) const fn failed_if(objects: usize, name: &'static [u8], value: &'static [u8]) -> Self {
        let says = Says::FailedIf(value);
        Self { objects, name, says }
    }

    pub(super) const fn rows(objects: usize, name: &'static [u8]) -> Self {
        let says = Says::Rows;
        Self { objects, name, says }
    }

    pub(super) const fn row(objects: usize, name: &'static [u8]) -> Self {
        let says = Says::Row;
        Self { objects, name, says }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The name of the member that says so, or a number: never a text.
    pub(crate) error: Option<Vec<u8>>,
    pub(crate) rows: Option<u64>,
}

impl Outcome {
    pub(crate) fn content(&self) -> Content<'_> {
        match (&self.error, self.rows) {
            (Some(code), _) => Content::Error { code, text: b"" },
            (None, Some(rows)) => Content::Done {
                rows: Some(rows),
                transaction: None,
            },
            (None, None) => Content::Other,
        }
    }
}

impl Reads {
    pub(super) fn is_of_end(self) -> bool {
        matches!(self, Self::Text(MatchText::LastLine(..)))
    }

    pub(super) fn outcome(self, body: &KeptBody) -> Outcome {
        match self {
            Self::Nothing | Self::ContentRange => Outcome::default(),
            Self::Members(signs) => members(signs, body),
            Self::Text(text) => Outcome {
                error: text.error(body),
                rows: None,
            },
        }
    }
}

fn members(signs: &'static [Sign], body: &KeptBody) -> Outcome {
    let mut outcome = Outcome::default();
    let counts_rows = signs.iter().any(|sign| matches!(sign.says, Says::Row));
    let mut rows = (counts_rows && !body.is_cut && !body.bytes.is_empty()).then_some(0);
    for member in json::strings(&body.bytes).filter(|text| text.is_key) {
        let is_it = |sign: &&Sign| sign.objects == member.objects && sign.name == member.raw;
        let Some(sign) = signs.iter().find(is_it) else {
            continue;
        };
        let has_failed = match sign.says {
            Says::Failed => member.is_set(),
            Says::FailedIf(value) => member.value().starts_with(value),
            Says::Rows => {
                let before = outcome.rows.unwrap_or(0);
                outcome.rows = member.number().map(|more| more.saturating_add(before));
                false
            }
            Says::Row => {
                rows = rows.map(|rows| rows + 1);
                false
            }
        };
        if has_failed {
            outcome.error.get_or_insert_with(|| sign.name.to_vec());
        }
    }
    // A reply of another kind has no such member either.
    outcome.rows = outcome.rows.or(rows.filter(|rows| *rows > 0));
    outcome
}

impl MatchText {
    fn error(self, body: &KeptBody) -> Option<Vec<u8>> {
        match self {
            Self::Anywhere(mark) => {
                let found = body.bytes.windows(mark.len()).any(|part| part == mark);
                found.then(|| mark.trim_ascii().to_vec())
            }
            Self::LastLine(begin, mark) => {
                let behind = body.last_line().strip_prefix(begin)?;
                let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let is_it = digits > 0 && behind.windows(mark.len()).any(|part| part == mark);
                is_it.then(|| behind[..digits.min(MAX_DIGITS)].to_vec())
            }
        }
    }
}

const MAX_DIGITS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::dialects::{ROWS, clickhouse};
    use model::Protocol;

    fn outcome(protocol: Protocol, name: &str, body: &str) -> (Option<String>, Option<u64>) {
        let dialect = ROWS.iter().find(|row| row.protocol == protocol).expect("a row");
        let reads = dialect.reads.of_request(name.as_bytes());
        let mut kept = KeptBody::default();
        kept.begin(reads.is_of_end());
        kept.add(body.as_bytes(), body.len() as u64);
        let outcome = reads.outcome(&kept);
        (
            outcome.error.map(|error| String::from_utf8(error).expect("text")),
            outcome.rows,
        )
    }

    #[test]
    fn a_reply_of_success_may_say_that_its_request_failed() {
        for (protocol, name, body, error) in FAILED {
            assert_eq!(
                outcome(protocol, name, body).0.as_deref(),
                Some(error),
                "{protocol} {body}"
            );
        }
    }

    /// However the body is cut into pieces.
    #[test]
    fn an_exception_of_clickhouse_is_the_last_line() {
        let line = "Code: 241. DB::Exception: Memory limit exceeded";
        let body = "1\n".repeat(9_000) + line + "\n \r\n";
        for size in [1, 3, 7, 49, 50, 51, 4_096, 5_000, body.len()] {
            let reads = clickhouse::ROW.reads.of_request(b"");
            let mut kept = KeptBody::default();
            kept.begin(reads.is_of_end());
            for piece in body.as_bytes().chunks(size) {
                kept.add(piece, piece.len() as u64);
            }
            assert_eq!(
                reads.outcome(&kept).error.as_deref(),
                Some(b"241".as_slice()),
                "{size}"
            );
        }
    }

    #[test]
    fn data_and_empty_lists_of_errors_are_no_failures() {
        for (protocol, name, body) in FINE {
            assert_eq!(outcome(protocol, name, body).0, None, "{protocol} {body}");
        }
    }

    #[test]
    fn rows_are_counted_where_the_reply_tells_them() {
        for (protocol, name, body, rows) in COUNTED {
            assert_eq!(outcome(protocol, name, body).1, rows, "{protocol} {body}");
        }
    }

    const FAILED: [(Protocol, &str, &str, &str); 14] = [
        (
            Protocol::Graphql,
            "query Page",
            r#"{"data":{"a":null},"errors":[{"message":"m"}]}"#,
            "errors",
        ),
        (
            Protocol::Graphql,
            "batch",
            r#"[{"data":{}},{"errors":[{}]}]"#,
            "errors",
        ),
        (
            Protocol::Dynamodb,
            "BatchGetItem t",
            r#"{"Responses":{},"UnprocessedKeys":{"t":{"Keys":[]}}}"#,
            "UnprocessedKeys",
        ),
        (
            Protocol::Aws,
            "AmazonSQS.SendMessageBatch",
            r#"{"Successful":[],"Failed":[{"Id":"1"}]}"#,
            "Failed",
        ),
        (
            Protocol::S3,
            "POST /b?delete",
            "<DeleteResult><Error><Key>k</Key></Error></DeleteResult>",
            "<Error>",
        ),
        (
            Protocol::Elasticsearch,
            "bulk",
            r#"{"took":1,"errors":true,"items":[]}"#,
            "errors",
        ),
        (
            Protocol::Elasticsearch,
            "search t",
            r#"{"_shards":{"total":2,"failed":1},"hits":{"hits":[]}}"#,
            "failed",
        ),
        (
            Protocol::Clickhouse,
            "select 1",
            "1\n2\nCode: 395, e.displayText() = DB::Exception: m\n",
            "395",
        ),
        (
            Protocol::Libsql,
            "select 1",
            r#"{"results":[{"type":"error","error":{"message":"m"}}]}"#,
            "error",
        ),
        (
            Protocol::Upstash,
            "pipeline GET",
            r#"[{"result":"a"},{"error":"ERR"}]"#,
            "error",
        ),
        (
            Protocol::Snowflake,
            "select 1",
            r#"{"data":{},"code":"1003","success":false}"#,
            "success",
        ),
        (
            Protocol::Bigquery,
            "insertAll",
            r#"{"insertErrors":[{"index":0}]}"#,
            "insertErrors",
        ),
        (
            Protocol::Influxdb,
            "select 1",
            r#"{"results":[{"statement_id":0,"error":"m"}]}"#,
            "error",
        ),
        (
            Protocol::Firestore,
            "batchWrite",
            r#"{"status":[{},{"code":5}]}"#,
            "code",
        ),
    ];

    const FINE: [(Protocol, &str, &str); 10] = [
        (
            Protocol::Graphql,
            "query",
            r#"{"data":{"errors":["m"]},"errors":[]}"#,
        ),
        (
            Protocol::Graphql,
            "query",
            r#"{"data":{"a":"\"errors\":[1]"},"errors":null}"#,
        ),
        (
            Protocol::Dynamodb,
            "BatchWriteItem t",
            r#"{"UnprocessedItems":{}}"#,
        ),
        (
            Protocol::Dynamodb,
            "GetItem t",
            r#"{"Item":{"UnprocessedKeys":{"S":"v"}}}"#,
        ),
        (Protocol::S3, "GET /b/?", "<Error>"),
        (
            Protocol::Elasticsearch,
            "get t",
            r#"{"_id":"1","_source":{"errors":true}}"#,
        ),
        (Protocol::Clickhouse, "select 1", "Code: 1 DB::Exception\n1\n"),
        (Protocol::Couchdb, "get d", r#"{"_id":"1","error":"e"}"#),
        (
            Protocol::Firestore,
            "get users",
            r#"{"name":"n","fields":{"code":{"stringValue":"v"}}}"#,
        ),
        (Protocol::Upstash, "GET ?", r#"{"result":"error"}"#),
    ];

    const COUNTED: [(Protocol, &str, &str, Option<u64>); 6] = [
        (
            Protocol::Dynamodb,
            "Scan t",
            r#"{"Items":[{"Count":{"N":"7"}},{}],"Count":2,"ScannedCount":9}"#,
            Some(2),
        ),
        (
            Protocol::Elasticsearch,
            "search t",
            r#"{"hits":{"hits":[{"_id":"1","_source":{"_id":1}},{"_id":"2"}]}}"#,
            Some(2),
        ),
        (
            Protocol::Neon,
            "select 1",
            r#"{"results":[{"rowCount":2},{"rowCount":3}]}"#,
            Some(5),
        ),
        (
            Protocol::Snowflake,
            "select 1",
            r#"{"data":{"returned":4},"success":true}"#,
            Some(4),
        ),
        (
            Protocol::Bigquery,
            "getQueryResults",
            r#"{"rows":[{"f":[{"v":"1"}]}],"totalRows":"9"}"#,
            Some(1),
        ),
        (Protocol::Dynamodb, "GetItem t", r#"{"Item":{}}"#, None),
    ];
}
