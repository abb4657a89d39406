//! A serializer that fills the cells of a row.

use super::{Cell, RecordRow};
use crate::schema::ColumnKind;
use serde::ser::{Error as _, Impossible, SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

pub(super) struct Cells<'r> {
    pub(super) row: &'r mut RecordRow,
    pub(super) target: Target,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Record,
    Key,
    /// A column that is not nested.
    Column(usize),
}

pub(super) struct Keys<'r> {
    row: &'r mut RecordRow,
}

type Fault = serde_json::Error;
type Refused = Impossible<(), Fault>;

impl<'r> Cells<'r> {
    fn kind(&self) -> Option<ColumnKind> {
        let Target::Column(place) = self.target else {
            return None;
        };
        let columns = self.row.table.columns();
        columns.get(place).map(|column| column.kind)
    }

    fn put(self, kind: ColumnKind, value: i64) -> Result<(), Fault> {
        match self.target {
            Target::Column(place) if self.kind() == Some(kind) => {
                self.row.set(place, Cell::Number(value));
                Ok(())
            }
            Target::Record | Target::Key | Target::Column(_) => Err(unfit()),
        }
    }

    fn integer(self, value: impl TryInto<i64>) -> Result<(), Fault> {
        match value.try_into() {
            Ok(value) => self.put(ColumnKind::Integer, value),
            Err(_) => Err(unfit()),
        }
    }

    fn keys(self) -> Result<Keys<'r>, Fault> {
        match self.target {
            Target::Record => Ok(Keys { row: self.row }),
            Target::Key | Target::Column(_) => Err(unfit()),
        }
    }
}

/// The value does not fit its column and is kept with the additional keys.
fn unfit() -> Fault {
    Fault::custom("no record with values of this kind")
}

macro_rules! integers {
    ($($method:ident: $number:ty,)*) => {
        $(fn $method(self, value: $number) -> Result<(), Fault> {
            self.integer(value)
        })*
    };
}

impl<'r> Serializer for Cells<'r> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = Refused;
    type SerializeTuple = Refused;
    type SerializeTupleStruct = Refused;
    type SerializeTupleVariant = Refused;
    type SerializeMap = Keys<'r>;
    type SerializeStruct = Keys<'r>;
    type SerializeStructVariant = Refused;

    integers! {
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
    }

    fn serialize_bool(self, value: bool) -> Result<(), Fault> {
        self.put(ColumnKind::Flag, i64::from(value))
    }

    fn serialize_str(self, value: &str) -> Result<(), Fault> {
        match (self.target, self.kind()) {
            (Target::Key, _) => {
                self.row.key.clear();
                self.row.key.push_str(value);
            }
            (Target::Column(place), Some(ColumnKind::Text)) => self.row.set_text(place, value.as_bytes()),
            (Target::Column(place), Some(ColumnKind::Digest)) => {
                let digest = u64::from_str_radix(value, 16).map_err(|_| unfit())?;
                self.row.set(place, Cell::Number((digest >> 32).cast_signed()));
            }
            _ => return Err(unfit()),
        }
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Fault> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Fault> {
        self.serialize_str(variant)
    }

    fn serialize_none(self) -> Result<(), Fault> {
        Ok(())
    }

    fn serialize_unit(self) -> Result<(), Fault> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Keys<'r>, Fault> {
        self.keys()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Keys<'r>, Fault> {
        self.keys()
    }

    // No column has this type.

    fn serialize_f32(self, _: f32) -> Result<(), Fault> {
        Err(unfit())
    }

    fn serialize_f64(self, _: f64) -> Result<(), Fault> {
        Err(unfit())
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Fault> {
        Err(unfit())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Fault> {
        Err(unfit())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Fault> {
        Err(unfit())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Refused, Fault> {
        Err(unfit())
    }

    fn serialize_tuple(self, _: usize) -> Result<Refused, Fault> {
        Err(unfit())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Refused, Fault> {
        Err(unfit())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Refused, Fault> {
        Err(unfit())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Refused, Fault> {
        Err(unfit())
    }
}

impl SerializeMap for Keys<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Fault> {
        key.serialize(Cells {
            row: self.row,
            target: Target::Key,
        })
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Fault> {
        let key = std::mem::take(&mut self.row.key);
        let taken = self.row.take_value(&key, self.row.meaning(&key), value);
        self.row.key = key;
        taken
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}

impl SerializeStruct for Keys<'_> {
    type Ok = ();
    type Error = Fault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Fault> {
        self.row.take_known(key, value)
    }

    fn end(self) -> Result<(), Fault> {
        Ok(())
    }
}
