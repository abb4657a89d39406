use super::framing::{Line, MAX_MESSAGE_LEN, next_line};
use super::*;
use serde_json::{Value, json};
use std::io::{BufReader, Cursor};

fn served(input: &[u8]) -> Vec<Value> {
    let cli = <crate::cli::Cli as clap::Parser>::try_parse_from(["longwire", "mcp", "does-not-exist.lwr"]);
    let crate::cli::Command::Mcp(args) = cli.expect("it parses").command else {
        panic!("another command");
    };
    let typed = sys::arguments::CommandLine::from_arguments(&["longwire", "mcp"]);
    let files = Files {
        files: &args.files,
        grouping: &args.grouping,
        keys: &args.keys,
        typed: &typed,
    };
    let mut out = Vec::new();
    // A small buffer: lines come in pieces.
    let mut input = BufReader::with_capacity(7, Cursor::new(input));
    serve(&files, &mut input, &mut out).expect("memory does not fail");
    let lines = out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect()
}

fn code(answer: &Value) -> i64 {
    answer["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn the_version_asked_for_is_spoken_or_the_latest() {
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        // It has no `initialize`.
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let request =
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": asked}});
        let answers = served(format!("{request}\n").as_bytes());
        assert_eq!(answers[0]["result"]["protocolVersion"], spoken);
        assert_eq!(answers[0]["id"], 1);
    }
}

fn stateless(method: &str, meta: &Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}});
    served(format!("{request}\n").as_bytes()).remove(0)
}

#[test]
fn requests_with_their_version_need_no_session() {
    let meta = |version: &str| json!({"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientCapabilities": {}});
    for method in ["server/discover", "tools/list"] {
        let result = &stateless(method, &meta("2026-07-28"))["result"];
        assert_eq!(result["resultType"], "complete", "{result}");
        assert_eq!(result["cacheScope"], "public");
        assert!(result["ttlMs"].is_u64());
        assert_eq!(
            result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
            "longwire"
        );
    }
    let found = stateless("server/discover", &meta("2026-07-28"));
    assert_eq!(found["result"]["supportedVersions"][0], "2026-07-28");

    let refused = stateless("tools/list", &meta("2030-01-01"));
    assert_eq!(code(&refused), -32022);
    assert_eq!(refused["error"]["data"]["requested"], "2030-01-01");
    assert_eq!(
        refused["error"]["data"]["supported"],
        found["result"]["supportedVersions"]
    );
    assert_eq!(code(&stateless("ping", &meta("2026-07-28"))), -32601);
    let without = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    assert_eq!(code(&stateless("tools/list", &without)), -32602);
    // A client of the past learns that there is no such method, and begins with `initialize`.
    assert_eq!(code(&stateless("server/discover", &json!({}))), -32601);
}

#[test]
fn notifications_and_answers_have_no_answer() {
    let answers = served(
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n\n{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\
          {\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}",
    );
    assert_eq!(answers, [json!({"jsonrpc": "2.0", "id": "a", "result": {}})]);
}

#[test]
fn wrong_messages_have_the_codes_of_json_rpc() {
    let code_of = |text: &str| code(&served(text.as_bytes())[0]);
    assert_eq!(code_of("{not json\n"), -32700);
    assert_eq!(code_of("\u{ff}\n"), -32700);
    assert_eq!(code_of("[]\n"), -32600);
    assert_eq!(
        code_of("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}\n"),
        -32600
    );
    assert_eq!(
        code_of("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}\n"),
        -32600
    );
    assert_eq!(
        code_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}\n"),
        -32601
    );
    assert_eq!(
        code_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}\n"),
        -32602
    );
}

fn called(call: &Value) -> Value {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
    served(format!("{request}\n").as_bytes()).remove(0)
}

#[test]
fn wrong_calls_are_refused_before_a_file_is_read() {
    for call in [
        json!({}),
        json!({"name": "drop_tables"}),
        json!({"name": "summary", "arguments": []}),
    ] {
        assert_eq!(code(&called(&call)), -32602, "{call}");
    }
    for (name, arguments, said) in [
        ("summary", json!({"unknown": 1}), "unknown field `unknown`"),
        ("predict", json!({}), "missing field `rtt`"),
        ("predict", json!({"rtt": []}), "rtt is empty"),
        ("predict", json!({"rtt": "40"}), "rtt: "),
        ("predict", json!({"rtt": 40}), "such as \"10ms\""),
        (
            "predict",
            json!({"rtt": ["40ms"], "rate": "10mbit loss=1%"}),
            "rate: ",
        ),
        ("predict", json!({"rtt": vec!["40ms"; 21]}), "at most 20"),
        ("findings", json!({"rtt": "10 miles"}), "rtt: "),
        ("statements", json!({"top": 0}), "top is 1 to 200"),
        ("statements", json!({"top": 201}), "top is 1 to 200"),
        ("statements", json!({"by": "name"}), "unknown variant `name`"),
    ] {
        let answer = called(&json!({"name": name, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().expect("text");
        assert!(text.contains(said), "{arguments}: {text}");
    }
}

#[test]
fn round_trip_times_are_written_as_in_a_flag_or_as_a_list() {
    let parsed = |rtt: Value| {
        let asked: arguments::OfFindings = arguments::parse(json!({"rtt": rtt})).expect("arguments");
        asked.rtts().expect("durations")
    };
    let expected = [10, 40].map(std::time::Duration::from_millis);
    for rtt in [
        json!("10ms,40ms"),
        json!("40ms, 10ms"),
        json!(["40ms", "10ms", "10ms"]),
    ] {
        assert_eq!(parsed(rtt), expected);
    }
    assert_eq!(parsed(json!("10ms")), expected[..1]);
}

#[test]
fn a_file_that_cannot_be_read_is_said_in_the_result() {
    let request =
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"summary\"}}\n";
    let answers = served(request);
    assert_eq!(answers[0]["result"]["isError"], true, "{answers:?}");
    let text = answers[0]["result"]["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("does-not-exist.lwr"), "{text}");
}

#[test]
fn a_long_line_is_passed_over_and_the_next_is_answered() {
    let mut input = vec![b'x'; MAX_MESSAGE_LEN + 1];
    input.extend(b"\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n");
    let answers = served(&input);
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(code(&answers[0]), -32600);
    assert_eq!(answers[1]["id"], 2);
    // The longest one that is allowed is read; without an end too.
    let exact = vec![b'x'; MAX_MESSAGE_LEN];
    let line = next_line(&mut Cursor::new(exact.clone())).expect("memory");
    assert_eq!(line, Some(Line::Complete(exact)));
}

#[test]
fn every_tool_only_reads_and_describes_its_arguments() {
    let answers = served(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n");
    let tools = answers[0]["result"]["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["summary", "findings", "predict", "statements"]);
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
}
