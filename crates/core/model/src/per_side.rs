//! Pairs indexed by [`Direction`] or [`Side`].

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

use crate::{Direction, Side};

macro_rules! pair {
    ($(#[$doc:meta])* $name:ident[$key:ident], $first:ident, $second:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        pub struct $name<T>([T; 2]);

        impl<T> $name<T> {
            /// Both values, in the order of the enum.
            pub const fn new($first: T, $second: T) -> Self {
                Self([$first, $second])
            }

            /// The same value twice.
            pub const fn splat(value: T) -> Self
            where
                T: Copy,
            {
                Self([value; 2])
            }

            /// The value of each key.
            pub fn from_fn(value: impl FnMut($key) -> T) -> Self {
                Self($key::ALL.map(value))
            }

            /// Each value through `change`.
            pub fn map<U>(self, change: impl FnMut(T) -> U) -> $name<U> {
                $name(self.0.map(change))
            }

            /// References to the values.
            pub const fn each_ref(&self) -> $name<&T> {
                $name(self.0.each_ref())
            }

            /// Mutable references to the values.
            pub const fn each_mut(&mut self) -> $name<&mut T> {
                $name(self.0.each_mut())
            }

            /// The values with keys exchanged.
            pub fn reversed(self) -> Self {
                let [first, second] = self.0;
                Self([second, first])
            }

            /// Pairs of this and the other's values.
            pub fn zip<U>(self, other: $name<U>) -> $name<(T, U)> {
                let ([a, b], [c, d]) = (self.0, other.0);
                $name([(a, c), (b, d)])
            }

            /// The values, in the order of the enum.
            pub fn iter(&self) -> std::slice::Iter<'_, T> {
                self.0.iter()
            }

            /// The values to change, in the order of the enum.
            pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
                self.0.iter_mut()
            }

            /// The values as an array, in the order of the enum.
            pub fn into_array(self) -> [T; 2] {
                self.0
            }

        }

        impl<T> Index<$key> for $name<T> {
            type Output = T;

            #[inline]
            fn index(&self, key: $key) -> &T {
                &self.0[key as usize]
            }
        }

        impl<T> IndexMut<$key> for $name<T> {
            #[inline]
            fn index_mut(&mut self, key: $key) -> &mut T {
                &mut self.0[key as usize]
            }
        }

        impl<T> From<[T; 2]> for $name<T> {
            fn from(values: [T; 2]) -> Self {
                Self(values)
            }
        }

        impl<T> IntoIterator for $name<T> {
            type Item = T;
            type IntoIter = std::array::IntoIter<T, 2>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter()
            }
        }

        impl<'a, T> IntoIterator for &'a $name<T> {
            type Item = &'a T;
            type IntoIter = std::slice::Iter<'a, T>;

            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }

        impl<'a, T> IntoIterator for &'a mut $name<T> {
            type Item = &'a mut T;
            type IntoIter = std::slice::IterMut<'a, T>;

            fn into_iter(self) -> Self::IntoIter {
                self.iter_mut()
            }
        }
    };
}

pair! {
    /// One value per direction.
    PerDirection[Direction], to_server, to_client
}

pair! {
    /// One value per side.
    PerSide[Side], client, server
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_direction() {
        let mut bytes = PerDirection::new(3, 5);
        bytes[Direction::ServerToClient] += 1;
        assert_eq!(bytes[Direction::ClientToServer], 3);
        assert_eq!(bytes[Direction::ServerToClient], 6);
        let before = PerDirection::new(1, 5);
        let grown = bytes.zip(before).map(|(now, before)| now - before);
        assert_eq!(grown, PerDirection::new(2, 1));
        assert_eq!(bytes.map(|count| count * 2), PerDirection::new(6, 12));
        assert_eq!(bytes.reversed(), PerDirection::new(6, 3));
        assert_eq!(PerDirection::<u64>::default(), PerDirection::splat(0));
        assert_eq!(PerDirection::from_fn(Direction::index), PerDirection::new(0, 1));
    }

    #[test]
    fn the_client_is_before_the_server() {
        let mut ports = PerSide::new(40_000, 5432);
        assert_eq!([ports[Side::Client], ports[Side::Server]], [40_000, 5432]);
        for port in &mut ports {
            *port += 1;
        }
        assert_eq!(ports.iter().sum::<i32>(), 45_434);
        assert_eq!(ports.into_array(), [40_001, 5433]);
    }
}
