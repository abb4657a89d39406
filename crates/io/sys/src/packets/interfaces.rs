//! Network interfaces by name.

use crate::error::{LiveError, OsError};
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::os::fd::BorrowedFd;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interfaces {
    /// Empty for all, including future ones.
    chosen: Vec<(String, u32)>,
}

impl Interfaces {
    /// The name `any` means all.
    ///
    /// # Errors
    /// If there is no interface of a name.
    pub fn named(names: &[String]) -> Result<Self, LiveError> {
        if names.iter().any(|name| name == ANY) {
            return Ok(Self { chosen: Vec::new() });
        }
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
        let socket = socket.map_err(|error| LiveError::System {
            operation: "look up network interfaces",
            reason: OsError::from(error),
        })?;
        let mut chosen: Vec<(String, u32)> = Vec::new();
        for name in names {
            let number = name_to_index(&socket, name).map_err(|_| LiveError::NoSuchInterface {
                name: name.clone(),
                known: known(),
            })?;
            if chosen.iter().all(|(_, other)| *other != number) {
                chosen.push((name.clone(), number));
            }
        }
        Ok(Self { chosen })
    }

    /// The list is empty for all.
    pub fn numbers(&self) -> Vec<u32> {
        self.chosen.iter().map(|(_, number)| *number).collect()
    }

    /// `None` if there are several.
    pub(super) fn only(&self) -> Option<u32> {
        match self.chosen.as_slice() {
            [(_, number)] => Some(*number),
            _ => None,
        }
    }

    /// Returns each name once. Checked by number, since names may change or be reused.
    pub(super) fn take_gone(&mut self, socket: BorrowedFd<'_>) -> Option<String> {
        let gone = |(_, number): &(String, u32)| *number != GONE && index_to_name(socket, *number).is_err();
        let place = self.chosen.iter().position(gone)?;
        let (name, number) = self.chosen.get_mut(place)?;
        *number = GONE;
        Some(name.clone())
    }
}

impl std::fmt::Display for Interfaces {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.chosen.iter().map(|(name, _)| name.as_str()).collect();
        match names.as_slice() {
            [] => formatter.write_str("all interfaces"),
            [name] => write!(formatter, "interface {name}"),
            names => write!(formatter, "interfaces {}", names.join(", ")),
        }
    }
}

/// `/sys` may show those of another network namespace.
fn known() -> Vec<String> {
    let table = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let lines = table.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, _)| name.trim().to_owned()).collect()
}

/// No interface has this number.
const GONE: u32 = 0;
const ANY: &str = "any";
