use crate::API_VERSION;
use crate::collection::ProxyCollection;
use crate::error::ApiError;
use serde_json::{Value, json};
use sys::http::{HttpRequest, HttpResponse};

pub(crate) fn answer(proxies: &ProxyCollection, request: &HttpRequest) -> HttpResponse {
    if request
        .field("user-agent")
        .is_some_and(|agent| agent.starts_with("Mozilla/"))
    {
        // Otherwise a web page in a local browser could use the API.
        return HttpResponse::text(403, "User agent not allowed\n");
    }
    let parts: Vec<String> = request.path.split('/').skip(1).map(decoded).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let body = &request.body;
    match (parts.as_slice(), request.method.as_str()) {
        (["version"], "GET") => version(),
        (["reset"], "POST") => without_content(proxies.reset()),
        (["populate"], "POST") => populated(proxies.populate(body)),
        (["proxies"], "GET") => json_answer(200, &proxies.index()),
        (["proxies"], "POST") => with_content(201, proxies.create_from(body)),
        (["proxies", name], "GET") => with_content(200, proxies.show(name)),
        (["proxies", name], "POST" | "PATCH") => with_content(200, proxies.update(name, body)),
        (["proxies", name], "DELETE") => without_content(proxies.delete(name)),
        (["proxies", name, "toxics"], "GET") => with_content(200, proxies.toxics(name)),
        (["proxies", name, "toxics"], "POST") => with_content(200, proxies.add_toxic(name, body)),
        (["proxies", name, "toxics", toxic], "GET") => with_content(200, proxies.show_toxic(name, toxic)),
        (["proxies", name, "toxics", toxic], "POST" | "PATCH") => {
            with_content(200, proxies.update_toxic(name, toxic, body))
        }
        (["proxies", name, "toxics", toxic], "DELETE") => without_content(proxies.delete_toxic(name, toxic)),
        (["version" | "reset" | "populate" | "proxies"] | ["proxies", _], _)
        | (["proxies", _, "toxics"] | ["proxies", _, "toxics", _], _) => HttpResponse::text(405, ""),
        _ => HttpResponse::text(404, "404 page not found\n"),
    }
}

/// Uses toxiproxy's spacing, because some clients parse it as text.
fn version() -> HttpResponse {
    HttpResponse::new(
        200,
        "application/json",
        format!("{{\"version\": \"{API_VERSION}\"}}\n"),
    )
}

fn with_content(status: u16, outcome: Result<Value, ApiError>) -> HttpResponse {
    match outcome {
        Ok(value) => json_answer(status, &value),
        Err(error) => json_answer(error.status(), &of_error(&error)),
    }
}

fn without_content(outcome: Result<(), ApiError>) -> HttpResponse {
    match outcome {
        Ok(()) => HttpResponse::text(204, ""),
        Err(error) => json_answer(error.status(), &of_error(&error)),
    }
}

/// Also lists completed proxies when one has failed.
fn populated((done, error): (Vec<Value>, Option<ApiError>)) -> HttpResponse {
    match error {
        None => json_answer(201, &json!({ "proxies": done })),
        Some(error) => {
            let mut fields = of_error(&error);
            fields["proxies"] = Value::Array(done);
            json_answer(error.status(), &fields)
        }
    }
}

fn of_error(error: &ApiError) -> Value {
    json!({ "error": error.to_string(), "status": error.status() })
}

/// Decodes `%` escapes, except invalid ones.
fn decoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn json_answer(status: u16, value: &Value) -> HttpResponse {
    HttpResponse::new(status, "application/json", value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_codes_are_decoded_and_what_is_none_stays() {
        assert_eq!(decoded("a%20b%2Fc"), "a b/c");
        assert_eq!(decoded("100%"), "100%");
        assert_eq!(decoded("%zz%4"), "%zz%4");
        assert_eq!(decoded("%ff"), "\u{fffd}");
    }
}
