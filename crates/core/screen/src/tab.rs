#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tab {
    Operations,
    Statements,
    Held,
    Connections,
    Findings,
}

impl Tab {
    /// In the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Operations,
        Self::Statements,
        Self::Held,
        Self::Connections,
        Self::Findings,
    ];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Statements => "statements",
            Self::Held => "held open",
            Self::Connections => "connections",
            Self::Findings => "findings",
        }
    }

    pub const fn index(self) -> usize {
        self as usize
    }

    /// Cycles forward by `places`.
    pub(crate) fn further(self, places: usize) -> Self {
        Self::ALL[(self.index() + places) % Self::ALL.len()]
    }
}
