//! A service's table `settings`, by kind.
//!
//! Keys that longwire knows (`port`, `database`, ...) are few; for the servers with settings of their own all
//! others are those of the server, written as it wants them.

use super::super::config::ServiceKind;
use super::super::config::tree::{ConfigValue, Entry, FileSpan, Table};

/// The settings of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServiceSettings {
    /// `kind = "postgres"`.
    Postgres {
        /// TCP port, 5432 unless given.
        port: u16,
        /// The superuser's password; without one, clients need no password.
        password: Option<String>,
        /// A database to make.
        database: Option<String>,
        /// Lines of `postgresql.conf`.
        own: Vec<(String, String)>,
    },
    /// `kind = "mariadb"`.
    Mariadb {
        /// TCP port, 3306 unless given.
        port: u16,
        /// A user with all privileges, and the password.
        user: Option<(String, String)>,
        /// A database to make.
        database: Option<String>,
        /// Options of mariadbd.
        own: Vec<(String, String)>,
    },
    /// `kind = "nginx"`.
    Nginx {
        /// TCP port, 80 unless given.
        port: u16,
        /// The directory it serves.
        root: String,
        /// The service of kind php-fpm that runs its scripts.
        php: Option<String>,
        /// Directives for its `server` block.
        directives: Vec<String>,
    },
    /// `kind = "php-fpm"`.
    PhpFpm {
        /// Requests it works on at the same time, 8 unless given.
        workers: u32,
        /// TCP port, for web servers on other hosts; absent: a Unix socket.
        port: Option<u16>,
        /// Lines of `php.ini`.
        own: Vec<(String, String)>,
    },
    /// `kind = "command"`: none.
    Command,
}

/// What is wrong in the table, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingFault {
    /// Where in the file; `None` if something is missing.
    pub place: Option<FileSpan>,
    /// What is wrong, and what to write instead.
    pub what: String,
}

impl ServiceSettings {
    /// Reads the table of a service of this kind.
    ///
    /// # Errors
    /// When a value is not what it should be, or something that the kind needs is missing.
    pub fn parse(kind: ServiceKind, table: &Table) -> Result<Self, SettingFault> {
        let mut left = Left {
            entries: table.entries.iter().collect(),
        };
        match kind {
            ServiceKind::Postgres => Ok(Self::Postgres {
                port: left.port(5432)?,
                password: left.text("password")?,
                database: left.text("database")?,
                own: left.all()?,
            }),
            ServiceKind::Mariadb => Ok(Self::Mariadb {
                port: left.port(3306)?,
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
                    port: left.port(80)?,
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

    /// The TCP port it listens on; `None` if it has none, or where it is unknown.
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

/// The entries that were not asked for yet.
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

    fn port(&mut self, usual: u16) -> Result<u16, SettingFault> {
        let port = self.number("port", 1, 65_535)?;
        Ok(port.map_or(usual, |port| port as u16))
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

    /// The rest: the server's own settings.
    fn all(self) -> Result<Vec<(String, String)>, SettingFault> {
        self.entries
            .into_iter()
            .map(|Entry { key, node, .. }| match node.value.text() {
                // One line each in the server's own file.
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
