//! The part of the Model Context Protocol needed by a server that only has tools, over JSON-RPC 2.0.
//! See modelcontextprotocol.io.
//!
//! Since 2026-07-28 each request has its version in `_meta` ([`stateless`]); clients of earlier
//! versions agree on one with `initialize` ([`of_session`]). Both are answered at any time.

use super::framing::MAX_MESSAGE_LEN;
use super::tools::{self, Files, ToolError};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Notifications get no answer.
pub fn answer(message: &[u8], files: &Files<'_>) -> Option<Value> {
    let message: Value = match serde_json::from_slice(message) {
        Ok(message) => message,
        // serde's message does not quote the input.
        Err(error) => {
            return Some(failure(
                &Value::Null,
                &RpcError::new(PARSE_ERROR, format!("not JSON: {error}")),
            ));
        }
    };
    let Value::Object(message) = message else {
        let error = RpcError::new(INVALID_REQUEST, "a message is one object");
        return Some(failure(&Value::Null, &error));
    };
    let method = message.get("method").and_then(Value::as_str);
    let id = match (message.get("id"), method) {
        // A notification, or a response to a request never sent.
        (None, Some(_)) => return None,
        (_, None) if message.contains_key("result") || message.contains_key("error") => return None,
        (Some(id @ (Value::String(_) | Value::Number(_))), _) => id,
        _ => {
            let error = RpcError::new(INVALID_REQUEST, "an id is a string or a number");
            return Some(failure(&Value::Null, &error));
        }
    };
    let Some(method) = method.filter(|_| message.get("jsonrpc") == Some(&json!("2.0"))) else {
        let error = RpcError::new(INVALID_REQUEST, "a request has jsonrpc 2.0 and a method");
        return Some(failure(id, &error));
    };
    let empty = Map::new();
    let result = match message.get("params") {
        None => result(method, &empty, files),
        Some(Value::Object(parameters)) => result(method, parameters, files),
        Some(_) => Err(invalid("params is an object")),
    };
    Some(match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => failure(id, &error),
    })
}

pub fn too_long() -> Value {
    let text = format!("a message has at most {MAX_MESSAGE_LEN} bytes");
    failure(&Value::Null, &RpcError::new(INVALID_REQUEST, text))
}

struct RpcError {
    code: i64,
    text: String,
    data: Option<Value>,
}

impl RpcError {
    fn new(code: i64, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            data: None,
        }
    }
}

fn invalid(text: impl Into<String>) -> RpcError {
    RpcError::new(INVALID_PARAMS, text)
}

fn result(method: &str, parameters: &Map<String, Value>, files: &Files<'_>) -> Result<Value, RpcError> {
    let meta = parameters.get("_meta").and_then(Value::as_object);
    match meta.filter(|meta| meta.contains_key(VERSION_KEY)) {
        Some(meta) if method != "initialize" => {
            is_complete(meta)?;
            stateless(method, parameters, files)
        }
        _ => of_session(method, parameters, files),
    }
}

fn is_complete(meta: &Map<String, Value>) -> Result<(), RpcError> {
    match meta.get(VERSION_KEY).and_then(Value::as_str) {
        None => return Err(invalid(format!("{VERSION_KEY} is a string"))),
        Some(STATELESS) => {}
        Some(asked) => {
            return Err(RpcError {
                data: Some(json!({"supported": VERSIONS, "requested": asked})),
                ..RpcError::new(UNSUPPORTED_VERSION, "unsupported protocol version")
            });
        }
    }
    match meta.get(CAPABILITIES_KEY) {
        Some(Value::Object(_)) => Ok(()),
        _ => Err(invalid(format!("{CAPABILITIES_KEY} is an object, and required"))),
    }
}

/// Results carry the server's name, and lists the time that they may be kept.
fn stateless(method: &str, parameters: &Map<String, Value>, files: &Files<'_>) -> Result<Value, RpcError> {
    let mut result = match method {
        "server/discover" => json!({
            "supportedVersions": VERSIONS,
            "capabilities": {"tools": {}},
            "instructions": INSTRUCTIONS,
        }),
        "tools/list" => json!({"tools": tools::list()}),
        "tools/call" => called(parameters, files)?,
        _ => return Err(no_method("server/discover, tools/list, tools/call")),
    };
    if method != "tools/call" {
        result["ttlMs"] = json!(LISTS_MAY_BE_KEPT.as_millis() as u64);
        result["cacheScope"] = json!("public");
    }
    result["resultType"] = json!("complete");
    result["_meta"] = json!({SERVER_KEY: server()});
    Ok(result)
}

fn of_session(method: &str, parameters: &Map<String, Value>, files: &Files<'_>) -> Result<Value, RpcError> {
    match method {
        "initialize" => Ok(initialized(parameters)),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools::list()})),
        "tools/call" => called(parameters, files),
        _ => Err(no_method("initialize, ping, tools/list, tools/call")),
    }
}

fn no_method(known: &str) -> RpcError {
    RpcError::new(METHOD_NOT_FOUND, format!("no such method: {known}"))
}

/// The client's version if supported, else the latest that begins with `initialize`.
fn initialized(parameters: &Map<String, Value>) -> Value {
    let asked = parameters.get("protocolVersion").and_then(Value::as_str);
    let [_, of_sessions @ ..] = VERSIONS;
    let version = of_sessions.into_iter().find(|version| Some(*version) == asked);
    json!({
        "protocolVersion": version.unwrap_or(of_sessions[0]),
        "capabilities": {"tools": {"listChanged": false}},
        "serverInfo": server(),
        "instructions": INSTRUCTIONS,
    })
}

fn server() -> Value {
    json!({"name": "longwire", "version": env!("CARGO_PKG_VERSION")})
}

fn called(parameters: &Map<String, Value>, files: &Files<'_>) -> Result<Value, RpcError> {
    let name = parameters.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| invalid("name is missing"))?;
    let arguments = match parameters.get("arguments") {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(arguments @ Value::Object(_)) => arguments.clone(),
        Some(_) => return Err(invalid("arguments is an object")),
    };
    match tools::call(name, arguments, files) {
        Ok(answer) => Ok(json!({
            "content": [{"type": "text", "text": answer.text}],
            "structuredContent": answer.records,
            "isError": false,
        })),
        Err(ToolError::Unknown(text)) => Err(invalid(text)),
        // The model should read the error, so the specification puts it in the result.
        Err(ToolError::Failed(error)) => Ok(json!({
            "content": [{"type": "text", "text": format!("{error:#}")}],
            "isError": true,
        })),
    }
}

fn failure(id: &Value, error: &RpcError) -> Value {
    let mut body = json!({"code": error.code, "message": error.text});
    if let Some(data) = &error.data {
        body["data"] = data.clone();
    }
    json!({"jsonrpc": "2.0", "id": id, "error": body})
}

const STATELESS: &str = "2026-07-28";
/// Latest first; all but the first begin with `initialize`.
const VERSIONS: [&str; 5] = [STATELESS, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
const LISTS_MAY_BE_KEPT: Duration = Duration::from_secs(3600);
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const UNSUPPORTED_VERSION: i64 = -32022;
const INSTRUCTIONS: &str = "Figures of a database's traffic, in sentences. Structured content has them as records, with times in nanoseconds in keys that end in _ns. A round trip is one wait of the client. Begin with summary; findings lists waste; predict gives the time of the same work with the database further away.";
