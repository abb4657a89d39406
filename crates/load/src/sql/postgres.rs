//! PostgreSQL: requests of the extended protocol, as libpq writes them.
//!
//! Source: PostgreSQL manual, chapter "Frontend/Backend Protocol".

use client::session::postgres::framed;

/// Appends a `Parse` of `text` under `name`; the server finds out the types of parameters.
pub fn parse(request: &mut Vec<u8>, name: &[u8], text: &[u8]) {
    framed(request, b'P', |body| {
        body.extend_from_slice(name);
        body.push(0);
        body.extend_from_slice(text);
        body.extend_from_slice(&[0, 0, 0]);
    });
}

/// Appends `Bind` of the statement `name`, `Describe` and `Execute` of its portal. `value` appends the text of a parameter's
/// value, by its place from 0, or says that it is null.
pub fn run(
    request: &mut Vec<u8>,
    name: &[u8],
    parameters: u16,
    mut value: impl FnMut(usize, &mut Vec<u8>) -> bool,
) {
    framed(request, b'B', |body| {
        // The unnamed portal.
        body.push(0);
        body.extend_from_slice(name);
        // No formats: all parameters are text.
        body.extend_from_slice(&[0, 0, 0]);
        body.extend_from_slice(&parameters.to_be_bytes());
        for place in 0..usize::from(parameters) {
            let start = body.len();
            body.extend_from_slice(&NULL);
            if !value(place, body) {
                body.truncate(start + NULL.len());
                continue;
            }
            let length = (body.len() - start - NULL.len()) as u32;
            if let Some(field) = body.get_mut(start..start + NULL.len()) {
                field.copy_from_slice(&length.to_be_bytes());
            }
        }
        // One format for all columns: text.
        body.extend_from_slice(&[0, 1, 0, 0]);
    });
    request.extend_from_slice(b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0");
}

/// `Sync`.
pub const SYNC: &[u8] = b"S\0\0\0\x04";

const NULL: [u8; 4] = u32::MAX.to_be_bytes();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_runs_with_its_values_as_text() {
        let mut request = Vec::new();
        run(&mut request, b"s1", 2, |place, text| {
            text.extend_from_slice(b"42");
            place == 0
        });
        let bind = b"B\0\0\0\x1a\0s1\0\0\0\0\x02\0\0\0\x0242\xff\xff\xff\xff\0\x01\0\0";
        assert_eq!(request.get(..bind.len()), Some(&bind[..]));
        assert_eq!(
            request.get(bind.len()..),
            Some(&b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0"[..])
        );
    }
}
