//! The client's connection attributes: which software it is.
//!
//! Source: MySQL 8.4 reference manual, "Performance Schema Connection Attribute Tables", and the handshake
//! response of the protocol's documentation. Attributes also name process, host and user of the system: none
//! of these is inspected.

use super::capabilities::{
    CONNECT_ATTRIBUTES, CONNECT_WITH_DB, Capabilities, LENGTH_ENCODED_AUTH, PLUGIN_AUTH, SECURE_CONNECTION,
};
use decoding::reader::Reader;

/// The client's software by what follows the user in a handshake response: library and version, and behind a
/// comma the program, where it names itself. `None` if it sends no attributes, or not all of them have
/// arrived.
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
