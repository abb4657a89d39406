//! Proxies and toxics as JSON.

use crate::error::ApiError;
use crate::toxics::{Toxic, ToxicKind};
use model::Direction;
use serde_json::{Map, Value, json};

/// Parses the first JSON value of a body and ignores the rest, as toxiproxy does.
pub(crate) fn parse(body: &[u8]) -> Result<Value, ApiError> {
    let mut values = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
    match values.next() {
        Some(Ok(value)) => Ok(value),
        // The error has a position, not the content.
        Some(Err(error)) => Err(bad(error.to_string())),
        None => Err(bad("EOF")),
    }
}

pub(crate) fn bad(reason: impl Into<String>) -> ApiError {
    ApiError::BadBody {
        reason: reason.into(),
    }
}

/// The fields of an object, `None` for `null`.
pub(crate) fn fields<'a>(value: &'a Value, what: &str) -> Result<Option<&'a Map<String, Value>>, ApiError> {
    match value {
        Value::Object(fields) => Ok(Some(fields)),
        Value::Null => Ok(None),
        _ => Err(bad(format!("{what} must be an object"))),
    }
}

/// `None` if missing or `null`.
pub(crate) fn text(fields: Option<&Map<String, Value>>, key: &str) -> Result<Option<String>, ApiError> {
    match fields.and_then(|fields| fields.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_TEXT_LEN => Ok(Some(text.clone())),
        Some(Value::String(_)) => Err(bad(format!("{key} is longer than {MAX_TEXT_LEN} bytes"))),
        Some(_) => Err(bad(format!("{key} must be a string"))),
    }
}

/// `None` if missing or `null`.
pub(crate) fn flag(fields: Option<&Map<String, Value>>, key: &str) -> Result<Option<bool>, ApiError> {
    match fields.and_then(|fields| fields.get(key)) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(bad(format!("{key} must be true or false"))),
    }
}

pub(crate) fn new_toxic(body: &[u8]) -> Result<Toxic, ApiError> {
    let value = parse(body)?;
    let given = fields(&value, "a toxic")?;
    let kind = text(given, "type")?.unwrap_or_default();
    let stream = text(given, "stream")?.unwrap_or_default();
    let direction = direction(&stream)?;
    let name = text(given, "name")?.filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| format!("{kind}_{}", stream_of(direction)));
    let kind = ToxicKind::named(&kind).ok_or(ApiError::InvalidToxicType)?;
    let bare = Toxic {
        name,
        direction,
        toxicity: 1.0,
        kind,
        values: [0; 3],
    };
    changed(&bare, given)
}

/// Attributes and toxicity missing in the body stay.
pub(crate) fn changed_toxic(toxic: &Toxic, body: &[u8]) -> Result<Toxic, ApiError> {
    let value = parse(body)?;
    changed(toxic, fields(&value, "a toxic")?)
}

fn changed(toxic: &Toxic, given: Option<&Map<String, Value>>) -> Result<Toxic, ApiError> {
    let mut toxic = toxic.clone();
    match given.and_then(|given| given.get("toxicity")) {
        None | Some(Value::Null) => {}
        Some(number) => {
            toxic.toxicity = number.as_f64().ok_or_else(|| bad("toxicity must be a number"))?;
        }
    }
    let attributes = given
        .and_then(|given| given.get("attributes"))
        .unwrap_or(&Value::Null);
    if let Some(attributes) = fields(attributes, "attributes")? {
        for (value, key) in toxic.values.iter_mut().zip(toxic.kind.attributes()) {
            *value = amount(attributes.get(*key), key)?.unwrap_or(*value);
        }
    }
    Ok(toxic)
}

/// A whole number, also written as 100.0.
fn amount(value: Option<&Value>, key: &str) -> Result<Option<u64>, ApiError> {
    let number = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number,
        Some(_) => return Err(bad(format!("{key} must be a number"))),
    };
    let whole = number.as_u64().or_else(|| {
        let number = number.as_f64()?;
        (number >= 0.0 && number.fract() == 0.0 && number <= MAX_EXACT_INTEGER).then_some(number as u64)
    });
    match whole {
        Some(amount) => Ok(Some(amount)),
        None => Err(bad(format!("{key} must be a whole number, 0 or more"))),
    }
}

/// toxiproxy's name of a direction.
fn stream_of(direction: Direction) -> &'static str {
    match direction {
        Direction::ClientToServer => "upstream",
        Direction::ServerToClient => "downstream",
    }
}

fn direction(stream: &str) -> Result<Direction, ApiError> {
    match stream.to_ascii_lowercase().as_str() {
        "" | "downstream" => Ok(Direction::ServerToClient),
        "upstream" => Ok(Direction::ClientToServer),
        _ => Err(ApiError::InvalidStream),
    }
}

pub(crate) fn toxic(toxic: &Toxic) -> Value {
    let keys = toxic.kind.attributes().iter();
    let attributes = keys
        .zip(toxic.values)
        .map(|(key, value)| ((*key).to_owned(), json!(value)));
    json!({
        "attributes": Value::Object(attributes.collect()),
        "name": toxic.name,
        "type": toxic.kind.name(),
        "stream": stream_of(toxic.direction),
        "toxicity": toxic.toxicity,
    })
}

/// Maximum length of a name or address.
const MAX_TEXT_LEN: usize = 1024;

/// Whole numbers up to here are exact in a float.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
