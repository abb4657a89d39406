//! How amounts and words are written in records and kept files.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Spans of time in nanoseconds, at most 584 years.
pub mod ns {
    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::time::Duration;

    /// Writes a number, or nothing for `None`.
    pub fn serialize<T: Span, S: Serializer>(span: &T, serializer: S) -> Result<S::Ok, S::Error> {
        span.nanos().serialize(serializer)
    }

    /// The reverse of [`serialize`] in this module.
    pub fn deserialize<'de, T: Span, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::Nanos::deserialize(deserializer).map(T::from_nanos)
    }

    /// A span, or none.
    pub trait Span {
        /// Its numbers of nanoseconds.
        type Nanos: Serialize + DeserializeOwned;
        /// Nanoseconds of this span, if any.
        fn nanos(&self) -> Self::Nanos;
        /// The span of so many nanoseconds.
        fn from_nanos(nanos: Self::Nanos) -> Self;
    }

    impl Span for Duration {
        type Nanos = u64;

        fn nanos(&self) -> u64 {
            crate::Nanos::from(*self).get()
        }

        fn from_nanos(nanos: u64) -> Self {
            Self::from_nanos(nanos)
        }
    }

    impl<T: Span> Span for Option<T> {
        type Nanos = Option<T::Nanos>;

        fn nanos(&self) -> Self::Nanos {
            self.as_ref().map(T::nanos)
        }

        fn from_nanos(nanos: Self::Nanos) -> Self {
            nanos.map(T::from_nanos)
        }
    }
}

/// Digests as 16 hexadecimal digits, because readers that parse numbers as floats would round them.
pub mod hex {
    use serde::{Deserializer, Serializer};

    /// Writes the digits, or nothing for `None`.
    pub fn serialize<S: Serializer>(digest: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
        match digest {
            Some(digest) => serializer.collect_str(&format_args!("{digest:016x}")),
            None => serializer.serialize_none(),
        }
    }

    /// The reverse of [`serialize`] in this module.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        super::from_text(deserializer, "digest", |text| u64::from_str_radix(text, 16).ok()).map(Some)
    }
}

/// The number of items.
pub(crate) fn count<T, S: Serializer>(items: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    items.len().serialize(serializer)
}

/// Whether a count may be left out.
pub(crate) const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Ends the error of a word or address that this version does not know.
pub const NOT_UNDERSTOOD: &str = " is not understood";

/// Reads a text by `parse`; `noun` names it in errors.
pub(crate) fn from_text<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    noun: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    struct Text<P>(&'static str, P);

    impl<T, P: FnOnce(&str) -> Option<T>> Visitor<'_> for Text<P> {
        type Value = T;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(formatter, "a text ({})", self.0)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            let Self(noun, parse) = self;
            parse(text).ok_or_else(|| {
                let shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
                E::custom(format_args!("{noun} {shown:?}{NOT_UNDERSTOOD}"))
            })
        }
    }

    deserializer.deserialize_str(Text(noun, parse))
}

const SHOWN_CHARACTERS: usize = 60;

macro_rules! written_by_name {
    ($($kind:ident)*) => {
        $(impl Serialize for crate::$kind {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        })*
    };
}

macro_rules! found_by_name {
    ($($kind:ident)*) => {
        $(impl crate::$kind {
            /// The one with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        })*
    };
}

macro_rules! read_by_name {
    ($($kind:ident: $noun:literal,)*) => {
        $(impl<'de> Deserialize<'de> for crate::$kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer, $noun, Self::from_name)
            }
        })*
    };
}

written_by_name! {
    Assigned BoundBy Direction EndedBy FindingKind Job Lost NotSeen OperationKind OrderKind ParameterUnit Phase
    PlanMeasure Protocol RoundTripSource RttSource SplitBase TextSource TransactionState TrialSource
    WarningKind
}

found_by_name! { EndedBy Job Lost NotSeen Phase Protocol RttSource TextSource TransactionState WarningKind }

read_by_name! {
    EndedBy: "ended_by",
    Lost: "lost",
    NotSeen: "not_seen",
    Phase: "phase",
    Protocol: "protocol",
    RttSource: "rtt_source",
    TextSource: "text_source",
    TransactionState: "transaction",
}
