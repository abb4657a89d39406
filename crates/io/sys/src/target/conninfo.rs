//! libpq's `key=value` strings (PostgreSQL manual, section 34.1.1.1).

use super::security::is_about_security;
use super::{ClientTls, TargetError, url};
use model::Endpoint;
use std::fmt;

/// `Debug` shows the keys only.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pairs(Vec<(String, String)>);

impl fmt::Debug for Pairs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_list()
            .entries(self.0.iter().map(|(key, _)| key))
            .finish()
    }
}

impl Pairs {
    /// Parses `host=db1 port=5432 password='with \' quote'`. Spaces around `=` are allowed, single
    /// quotes enclose a value with spaces, a backslash escapes the next character.
    pub(super) fn split(text: &str) -> Result<Self, TargetError> {
        let mut pairs = Vec::new();
        let mut rest = Rest {
            characters: text.chars().peekable(),
            position: 0,
        };
        loop {
            rest.skip_spaces();
            if rest.characters.peek().is_none() {
                return Ok(Self(pairs));
            }
            let key = rest.key();
            rest.skip_spaces();
            if key.is_empty() || rest.next() != Some('=') {
                return Err(TargetError::BadConninfo {
                    position: rest.position.max(1),
                });
            }
            rest.skip_spaces();
            pairs.push((key, rest.value()?));
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub(super) fn get(&self, wanted: &str) -> Option<&str> {
        self.iter()
            .filter(|(key, _)| *key == wanted)
            .map(|(_, value)| value)
            .last()
    }

    /// Sets a pair at the end of the string, or removes it.
    pub(super) fn with_pair(&self, name: &str, value: Option<&str>) -> Self {
        let others = self.0.iter().filter(|(key, _)| key != name).cloned();
        let set = value.map(|value| (name.to_owned(), value.to_owned()));
        Self(others.chain(set).collect())
    }

    /// Replaces host and port. [`ClientTls::LeftOut`] disables TLS if there was a TLS parameter.
    pub(super) fn through(&self, endpoint: Endpoint, tls: ClientTls) -> String {
        let mut words = vec![
            format!("host={}", endpoint.address),
            format!("port={}", endpoint.port),
        ];
        let left_out = tls == ClientTls::LeftOut;
        for (key, value) in self.iter().filter(|(key, _)| !url::is_about_route(key)) {
            if !(left_out && is_about_security(key)) {
                words.push(format!("{key}={}", quoted(value)));
            }
        }
        if left_out && self.iter().any(|(key, _)| is_about_security(key)) {
            words.push("sslmode=disable".to_owned());
        }
        words.join(" ")
    }
}

struct Rest<'a> {
    characters: std::iter::Peekable<std::str::Chars<'a>>,
    position: usize,
}

impl Rest<'_> {
    fn next(&mut self) -> Option<char> {
        self.position += 1;
        self.characters.next()
    }

    fn skip_spaces(&mut self) {
        while self.characters.next_if(|c| c.is_whitespace()).is_some() {
            self.position += 1;
        }
    }

    fn key(&mut self) -> String {
        let mut key = String::new();
        while let Some(c) = self.characters.next_if(|c| *c != '=' && !c.is_whitespace()) {
            self.position += 1;
            key.push(c);
        }
        key
    }

    fn value(&mut self) -> Result<String, TargetError> {
        let quoted = self.characters.peek() == Some(&'\'');
        if quoted {
            self.next();
        }
        let mut value = String::new();
        loop {
            match self.characters.peek() {
                None if quoted => {
                    return Err(TargetError::BadConninfo {
                        position: self.position,
                    });
                }
                None => return Ok(value),
                Some('\'') if quoted => {
                    self.next();
                    return Ok(value);
                }
                Some(c) if c.is_whitespace() && !quoted => return Ok(value),
                Some('\\') => {
                    self.next();
                    value.extend(self.next());
                }
                Some(_) => value.extend(self.next()),
            }
        }
    }
}

fn quoted(value: &str) -> String {
    let plain = !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '\'' || c == '\\');
    if plain {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
    }
}
