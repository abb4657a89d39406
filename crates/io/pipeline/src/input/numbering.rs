//! Connection numbers that are unique over all files of a run.

use model::ConnectionId;
use std::sync::{Arc, OnceLock};

/// One of several sources, which numbers its connections from 0; or all captures, which are read
/// together and share their numbers already.
#[derive(Debug, Clone, Copy)]
pub struct Numbering {
    place: u32,
    captures: u32,
    sources: u32,
}

impl Numbering {
    pub fn new(place: usize, sources: usize) -> Self {
        Self {
            place: counted(place),
            captures: 1,
            sources: counted(sources),
        }
    }

    /// The captures are the first of the sources.
    pub fn of_captures(captures: usize, sources: usize) -> Self {
        Self {
            place: 0,
            captures: counted(captures.max(1)),
            sources: counted(sources),
        }
    }

    /// Returns a number unique to this source. Sources interleave their numbers, because the number
    /// of connections is unknown while they are read in parallel; a single source keeps its
    /// numbers. Beyond `u32::MAX`, far above any run, numbers are not unique.
    pub fn renumber(self, id: ConnectionId) -> ConnectionId {
        let (number, place) = (id.0 / self.captures, self.place + id.0 % self.captures);
        ConnectionId(number.saturating_mul(self.sources).saturating_add(place))
    }
}

fn counted(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The sources of a run of several files, once they are open.
#[derive(Debug, Clone, Default)]
pub struct RunFiles(Arc<OnceLock<Vec<Arc<str>>>>);

impl RunFiles {
    pub(super) fn name(&self, sources: impl Iterator<Item = String>) {
        self.0.get_or_init(|| sources.map(Arc::from).collect());
    }

    /// The file with the first packet of the connection.
    pub fn name_of(&self, id: ConnectionId) -> Option<Arc<str>> {
        let names = self.0.get()?;
        names.get(id.0 as usize % names.len().max(1)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_source_keeps_its_numbers() {
        let only = Numbering::new(0, 1);
        assert!((0..9).all(|number| only.renumber(ConnectionId(number)) == ConnectionId(number)));
    }

    #[test]
    fn no_two_connections_of_several_sources_have_one_number() {
        let numbers = (0..3)
            .flat_map(|place| (0..9).map(move |id| Numbering::new(place, 3).renumber(ConnectionId(id)).0));
        let mut numbers: Vec<u32> = numbers.collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..27).collect::<Vec<_>>());
    }

    #[test]
    fn captures_and_recordings_share_numbers_that_tell_the_file() {
        let files = RunFiles::default();
        files.name(["a.pcap", "b.pcap", "c.lwr"].map(str::to_owned).into_iter());
        let of = |numbering: Numbering, id| files.name_of(numbering.renumber(ConnectionId(id)));
        let captures = (0..6).map(|id| of(Numbering::of_captures(2, 3), id));
        let expected = ["a.pcap", "b.pcap"].repeat(3);
        assert!(captures.eq(expected.into_iter().map(|name| Some(name.into()))));
        assert!((0..3).all(|id| of(Numbering::new(2, 3), id) == Some("c.lwr".into())));
        let captures = (0..6).map(|id| Numbering::of_captures(2, 3).renumber(ConnectionId(id)).0);
        assert!(captures.eq([0, 1, 3, 4, 6, 7]));
    }
}
