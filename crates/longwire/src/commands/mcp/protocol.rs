//! The part of the Model Context Protocol needed by a server that only has tools: JSON-RPC 2.0,
//! `initialize`, `ping`, `tools/list` and `tools/call`. See modelcontextprotocol.io, versions
//! 2024-11-05, 2025-03-26 and 2025-06-18.

use super::framing::MAX_MESSAGE_LEN;
use super::tools::{self, Files, ToolError};
use serde_json::{Map, Value, json};

/// Notifications get no answer.
pub fn answer(message: &[u8], files: &Files<'_>) -> Option<Value> {
    let message: Value = match serde_json::from_slice(message) {
        Ok(message) => message,
        // serde's message does not quote the input.
        Err(error) => {
            return Some(failure(&Value::Null, PARSE_ERROR, &format!("not JSON: {error}")));
        }
    };
    let Value::Object(message) = message else {
        return Some(failure(&Value::Null, INVALID_REQUEST, "a message is one object"));
    };
    let method = message.get("method").and_then(Value::as_str);
    let id = match (message.get("id"), method) {
        // A notification, or a response to a request never sent.
        (None, Some(_)) => return None,
        (_, None) if message.contains_key("result") || message.contains_key("error") => return None,
        (Some(id @ (Value::String(_) | Value::Number(_))), _) => id,
        _ => {
            let text = "an id is a string or a number";
            return Some(failure(&Value::Null, INVALID_REQUEST, text));
        }
    };
    let Some(method) = method.filter(|_| message.get("jsonrpc") == Some(&json!("2.0"))) else {
        return Some(failure(
            id,
            INVALID_REQUEST,
            "a request has jsonrpc 2.0 and a method",
        ));
    };
    let empty = Map::new();
    let parameters = match message.get("params") {
        None => &empty,
        Some(Value::Object(parameters)) => parameters,
        Some(_) => return Some(failure(id, INVALID_PARAMS, "params is an object")),
    };
    Some(match result(method, parameters, files) {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => failure(id, error.code, &error.text),
    })
}

pub fn too_long() -> Value {
    failure(
        &Value::Null,
        INVALID_REQUEST,
        &format!("a message has at most {MAX_MESSAGE_LEN} bytes"),
    )
}

struct RpcError {
    code: i64,
    text: String,
}

fn result(method: &str, parameters: &Map<String, Value>, files: &Files<'_>) -> Result<Value, RpcError> {
    match method {
        "initialize" => Ok(initialized(parameters)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools::list()})),
        "tools/call" => called(parameters, files),
        _ => Err(RpcError {
            code: METHOD_NOT_FOUND,
            text: "no such method: initialize, ping, tools/list, tools/call".to_owned(),
        }),
    }
}

/// The client's version if supported, else the latest.
fn initialized(parameters: &Map<String, Value>) -> Value {
    let asked = parameters.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS
        .into_iter()
        .find(|version| Some(*version) == asked)
        .unwrap_or(LATEST);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": false}},
        "serverInfo": {"name": "longwire", "version": env!("CARGO_PKG_VERSION")},
        "instructions": INSTRUCTIONS,
    })
}

fn called(parameters: &Map<String, Value>, files: &Files<'_>) -> Result<Value, RpcError> {
    let invalid = |text: String| RpcError {
        code: INVALID_PARAMS,
        text,
    };
    let name = parameters.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| invalid("name is missing".to_owned()))?;
    let arguments = match parameters.get("arguments") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(arguments @ Value::Object(_)) => arguments.clone(),
        Some(_) => return Err(invalid("arguments is an object".to_owned())),
    };
    match tools::call(name, arguments, files) {
        Ok(found) => Ok(json!({
            "content": [{"type": "text", "text": found.to_string()}],
            "structuredContent": found,
            "isError": false,
        })),
        Err(ToolError::Arguments(text)) => Err(invalid(text)),
        // The model should read the error, so the specification puts it in the result.
        Err(ToolError::Failed(error)) => Ok(json!({
            "content": [{"type": "text", "text": format!("{error:#}")}],
            "isError": true,
        })),
    }
}

fn failure(id: &Value, code: i64, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}})
}

const LATEST: &str = "2025-06-18";
const VERSIONS: [&str; 3] = ["2024-11-05", "2025-03-26", LATEST];
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const INSTRUCTIONS: &str = "Figures of a database's traffic. A round trip is one wait of the client; times are in nanoseconds. Begin with summary; findings lists waste; predict gives the time of the same work with the database further away.";
