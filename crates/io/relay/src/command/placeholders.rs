//! Placeholders in a command's arguments.

use super::RelayedTarget;
use std::ffi::{OsStr, OsString};

const PARTS: [&str; 3] = ["host", "port", "url"];

/// Replaces `{host}`, `{port}` and `{url}` of the first target, and each target's `{NAME.host}` etc.
pub(super) fn replaced(word: &OsStr, targets: &[RelayedTarget<'_>]) -> OsString {
    let Some(text) = word.to_str().filter(|text| text.contains('{')) else {
        return word.to_owned();
    };
    let mut text = text.to_owned();
    for (place, target) in targets.iter().enumerate() {
        let values = [
            target.relay.address.to_string(),
            target.relay.port.to_string(),
            target.url(),
        ];
        for (part, value) in PARTS.iter().zip(&values) {
            for placeholder in spellings(part, place, target) {
                text = text.replace(&placeholder, value);
            }
        }
    }
    text.into()
}

pub fn are_used(command: &[OsString], place: usize, target: &RelayedTarget<'_>) -> bool {
    let spellings: Vec<String> = PARTS
        .iter()
        .flat_map(|part| spellings(part, place, target))
        .collect();
    let words = command.iter().filter_map(|word| word.to_str());
    words
        .into_iter()
        .any(|word| spellings.iter().any(|spelling| word.contains(spelling)))
}

fn spellings(part: &str, place: usize, target: &RelayedTarget<'_>) -> impl Iterator<Item = String> {
    let plain = (place == 0).then(|| format!("{{{part}}}"));
    plain.into_iter().chain([format!("{{{}.{part}}}", target.name)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Endpoint;
    use sys::{ClientTls, Target};

    #[test]
    fn each_target_has_its_own_and_the_first_the_plain_ones() {
        let targets = [
            Target::parse("postgres://app@db1/shop").expect("a target"),
            Target::parse("redis://cache1").expect("a target"),
        ];
        let relayed = |name, port: u16, target| RelayedTarget {
            name,
            target,
            relay: Endpoint {
                address: [127, 0, 0, 1].into(),
                port,
            },
            tls: ClientTls::Own,
        };
        let relayed = [
            relayed("postgres", 1111, &targets[0]),
            relayed("redis", 2222, &targets[1]),
        ];
        let words = |text: &str| replaced(OsStr::new(text), &relayed).into_string().expect("text");
        assert_eq!(words("{host}:{port}"), "127.0.0.1:1111");
        assert_eq!(words("{postgres.port} {redis.port}"), "1111 2222");
        assert_eq!(
            words("{url} {redis.url}"),
            "postgres://app@127.0.0.1:1111/shop redis://127.0.0.1:2222"
        );
        assert_eq!(words("{mysql.port} {x}"), "{mysql.port} {x}");
        let command = [OsString::from("app"), OsString::from("--cache={redis.host}")];
        assert!(!are_used(&command, 0, &relayed[0]) && are_used(&command, 1, &relayed[1]));
    }
}
