//! Converts values between PostgreSQL's types and SQLite's storage classes.

use std::sync::Arc;

use pgwire::api::Type;
use pgwire::api::portal::Format;
use pgwire::api::results::{DataRowEncoder, FieldFormat, FieldInfo};
use pgwire::error::{ErrorInfo, PgWireError};
use pgwire::messages::data::DataRow;
use pgwire::types::format::FormatOptions;
use rusqlite::Statement;
use rusqlite::types::{Value, ValueRef};

use crate::sqlstate::{Refusal, error};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) datatype: Type,
}

/// Computed columns have no declared type and count as text.
pub(crate) fn columns(statement: &Statement<'_>) -> Vec<Column> {
    let described = statement.columns();
    described
        .map(|column| Column {
            name: column.name().to_owned(),
            datatype: column.decl_type().map_or(Type::TEXT, type_of_declaration),
        })
        .collect()
}

pub(crate) fn schema(columns: &[Column], format: Option<&Format>) -> Result<Arc<Vec<FieldInfo>>, Refusal> {
    let field = |(index, column): (usize, &Column)| {
        let format = format_of(format, index)?;
        Ok(FieldInfo::new(
            column.name.clone(),
            None,
            None,
            column.datatype.clone(),
            format,
        ))
    };
    Ok(Arc::new(
        columns
            .iter()
            .enumerate()
            .map(field)
            .collect::<Result<_, Refusal>>()?,
    ))
}

pub(crate) fn row(
    encoder: &mut DataRowEncoder,
    schema: &[FieldInfo],
    row: &rusqlite::Row<'_>,
) -> Result<DataRow, Refusal> {
    for (index, field) in schema.iter().enumerate() {
        let value = row
            .get_ref(index)
            .map_err(|failure| crate::sqlstate::from_sqlite(&failure))?;
        encode(encoder, field, value)?;
    }
    Ok(encoder.take_row())
}

pub(crate) fn parameter(
    bytes: Option<&[u8]>,
    datatype: &Type,
    format: FieldFormat,
) -> Result<Value, Refusal> {
    let Some(bytes) = bytes else {
        return Ok(Value::Null);
    };
    match format {
        FieldFormat::Binary => binary(bytes, datatype),
        FieldFormat::Text => {
            let text = std::str::from_utf8(bytes).map_err(|_| error("22021", "a parameter is not UTF-8"))?;
            from_text(text, datatype)
        }
    }
}

/// The format of value `index`: one code for all, one per value, or text by default.
pub(crate) fn format_of(format: Option<&Format>, index: usize) -> Result<FieldFormat, Refusal> {
    match format {
        None | Some(Format::UnifiedText) => Ok(FieldFormat::Text),
        Some(Format::UnifiedBinary) => Ok(FieldFormat::Binary),
        Some(Format::Individual(codes)) => {
            let code = codes
                .get(index)
                .ok_or_else(|| error("08P01", "fewer format codes than values"))?;
            Ok(FieldFormat::from(*code))
        }
    }
}

/// SQLite's rules of affinity (its manual, datatype3.html section 3.1), in their order.
fn type_of_declaration(declared: &str) -> Type {
    let declared = declared.to_ascii_uppercase();
    let names = |parts: &[&str]| parts.iter().any(|part| declared.contains(part));
    if names(&["INT"]) {
        Type::INT8
    } else if names(&["CHAR", "CLOB", "TEXT"]) {
        Type::TEXT
    } else if names(&["BLOB"]) {
        Type::BYTEA
    } else if names(&["REAL", "FLOA", "DOUB"]) {
        Type::FLOAT8
    } else {
        Type::TEXT
    }
}

fn encode(encoder: &mut DataRowEncoder, field: &FieldInfo, value: ValueRef<'_>) -> Result<(), Refusal> {
    let options = FormatOptions::default();
    let datatype = field.datatype();
    // Every value has a text form for any column type, but a binary form only for its own type.
    let fits = field.format() == FieldFormat::Text || fits(datatype, &value);
    let written = match value {
        ValueRef::Null => {
            encoder.encode_field_with_type_and_format(&None::<i64>, datatype, FieldFormat::Text, &options)
        }
        _ if !fits => {
            let message = format!(
                "column {:?} holds a value that has no binary form as {datatype}",
                field.name()
            );
            return Err(error("42804", message));
        }
        ValueRef::Integer(number) if *datatype == Type::TEXT => {
            encoder.encode_field_with_type_and_format(&number.to_string(), datatype, field.format(), &options)
        }
        ValueRef::Integer(number) => {
            encoder.encode_field_with_type_and_format(&number, &Type::INT8, field.format(), &options)
        }
        ValueRef::Real(number) if *datatype == Type::TEXT => {
            encoder.encode_field_with_type_and_format(&number.to_string(), datatype, field.format(), &options)
        }
        ValueRef::Real(number) => {
            encoder.encode_field_with_type_and_format(&number, &Type::FLOAT8, field.format(), &options)
        }
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            encoder.encode_field_with_type_and_format(&text.as_ref(), &Type::TEXT, field.format(), &options)
        }
        ValueRef::Blob(bytes) => {
            encoder.encode_field_with_type_and_format(&bytes, &Type::BYTEA, field.format(), &options)
        }
    };
    written.map_err(|failure: PgWireError| Box::new(ErrorInfo::from(failure)))
}

fn fits(datatype: &Type, value: &ValueRef<'_>) -> bool {
    match value {
        ValueRef::Null => true,
        ValueRef::Integer(_) => *datatype == Type::INT8 || *datatype == Type::TEXT,
        ValueRef::Real(_) => *datatype == Type::FLOAT8 || *datatype == Type::TEXT,
        ValueRef::Text(_) => *datatype == Type::TEXT,
        ValueRef::Blob(_) => *datatype == Type::BYTEA,
    }
}

fn from_text(text: &str, datatype: &Type) -> Result<Value, Refusal> {
    let invalid = || {
        error(
            "22P02",
            format!("invalid input syntax for type {datatype}: {text:?}"),
        )
    };
    match *datatype {
        Type::INT2 | Type::INT4 | Type::INT8 => {
            text.trim().parse().map(Value::Integer).map_err(|_| invalid())
        }
        Type::FLOAT4 | Type::FLOAT8 => text.trim().parse().map(Value::Real).map_err(|_| invalid()),
        Type::BOOL => truth(text.trim())
            .map(|truth| Value::Integer(truth.into()))
            .ok_or_else(invalid),
        Type::UNKNOWN => Ok(undeclared(text)),
        _ => Ok(Value::Text(text.to_owned())),
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "t" | "true" | "1" | "on" | "yes" => Some(true),
        "f" | "false" | "0" | "off" | "no" => Some(false),
        _ => None,
    }
}

/// PostgreSQL infers undeclared parameter types; SQLite cannot, and finds `4 > '3'` false. So text
/// in the exact form of a number becomes that number; for text columns, SQLite converts it back.
fn undeclared(text: &str) -> Value {
    if let Some(number) = text
        .parse::<i64>()
        .ok()
        .filter(|number| number.to_string() == text)
    {
        return Value::Integer(number);
    }
    match text
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && number.to_string() == text)
    {
        Some(number) => Value::Real(number),
        None => Value::Text(text.to_owned()),
    }
}

fn binary(bytes: &[u8], datatype: &Type) -> Result<Value, Refusal> {
    let wrong = || {
        error(
            "22P03",
            format!("a parameter of {} bytes is no binary {datatype}", bytes.len()),
        )
    };
    match *datatype {
        Type::BOOL => exactly::<1>(bytes)
            .map(|[byte]| Value::Integer((byte != 0).into()))
            .ok_or_else(wrong),
        Type::INT2 => exactly(bytes)
            .map(|b| Value::Integer(i16::from_be_bytes(b).into()))
            .ok_or_else(wrong),
        Type::INT4 => exactly(bytes)
            .map(|b| Value::Integer(i32::from_be_bytes(b).into()))
            .ok_or_else(wrong),
        Type::INT8 => exactly(bytes)
            .map(|b| Value::Integer(i64::from_be_bytes(b)))
            .ok_or_else(wrong),
        Type::FLOAT4 => exactly(bytes)
            .map(|b| Value::Real(f32::from_be_bytes(b).into()))
            .ok_or_else(wrong),
        Type::FLOAT8 => exactly(bytes)
            .map(|b| Value::Real(f64::from_be_bytes(b)))
            .ok_or_else(wrong),
        Type::BYTEA => Ok(Value::Blob(bytes.to_vec())),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::UNKNOWN => {
            match String::from_utf8(bytes.to_vec()) {
                Ok(text) => Ok(Value::Text(text)),
                Err(_) => Err(error("22021", "a parameter is not UTF-8")),
            }
        }
        _ => Err(error(
            "0A000",
            format!("this server takes {datatype} parameters as text only"),
        )),
    }
}

fn exactly<const SIZE: usize>(bytes: &[u8]) -> Option<[u8; SIZE]> {
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undeclared_numbers_become_numbers_only_when_written_as_such() {
        assert_eq!(undeclared("42"), Value::Integer(42));
        assert_eq!(undeclared("-7"), Value::Integer(-7));
        assert_eq!(undeclared("1.5"), Value::Real(1.5));
        for text in ["007", "+1", "1e3", " 1", "1.50", "NaN", "inf", ""] {
            assert_eq!(undeclared(text), Value::Text(text.to_owned()));
        }
    }

    #[test]
    fn binary_parameters_of_the_wrong_size_are_refused() {
        assert_eq!(binary(&[0, 0, 1, 0], &Type::INT4).unwrap(), Value::Integer(256));
        assert_eq!(binary(&[1], &Type::INT4).unwrap_err().code, "22P03");
        assert_eq!(binary(&[0xff], &Type::TEXT).unwrap_err().code, "22021");
    }

    #[test]
    fn a_format_code_that_is_missing_is_an_error() {
        let formats = Format::Individual(vec![0, 1]);
        assert_eq!(format_of(Some(&formats), 1).unwrap(), FieldFormat::Binary);
        assert_eq!(format_of(Some(&formats), 2).unwrap_err().code, "08P01");
    }
}
