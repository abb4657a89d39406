//! The tabs.

/// A table of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tab {
    /// Operations by name.
    Operations,
    /// Statements.
    Statements,
    /// Transactions held open.
    Held,
    /// Connections.
    Connections,
    /// Findings.
    Findings,
}

impl Tab {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Operations,
        Self::Statements,
        Self::Held,
        Self::Connections,
        Self::Findings,
    ];

    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Statements => "statements",
            Self::Held => "held open",
            Self::Connections => "connections",
            Self::Findings => "findings",
        }
    }

    /// Its place among all, from 0 on.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The one so many places further, around.
    pub(crate) fn further(self, places: usize) -> Self {
        Self::ALL[(self.index() + places) % Self::ALL.len()]
    }
}
