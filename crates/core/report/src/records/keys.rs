//! Views of values with keys that are not their fields: a line per key.

use serde::Serialize;
use std::time::Duration;

/// A view of its inputs, written as the keys in their order. An absent value leaves its key out, a
/// span is written in nanoseconds; `..name: part` writes all keys of a part.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident($($input:ident: $type:ty),*) { $($keys:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name<'a>($(pub(super) $type),*);

        impl serde::Serialize for $name<'_> {
            #[expect(non_camel_case_types, reason = "each key is a type parameter, too")]
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let Self($($input),*) = *self;
                record!(@ serializer [] [] [] $($keys)*)
            }
        }
    };
    (@ $serializer:ident [$($parameter:ident)*] [$($field:tt)*] [$($value:tt)*]) => {{
        #[derive(serde::Serialize)]
        struct Keys<$($parameter),*> { $($field)* }
        serde::Serialize::serialize(&Keys { $($value)* }, $serializer)
    }};
    (@ $serializer:ident [$($parameter:ident)*] [$($field:tt)*] [$($value:tt)*]
        $key:ident: $new:expr, $($rest:tt)*) => {
        record!(@ $serializer
            [$($parameter)* $key]
            [$($field)* #[serde(skip_serializing_if = "Option::is_none")] $key: Option<$key>,]
            [$($value)* $key: crate::records::keys::KeyValue::written($new),]
            $($rest)*)
    };
    (@ $serializer:ident [$($parameter:ident)*] [$($field:tt)*] [$($value:tt)*]
        ..$part:ident: $new:expr, $($rest:tt)*) => {
        record!(@ $serializer
            [$($parameter)* $part]
            [$($field)* #[serde(flatten)] $part: $part,]
            [$($value)* $part: $new,]
            $($rest)*)
    };
}

pub(super) trait KeyValue {
    type Written: Serialize;

    /// `None` leaves the key out.
    fn written(self) -> Option<Self::Written>;
}

macro_rules! as_they_are {
    ($($type:ty)*) => {
        $(impl KeyValue for $type {
            type Written = Self;

            fn written(self) -> Option<Self> {
                Some(self)
            }
        })*
    };
}

as_they_are! { bool u8 u32 u64 usize i64 f64 String }

impl<T: Serialize + ?Sized> KeyValue for &T {
    type Written = Self;

    fn written(self) -> Option<Self> {
        Some(self)
    }
}

impl KeyValue for Duration {
    type Written = u64;

    fn written(self) -> Option<u64> {
        Some(super::nanos(self))
    }
}

impl<T: KeyValue> KeyValue for Option<T> {
    type Written = T::Written;

    fn written(self) -> Option<T::Written> {
        self.and_then(T::written)
    }
}
