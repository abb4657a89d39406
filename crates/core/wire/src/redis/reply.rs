//! Matches replies to requests and extracts the reported parts.

use super::Session;
use super::command::Subscription;
use super::reply_queue::PendingReply;
use super::resp;
use super::value::{Value, Values, number};
use model::{Content, Phase, Role};

#[derive(Debug, Default)]
pub(super) struct Unasked {
    subscribed: [u64; 3],
    monitoring: bool,
}

impl Session {
    pub(super) fn reply<'a>(&mut self, kept: &'a [u8]) -> (Role, Phase, Content<'a>) {
        let mut values = Values::new(kept);
        let first = values.next();
        if let Some(Value::Aggregate {
            kind: kind @ (resp::ARRAY | resp::PUSH),
            ..
        }) = first
        {
            if let Some(role) = self.confirmation(values.clone()) {
                return (role, Phase::Work, Content::Other);
            }
            if kind == resp::PUSH || self.is_message(values.clone()) {
                return (Role::Notice, Phase::Work, Content::Other);
            }
        }
        if self.unasked.monitoring && is_monitor_line(first) {
            return (Role::Notice, Phase::Work, Content::Other);
        }
        let pending_reply = self.pending.pop();
        let is_error = matches!(
            first,
            Some(
                Value::Line {
                    kind: resp::SIMPLE_ERROR,
                    ..
                } | Value::Text {
                    kind: resp::BULK_ERROR,
                    ..
                }
            )
        );
        if !is_error {
            self.answered(pending_reply);
        }
        let content = match first {
            Some(error) if is_error => error_content(error.text().unwrap_or_default()),
            Some(_) if matches!(pending_reply, Some(PendingReply::Introduction { .. })) => version(kept),
            Some(_) | None => Content::Other,
        };
        (Role::Reply, phase(pending_reply), content)
    }

    fn answered(&mut self, pending_reply: Option<PendingReply>) {
        match pending_reply {
            Some(PendingReply::Monitor) => self.unasked.monitoring = true,
            Some(PendingReply::Reset) => self.unasked = Unasked::default(),
            Some(PendingReply::Replication) => self.replicates = true,
            Some(
                PendingReply::Value { .. }
                | PendingReply::Introduction { .. }
                | PendingReply::Confirmations { .. }
                | PendingReply::ConfirmationsOfAll { .. },
            )
            | None => {}
        }
    }

    /// A message that confirms a subscription or its end; `None` if it is another message, or no
    /// confirmation is pending.
    fn confirmation(&mut self, mut values: Values<'_>) -> Option<Role> {
        let what = subscription(values.next()?.text()?)?;
        let Some(PendingReply::Confirmations { .. } | PendingReply::ConfirmationsOfAll { .. }) =
            self.pending.front()
        else {
            return None;
        };
        let now = values.nth(1).and_then(|count| number(count.text()?))?;
        self.note_subscribed(what, now);
        let left = match self.pending.pop() {
            Some(PendingReply::Confirmations { left }) if left > 1 => {
                Some(PendingReply::Confirmations { left: left - 1 })
            }
            Some(PendingReply::ConfirmationsOfAll { what }) if self.unasked.subscribed[what as usize] > 0 => {
                Some(PendingReply::ConfirmationsOfAll { what })
            }
            _ => None,
        };
        if let Some(left) = left {
            self.pending.put_back(left);
            return Some(Role::ReplyPart);
        }
        Some(Role::Reply)
    }

    /// The server counts channels and patterns together, and shard channels separately.
    fn note_subscribed(&mut self, what: Subscription, now: u64) {
        let [channels, patterns, _] = self.unasked.subscribed;
        let others = match what {
            Subscription::Channel => patterns,
            Subscription::Pattern => channels,
            Subscription::Shard => 0,
        };
        self.unasked.subscribed[what as usize] = now.saturating_sub(others);
    }

    /// Whether an array is a published message: RESP2 has no separate type for these.
    fn is_message(&self, mut values: Values<'_>) -> bool {
        let kind = values.next().and_then(|value| value.text());
        self.unasked.subscribed != [0; 3]
            && matches!(
                kind,
                Some(b"message" | b"pmessage" | b"smessage" | b"sunsubscribe")
            )
    }
}

fn subscription(word: &[u8]) -> Option<Subscription> {
    match word {
        b"subscribe" | b"unsubscribe" => Some(Subscription::Channel),
        b"psubscribe" | b"punsubscribe" => Some(Subscription::Pattern),
        b"ssubscribe" | b"sunsubscribe" => Some(Subscription::Shard),
        _ => None,
    }
}

/// `1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`
fn is_monitor_line(value: Option<Value<'_>>) -> bool {
    let Some(Value::Line {
        kind: resp::SIMPLE_STRING,
        text,
    }) = value
    else {
        return false;
    };
    let time = text.iter().position(|&byte| byte == b' ');
    time.is_some_and(|end| {
        let (time, rest) = text.split_at(end);
        let is_time = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
        time.iter().all(is_time) && rest.starts_with(b" [")
    })
}

/// `WRONGTYPE Operation against a key ...`: the first word is the code.
fn error_content(line: &[u8]) -> Content<'_> {
    let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
    let (code, text) = line.split_at(end);
    Content::Error {
        code,
        text: text.trim_ascii_start(),
    }
}

/// Server version, after `version` in `HELLO` and in a line of `INFO`.
fn version(kept: &[u8]) -> Content<'_> {
    let mut values = Values::new(kept).filter_map(|value| value.text());
    let found = values
        .clone()
        .find_map(|text| {
            let at = text
                .windows(INFO_VERSION.len())
                .position(|part| part == INFO_VERSION)?;
            let rest = text.get(at + INFO_VERSION.len()..)?;
            rest.split(u8::is_ascii_whitespace).next()
        })
        .or_else(|| {
            values.find(|text| *text == b"version")?;
            values.next()
        });
    found.map_or(Content::Other, |text| Content::ServerVersion { text })
}

pub(super) fn phase(pending_reply: Option<PendingReply>) -> Phase {
    match pending_reply {
        Some(PendingReply::Value { phase } | PendingReply::Introduction { phase }) => phase,
        Some(
            PendingReply::Confirmations { .. }
            | PendingReply::ConfirmationsOfAll { .. }
            | PendingReply::Monitor
            | PendingReply::Reset
            | PendingReply::Replication,
        )
        | None => Phase::Work,
    }
}

const INFO_VERSION: &[u8] = b"redis_version:";
