//! Parses a service's `settings` table.
//!
//! Longwire knows a few keys (`port`, `database`, ...); all others are passed to the server in its
//! own syntax.

use super::super::config::ServiceKind;
use super::super::config::tree::{ConfigValue, Entry, FileSpan, Table};
use model::Protocol;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceSettings {
    Postgres {
        /// TCP port, default 5432.
        port: u16,
        /// Clients need no password if `None`.
        password: Option<String>,
        database: Option<String>,
        /// Lines of the server's `postgresql.conf`.
        own: Vec<(String, String)>,
    },
    Mariadb {
        /// TCP port, default 3306.
        port: u16,
        /// A user with all privileges, and its password.
        user: Option<(String, String)>,
        database: Option<String>,
        /// Command line options of mariadbd.
        own: Vec<(String, String)>,
    },
    Nginx {
        /// TCP port, default 80.
        port: u16,
        /// Served as the document root.
        root: String,
        /// The php-fpm service for scripts.
        php: Option<String>,
        /// Directives for the `server` block.
        directives: Vec<String>,
    },
    PhpFpm {
        /// Concurrent requests, default 8.
        workers: u32,
        /// TCP port for web servers on other hosts; `None` means a Unix socket.
        port: Option<u16>,
        /// Lines of PHP's `php.ini`.
        own: Vec<(String, String)>,
    },
    Command,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SettingFault {
    /// `None` if an entry is missing.
    pub place: Option<FileSpan>,
    /// The fault and its remedy.
    pub what: String,
}

impl ServiceSettings {
    /// # Errors
    /// An invalid value, or a missing required one.
    pub fn parse(kind: ServiceKind, table: &Table) -> Result<Self, SettingFault> {
        let mut left = Left {
            entries: table.entries.iter().collect(),
        };
        match kind {
            ServiceKind::Postgres => Ok(Self::Postgres {
                port: left.port("postgres")?,
                password: left.text("password")?,
                database: left.text("database")?,
                own: left.all()?,
            }),
            ServiceKind::Mariadb => Ok(Self::Mariadb {
                port: left.port("mysql")?,
                user: left.user()?,
                database: left.text("database")?,
                own: left.all()?,
            }),
            ServiceKind::Nginx => {
                let root = left.text("root")?.ok_or_else(|| SettingFault {
                    place: None,
                    what: "nginx serves no directory: add settings.root = \"site\"".to_owned(),
                })?;
                let settings = Self::Nginx {
                    port: left.port("http")?,
                    root,
                    php: left.text("php")?,
                    directives: left.list("directives")?,
                };
                left.none("nginx has the settings port, root, php and directives")?;
                Ok(settings)
            }
            ServiceKind::PhpFpm => Ok(Self::PhpFpm {
                workers: left.number("workers", 1, 1000)?.unwrap_or(8) as u32,
                port: left.number("port", 1, 65_535)?.map(|port| port as u16),
                own: left.all()?,
            }),
            ServiceKind::Command => {
                left.none("a command has no settings: give it arguments, or an environment")?;
                Ok(Self::Command)
            }
        }
    }

    /// TCP listening port, if there is one and it is known.
    pub const fn port(&self) -> Option<u16> {
        match self {
            Self::Postgres { port, .. } | Self::Mariadb { port, .. } | Self::Nginx { port, .. } => {
                Some(*port)
            }
            Self::PhpFpm { port, .. } => *port,
            Self::Command => None,
        }
    }
}

/// Entries not read yet.
struct Left<'a> {
    entries: Vec<&'a Entry>,
}

impl Left<'_> {
    fn take_entry(&mut self, key: &str) -> Option<&Entry> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    fn text(&mut self, key: &str) -> Result<Option<String>, SettingFault> {
        match self.take_entry(key) {
            None => Ok(None),
            Some(Entry { node, .. }) => match &node.value {
                ConfigValue::Text(text) if !text.is_empty() => Ok(Some(text.clone())),
                _ => Err(wrong(&node.place, key, "a text")),
            },
        }
    }

    fn number(&mut self, key: &str, least: i64, most: i64) -> Result<Option<i64>, SettingFault> {
        match self.take_entry(key) {
            None => Ok(None),
            Some(Entry { node, .. }) => match node.value {
                ConfigValue::Integer(number) if (least..=most).contains(&number) => Ok(Some(number)),
                _ => Err(wrong(
                    &node.place,
                    key,
                    &format!("a whole number from {least} to {most}"),
                )),
            },
        }
    }

    /// Without the setting, the usual port of this scheme.
    fn port(&mut self, scheme: &str) -> Result<u16, SettingFault> {
        let port = self.number("port", 1, 65_535)?.map(|port| port as u16);
        Ok(port
            .or_else(|| Protocol::default_port(scheme))
            .unwrap_or_default())
    }

    fn user(&mut self) -> Result<Option<(String, String)>, SettingFault> {
        let place = self
            .entries
            .iter()
            .find(|entry| entry.key == "user" || entry.key == "password");
        let place = place.map(|entry| entry.place.clone());
        match (self.text("user")?, self.text("password")?) {
            (Some(user), Some(password)) => Ok(Some((user, password))),
            (None, None) => Ok(None),
            _ => Err(SettingFault {
                place,
                what: "a user of mariadb has a name and a password: give both, or leave both out".to_owned(),
            }),
        }
    }

    fn list(&mut self, key: &str) -> Result<Vec<String>, SettingFault> {
        let Some(Entry { node, .. }) = self.take_entry(key) else {
            return Ok(Vec::new());
        };
        let ConfigValue::List(nodes) = &node.value else {
            return Err(wrong(&node.place, key, "a list of texts"));
        };
        nodes
            .iter()
            .map(|node| match &node.value {
                ConfigValue::Text(text) => Ok(text.clone()),
                _ => Err(wrong(&node.place, key, "a list of texts")),
            })
            .collect()
    }

    /// Returns the remaining entries, which are the server's own settings.
    fn all(self) -> Result<Vec<(String, String)>, SettingFault> {
        self.entries
            .into_iter()
            .map(|Entry { key, node, .. }| match node.value.text() {
                // One line per entry in the server's configuration file.
                Some(text) if !format!("{key}{text}").contains(['\n', '\r', '\0']) => Ok((key.clone(), text)),
                _ => Err(wrong(&node.place, key, "a text or a number, on one line")),
            })
            .collect()
    }

    fn none(self, advice: &str) -> Result<(), SettingFault> {
        match self.entries.first() {
            None => Ok(()),
            Some(entry) => Err(SettingFault {
                place: Some(entry.place.clone()),
                what: format!("there is no setting '{}' here: {advice}", entry.key),
            }),
        }
    }
}

fn wrong(place: &FileSpan, key: &str, expected: &str) -> SettingFault {
    SettingFault {
        place: Some(place.clone()),
        what: format!("settings.{key}: write {expected}"),
    }
}
