//! Numbers of connections that are unique over all files of a run.

use model::ConnectionId;

/// One of several sources of connections, each of which numbers its own from 0 on.
#[derive(Debug, Clone, Copy)]
pub struct Numbering {
    /// Which source, from 0 on.
    place: u32,
    /// How many there are.
    sources: u32,
}

impl Numbering {
    /// The source at `place` of so many.
    pub fn new(place: usize, sources: usize) -> Self {
        let counted = |count| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            place: counted(place),
            sources: counted(sources),
        }
    }

    /// The number that no connection of another source has: sources take round trips, and a single one keeps
    /// its numbers. How many connections a source has is not known while they are read side by side. Beyond
    /// `u32::MAX`, which no run comes near, numbers are no longer unique.
    pub fn renumber(self, id: ConnectionId) -> ConnectionId {
        ConnectionId(id.0.saturating_mul(self.sources).saturating_add(self.place))
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
}
