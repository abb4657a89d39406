//! What a stage hands on of what it takes: nearly always the same thing at once, sometimes nothing, seldom
//! all that waited.

/// What goes on to the next stage, in order. Iterating over it costs no allocation.
#[derive(Debug)]
pub enum StageOutput<T> {
    /// What was taken.
    Go(T),
    /// Nothing: it waits, or was needed here.
    Stays,
    /// It and all that waited.
    Released(Vec<T>),
}

impl<T> StageOutput<T> {
    /// Hands each on, in order; faster than iterating where it nearly always is one.
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
