//! Client software from the connection attributes.
//!
//! Source: MySQL 8.4 reference manual, "Performance Schema Connection Attribute Tables", and the
//! handshake response of the protocol's documentation. Attributes also name process, host and
//! system user: these are not inspected.

use super::capabilities::{
    CONNECT_ATTRIBUTES, CONNECT_WITH_DB, Capabilities, LENGTH_ENCODED_AUTH, PLUGIN_AUTH, SECURE_CONNECTION,
};
use crate::decoding::reader::Reader;

/// Reads library and version after the user of a handshake response, and the program after a
/// comma, if named. `None` if attributes are missing or incomplete.
pub(super) fn client(mut fields: Reader<'_>, capabilities: Capabilities) -> Option<Vec<u8>> {
    if !capabilities.has(CONNECT_ATTRIBUTES) {
        return None;
    }
    if capabilities.has(LENGTH_ENCODED_AUTH) {
        fields.lenenc_bytes()?;
    } else if capabilities.has(SECURE_CONNECTION) {
        let length = fields.u8()?;
        fields.take_bytes(usize::from(length))?;
    } else {
        fields.cstr()?;
    }
    if capabilities.has(CONNECT_WITH_DB) {
        fields.cstr()?;
    }
    if capabilities.has(PLUGIN_AUTH) {
        fields.cstr()?;
    }
    let mut attributes = Reader::new(fields.lenenc_bytes()?);
    let (mut name, mut version, mut program) = (None, None, None);
    while let (Some(key), Some(value)) = (attributes.lenenc_bytes(), attributes.lenenc_bytes()) {
        match key {
            b"_client_name" => name = Some(value),
            b"_client_version" => version = Some(value),
            b"program_name" => program = value.rsplit(|byte| matches!(byte, b'/' | b'\\')).next(),
            _ => {}
        }
    }
    let mut client = name.or(program)?.to_vec();
    for (separator, part) in [(&b" "[..], version), (b", ", program.filter(|_| name.is_some()))] {
        if let Some(part) = part {
            client.extend_from_slice(separator);
            client.extend_from_slice(part);
        }
    }
    client.truncate(MAX_CLIENT_LEN);
    Some(client)
}

const MAX_CLIENT_LEN: usize = 128;
