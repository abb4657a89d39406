//! Connection numbers that are unique over all files of a run.

use model::ConnectionId;

/// One of several sources. Each numbers its connections from 0.
#[derive(Debug, Clone, Copy)]
pub struct Numbering {
    place: u32,
    sources: u32,
}

impl Numbering {
    pub fn new(place: usize, sources: usize) -> Self {
        let counted = |count| u32::try_from(count).unwrap_or(u32::MAX);
        Self {
            place: counted(place),
            sources: counted(sources),
        }
    }

    /// Returns a number unique to this source. Sources interleave their numbers, because the number
    /// of connections is unknown while they are read in parallel; a single source keeps its
    /// numbers. Beyond `u32::MAX`, far above any run, numbers are not unique.
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
