//! Output of a stage for one input: usually that input, sometimes no output, rarely all that
//! waited.

/// Output of a stage for one input. Iterating costs no allocation.
#[derive(Debug)]
pub enum StageOutput<T> {
    /// The input, unchanged or processed.
    Go(T),
    /// The input waits or was consumed.
    Stays,
    /// The input and all that waited.
    Released(Vec<T>),
}

impl<T> StageOutput<T> {
    /// Faster than iterating if there is usually one.
    #[inline]
    pub fn each(self, mut take: impl FnMut(T)) {
        match self {
            Self::Go(one) => take(one),
            Self::Stays => {}
            Self::Released(many) => many.into_iter().for_each(take),
        }
    }
}

impl<T> IntoIterator for StageOutput<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, many) = match self {
            Self::Go(one) => (Some(one), Vec::new()),
            Self::Stays => (None, Vec::new()),
            Self::Released(many) => (None, many),
        };
        one.into_iter().chain(many)
    }
}

impl<T> From<Option<T>> for StageOutput<T> {
    fn from(one: Option<T>) -> Self {
        one.map_or(Self::Stays, Self::Go)
    }
}

impl<T> From<Vec<T>> for StageOutput<T> {
    fn from(many: Vec<T>) -> Self {
        Self::Released(many)
    }
}
