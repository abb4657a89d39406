//! Tags in a statement's comments, about the request it was sent for.
//!
//! Two forms, at the statement's end or beginning: sqlcommenter's `/*key='value',...*/` (values
//! percent-encoded; specification: google.github.io/sqlcommenter/spec) and ActiveRecord's
//! `/*key:value,...*/`. At most [`MAX_VALUE_LEN`] bytes of a value are kept; routes lose
//! identifying values ([`crate::fingerprint`]'s rule for paths), as comments may hold anything.

use crate::fingerprint::{program_name, route};
use model::{RequestId, SpanId, Tags};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) fn tags(statement: &[u8]) -> Option<Tags> {
    let comments = comments(statement);
    if comments == [None, None] {
        return None;
    }
    let mut tags = Tags::default();
    for comment in comments.into_iter().flatten() {
        for pair in pairs(comment) {
            add_tag(pair, &mut tags);
        }
    }
    Some(tags)
}

fn comments(statement: &[u8]) -> [Option<&[u8]>; 2] {
    let text = statement.trim_ascii();
    let text = text.strip_suffix(b";").unwrap_or(text).trim_ascii_end();
    let ends = text.strip_suffix(b"*/").and_then(|text| {
        let tail = text.len().saturating_sub(MAX_COMMENT_LEN);
        let from = tail + find_last(text.get(tail..)?, b"/*")?;
        text.get(from + 2..)
    });
    let begins = text.strip_prefix(b"/*").and_then(|text| {
        let head = text.get(..text.len().min(MAX_COMMENT_LEN))?;
        head.get(..head.windows(2).position(|pair| pair == b"*/")?)
    });
    [ends, begins]
}

fn find_last(text: &[u8], pair: &[u8; 2]) -> Option<usize> {
    text.windows(2).rposition(|found| found == pair)
}

fn pairs(comment: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    comment.split(move |&byte| {
        match byte {
            b'\'' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = byte == b'\\' && !escaped;
        byte == b',' && !quoted
    })
}

fn add_tag(pair: &[u8], tags: &mut Tags) {
    let Some(sign) = pair.iter().position(|byte| matches!(byte, b'=' | b':')) else {
        return;
    };
    let (key, value) = pair.split_at(sign);
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    let value = value
        .strip_prefix(b"'")
        .and_then(|value| value.strip_suffix(b"'"))
        .unwrap_or(value);
    let Some(value) = decoded(value).filter(|value| value.len() <= MAX_VALUE_LEN) else {
        return;
    };
    match key.trim_ascii() {
        b"traceparent" => {
            tags.request = RequestId::of_traceparent(value.as_bytes());
            tags.span = SpanId::of_traceparent(value.as_bytes());
        }
        b"request_id" | b"x_request_id" if tags.request.is_none() => {
            tags.request = RequestId::of_text(value.as_bytes());
        }
        b"route" => tags.route = named(&route(&value)),
        b"controller" => tags.controller = named(&program_name(&value)),
        b"action" => tags.action = named(&program_name(&value)),
        b"application" => tags.application = named(&program_name(&value)),
        b"framework" => tags.framework = named(&software(&value)),
        b"db_driver" => tags.db_driver = named(&software(&value)),
        _ => {}
    }
}

/// Undoes percent-encoding and backslashes before quotes; `None` if the result is not text.
fn decoded(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(value).ok()?;
    if !text.contains(['%', '\\']) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        match (byte, rest) {
            (b'%', [high, low, behind @ ..]) => match (hexadecimal(*high), hexadecimal(*low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = behind;
                }
                _ => bytes.push(byte),
            },
            (b'\\', [b'\'', ..]) => {}
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

fn hexadecimal(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// Name and version of a program, cut at the first unusual character.
fn software(value: &str) -> String {
    let is_of_name = |letter: &char| letter.is_ascii_alphanumeric() || "._-+: /".contains(*letter);
    value
        .chars()
        .take_while(is_of_name)
        .take(MAX_SOFTWARE_LEN)
        .collect()
}

fn named(value: &str) -> Option<Arc<str>> {
    let value = value.trim();
    (!value.is_empty()).then(|| Arc::from(value))
}

const MAX_COMMENT_LEN: usize = 4096;
const MAX_VALUE_LEN: usize = 512;
const MAX_SOFTWARE_LEN: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(statement: &[u8]) -> Tags {
        super::tags(statement).unwrap_or_default()
    }

    #[test]
    fn a_sqlcommenter_comment_is_read() {
        let found = tags(
            b"select 1 /*action='index',application='shop',controller='polls',db_driver='django.db.backends.postgresql',\
              framework='django%3A4.2',route='%5Epolls/%24',\
              traceparent='00-5bd66ef5095369c7b0d1f8f4bd33716a-c532cb4098ac3dd2-01'*/;",
        );
        assert_eq!(found.route.as_deref(), Some("^polls/$"));
        assert_eq!(found.framework.as_deref(), Some("django:4.2"));
        assert_eq!(found.controller.as_deref(), Some("polls"));
        assert_eq!(found.action.as_deref(), Some("index"));
        assert_eq!(found.application.as_deref(), Some("shop"));
        assert_eq!(found.db_driver.as_deref(), Some("django.db.backends.postgresql"));
        let id = found.request.map(|id| id.to_string());
        assert_eq!(id.as_deref(), Some("5bd66ef5095369c7b0d1f8f4bd33716a"));
    }

    #[test]
    fn the_older_form_of_active_record_is_read_at_the_beginning_too() {
        let found = tags(b"/*application:Shop,controller:posts,action:show*/ select 1");
        assert_eq!(found.controller.as_deref(), Some("posts"));
        assert_eq!(found.operation_name().as_deref(), Some("posts#show"));
    }

    #[test]
    fn quoted_commas_and_escaped_quotes_belong_to_the_value() {
        let found = tags(br"select 1 /*route='/a\'b,c',action='go'*/");
        assert_eq!(found.action.as_deref(), Some("go"));
    }

    #[test]
    fn values_in_comments_do_not_pass() {
        let found = tags(b"select 1 /*route='/orders/4711/anna@example.org',user='anna',secret='x'*/");
        assert_eq!(found.route.as_deref(), Some("/orders/?/?"));
        assert_eq!(
            found,
            Tags {
                route: found.route.clone(),
                ..Tags::default()
            }
        );
    }

    #[test]
    fn patterns_of_routes_stay() {
        for pattern in [
            "/products/<int:pk>/",
            "/products/:id",
            "/products/{id}",
            "polls/<slug:name>/edit",
        ] {
            let text = format!("select 1 /*route='{pattern}'*/");
            assert_eq!(tags(text.as_bytes()).route.as_deref(), Some(pattern));
        }
    }

    #[test]
    fn what_is_no_comment_or_malformed_is_nothing() {
        for text in [
            &b"select 1"[..],
            b"",
            b"/*",
            b"*/",
            b"/**/",
            b"select '/*route=' ",
            b"select 1 /*route*/",
            b"select 1 /*=,:,',*/",
            b"select 1 /*route='\xff'*/",
        ] {
            assert_eq!(tags(text), Tags::default());
        }
        let long = [&b"select 1 /*route='"[..], &vec![b'x'; 1 << 20], b"'*/"].concat();
        assert_eq!(tags(&long), Tags::default());
    }
}
