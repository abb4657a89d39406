//! Conversations of MongoDB, of HTTP/2 and of stores behind HTTP, with [`PASSWORD`] wherever they
//! carry secrets and [`LITERAL`] among values.

use super::conversations::Conversation;
use super::{LITERAL, PASSWORD, USER};

pub fn watched() -> Vec<Conversation> {
    vec![
        Conversation {
            name: "MongoDB, PLAIN, SCRAM and values",
            scheme: "mongodb",
            steps: mongodb(),
        },
        Conversation {
            name: "HTTP/2, fields and gRPC",
            scheme: "http2",
            steps: http2(),
        },
    ]
}

/// Those behind HTTP, which is one relay: they are only captured.
pub fn captured() -> Vec<Conversation> {
    let all = HTTP.into_iter().flat_map(|(name, scheme, head, body)| {
        [vec![http(head, body)], over_http2(head, body)].map(|steps| Conversation { name, scheme, steps })
    });
    all.collect()
}

/// `@` stands for [`PASSWORD`], `$` for [`LITERAL`].
fn filled(text: &str) -> String {
    text.replace('@', PASSWORD).replace('$', LITERAL)
}

fn http(head: &str, body: &str) -> [Vec<u8>; 2] {
    let (head, body) = (filled(head), filled(body));
    let length = body.len();
    let request = format!(
        "{head}\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let answer = filled(r#"{"id":"$","token":"@"}"#);
    let length = answer.len();
    let reply = format!(
        "HTTP/1.1 200 OK\r\nX-Session: {PASSWORD}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{answer}"
    );
    [request.into_bytes(), reply.into_bytes()]
}

fn over_http2(head: &str, body: &str) -> Vec<[Vec<u8>; 2]> {
    let (head, body) = (filled(head), filled(body));
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next().expect("a line").split(' ').collect();
    let mut fields = vec![(":method", words[0].to_owned()), (":path", words[1].to_owned())];
    let names: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    fields.extend(names.iter().map(|(name, value)| (name.as_str(), value.clone())));
    fields.push(("content-type", "application/json".to_owned()));
    let answer = [(":status", "200".to_owned()), ("x-session", PASSWORD.to_owned())];
    let reply = filled(r#"{"id":"$","token":"@"}"#);
    vec![
        http2_opening(),
        [
            [frame(1, 4, 1, &block(&fields)), frame(0, 1, 1, body.as_bytes())].concat(),
            [frame(1, 4, 1, &block(&answer)), frame(0, 1, 1, reply.as_bytes())].concat(),
        ],
    ]
}

/// Name, scheme, head, body.
const HTTP: [(&str, &str, &str, &str); 14] = [
    (
        "DynamoDB",
        "dynamodb",
        "POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\nX-Amz-Security-Token: @\r\nAuthorization: AWS4-HMAC-SHA256 \
         Credential=@/20260101/x/dynamodb/aws4_request, SignedHeaders=host, Signature=@",
        r#"{"TableName":"Orders","Key":{"id":{"S":"$"}}}"#,
    ),
    (
        "S3",
        "s3",
        "GET /photos/$?X-Amz-Security-Token=@&X-Amz-Signature=@&X-Amz-Credential=@%2F20260101%2Fx%2Fs3%2Faws4_request HTTP/1.1\r\n\
         x-amz-security-token: @\r\nAuthorization: AWS4-HMAC-SHA256 Credential=@/20260101/x/s3/aws4_request, SignedHeaders=host, \
         Signature=@",
        "",
    ),
    (
        "SQS",
        "aws",
        "POST / HTTP/1.1\r\nX-Amz-Target: AmazonSQS.SendMessage\r\nX-Amz-Security-Token: @",
        r#"{"QueueUrl":"http://x/1/@","MessageBody":"$"}"#,
    ),
    (
        "ClickHouse",
        "clickhouse",
        "POST /?user=mallory&password=@&param_name=$ HTTP/1.1\r\nX-ClickHouse-User: mallory\r\nX-ClickHouse-Key: @",
        "select a from t where b = '$'",
    ),
    (
        "Elasticsearch",
        "elasticsearch",
        "POST /orders/_search HTTP/1.1\r\nAuthorization: ApiKey @",
        r#"{"query":{"term":{"name":"$"}}}"#,
    ),
    (
        "InfluxDB",
        "influxdb",
        "GET /query?db=metrics&u=mallory&p=@&q=select+v+from+cpu+where+host%3D%27$%27 HTTP/1.1\r\nAuthorization: Token @",
        "",
    ),
    (
        "Prometheus",
        "prometheus",
        "GET /api/v1/query?query=up%7Bhost%3D%22$%22%7D&time=1&token=@ HTTP/1.1\r\nAuthorization: Bearer @",
        "",
    ),
    (
        "CouchDB",
        "couchdb",
        "POST /orders/_find HTTP/1.1\r\nUser-Agent: nano/10\r\nCookie: AuthSession=@",
        r#"{"selector":{"name":"$"}}"#,
    ),
    (
        "Neon",
        "neon",
        "POST /sql HTTP/1.1\r\nNeon-Connection-String: postgresql://mallory:@@x/shop",
        r#"{"query":"select a from t where b = '$' and c = ?","params":["$"]}"#,
    ),
    (
        "libSQL",
        "libsql",
        "POST /v2/pipeline HTTP/1.1\r\nAuthorization: Bearer @",
        r#"{"baton":"@","requests":[{"type":"execute","stmt":{"sql":"select a from t where b = '$'","args":[{"type":"text","value":"$"}]}}]}"#,
    ),
    (
        "Upstash",
        "upstash",
        "POST / HTTP/1.1\r\nUpstash-Telemetry-Sdk: x\r\nAuthorization: Bearer @",
        r#"["SET","$","$"]"#,
    ),
    (
        "PostgREST",
        "postgrest",
        "GET /rest/v1/orders?select=id&name=eq.$&apikey=@ HTTP/1.1\r\napikey: @\r\nAuthorization: Bearer @",
        "",
    ),
    (
        "GraphQL",
        "graphql",
        "POST /graphql HTTP/1.1\r\nAuthorization: Bearer @",
        r#"{"query":"query Page { order(name: \"$\") { id } }","variables":{"token":"@","name":"$"}}"#,
    ),
    (
        "Snowflake",
        "snowflake",
        "POST /api/v2/statements HTTP/1.1\r\nX-Snowflake-Authorization-Token-Type: OAUTH\r\nAuthorization: Bearer @",
        r#"{"statement":"select a from t where b = '$'","bindings":{"1":{"type":"TEXT","value":"$"}}}"#,
    ),
];

fn mongodb() -> Vec<[Vec<u8>; 2]> {
    let plain = format!("\0{USER}\0{PASSWORD}");
    let scram = filled("n,,n=mallory,r=@");
    let ok = document(&[element(1, "ok", &1f64.to_le_bytes())]);
    let start = |mechanism: &str, payload: &str| {
        let fields = [
            element(0x10, "saslStart", &1i32.to_le_bytes()),
            string("mechanism", mechanism),
            binary(payload),
            string("$db", "admin"),
        ];
        document(&fields)
    };
    let person = document(&[string("name", LITERAL), string("mail", LITERAL)]);
    let commands = [
        start("PLAIN", &plain),
        start("SCRAM-SHA-256", &scram),
        document(&[
            string("createUser", USER),
            string("pwd", PASSWORD),
            string("$db", "admin"),
        ]),
        document(&[
            string("find", "users"),
            element(3, "filter", &person),
            string("comment", "page"),
            string("$db", "shop"),
        ]),
        document(&[
            string("insert", "users"),
            element(4, "documents", &document(&[element(3, "0", &person)])),
            string("$db", "shop"),
        ]),
    ];
    let steps = (1..).zip(commands);
    steps
        .map(|(number, command)| [message(number, 0, &command), message(number + 100, number, &ok)])
        .collect()
}

fn message(number: i32, responds_to: i32, document: &[u8]) -> Vec<u8> {
    let length = i32::try_from(document.len() + 21).expect("short");
    let header = [length, number, responds_to, 2013, 0].map(i32::to_le_bytes);
    [&header.concat()[..], b"\0", document].concat()
}

fn document(elements: &[Vec<u8>]) -> Vec<u8> {
    let elements = elements.concat();
    let length = i32::try_from(elements.len() + 5).expect("short");
    [&length.to_le_bytes()[..], &elements, b"\0"].concat()
}

fn element(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind][..], name.as_bytes(), b"\0", value].concat()
}

fn string(name: &str, value: &str) -> Vec<u8> {
    let length = i32::try_from(value.len() + 1).expect("short").to_le_bytes();
    element(2, name, &[&length[..], value.as_bytes(), b"\0"].concat())
}

fn binary(payload: &str) -> Vec<u8> {
    let length = i32::try_from(payload.len()).expect("short").to_le_bytes();
    element(5, "payload", &[&length[..], b"\0", payload.as_bytes()].concat())
}

/// A request with secrets in its fields, then a gRPC call with them in its message and status.
fn http2_opening() -> [Vec<u8>; 2] {
    let settings = frame(4, 0, 0, b"");
    let preface = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..]].concat();
    [preface, [settings, frame(4, 1, 0, b"")].concat()]
}

fn http2() -> Vec<[Vec<u8>; 2]> {
    let path = filled("/orders?token=@&name=$");
    let fields = [
        (":method", "GET".to_owned()),
        (":scheme", "http".to_owned()),
        (":path", path),
        (":authority", filled("mallory:@@x")),
        ("authorization", filled("Bearer @")),
        ("cookie", filled("session=@")),
        ("x-api-key", PASSWORD.to_owned()),
    ];
    let call = [
        (":method", "POST".to_owned()),
        (":scheme", "http".to_owned()),
        (":path", "/shop.Cart/Get".to_owned()),
        ("content-type", "application/grpc".to_owned()),
        ("authorization", filled("Bearer @")),
    ];
    let answer = [(":status", "200".to_owned()), ("set-cookie", filled("session=@"))];
    let status = [
        ("grpc-status", "5".to_owned()),
        ("grpc-message", filled("no $ for @")),
    ];
    let text = filled("\n\x06$\x12\x07@");
    let length = u32::try_from(text.len()).expect("short").to_be_bytes();
    let body = [b"\0", &length[..], text.as_bytes()].concat();
    vec![
        http2_opening(),
        [
            frame(1, 5, 1, &block(&fields)),
            [frame(1, 4, 1, &block(&answer)), frame(0, 1, 1, text.as_bytes())].concat(),
        ],
        [
            [frame(1, 4, 3, &block(&call)), frame(0, 1, 3, &body)].concat(),
            [
                frame(1, 4, 3, &block(&answer)),
                frame(0, 0, 3, &body),
                frame(1, 5, 3, &block(&status)),
            ]
            .concat(),
        ],
    ]
}

/// Type, flags and stream.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Literal fields with incremental indexing and new names (RFC 7541, 6.2.1).
fn block(fields: &[(&str, String)]) -> Vec<u8> {
    let text = |text: &str| {
        let long = u16::try_from(text.len()).expect("short").checked_sub(127);
        let length = match long.map(|long| [long & 127 | 128, long >> 7]) {
            None => vec![u8::try_from(text.len()).expect("short")],
            Some([low, high]) => [&[127], &low.to_be_bytes()[1..], &high.to_be_bytes()[1..]].concat(),
        };
        [&length, text.as_bytes()].concat()
    };
    let fields = fields
        .iter()
        .map(|(name, value)| [vec![0x40], text(name), text(value)].concat());
    fields.collect::<Vec<_>>().concat()
}
