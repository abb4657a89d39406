//! Builds requests in a send buffer.

use wire::postgres::messages::{frontend, object};

pub const GOODBYE: &[u8] = &[frontend::TERMINATE, 0, 0, 0, 4];
/// `CopyFail`, since there is no data to copy.
pub const REFUSAL: &[u8] = &[frontend::COPY_FAIL, 0, 0, 0, 5, 0];
pub const SYNC: &[u8] = &[frontend::SYNC, 0, 0, 0, 4];
pub const FLUSH: &[u8] = &[frontend::FLUSH, 0, 0, 0, 4];
pub const COPY_DONE: &[u8] = &[frontend::COPY_DONE, 0, 0, 0, 4];

pub fn query(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    message(out, frontend::QUERY, |body| {
        text(body);
        body.push(0);
    });
}

/// Appends a `Parse` of `text` under `name`, with types of parameters left to the server.
pub fn parse(out: &mut Vec<u8>, name: &str, text: &str) {
    message(out, frontend::PARSE, |body| {
        texts(body, &[name, text]);
        body.extend_from_slice(&[0, 0]);
    });
}

/// Appends a `Bind` of the statement `name` to `portal`. `value` appends the text of the parameter
/// with this index from 0, or returns that it is NULL. Empty `formats` request all columns as text.
pub fn bind(
    out: &mut Vec<u8>,
    [portal, name]: [&str; 2],
    parameters: u16,
    mut value: impl FnMut(usize, &mut Vec<u8>) -> bool,
    formats: &[u16],
) {
    message(out, frontend::BIND, |body| {
        texts(body, &[portal, name]);
        // No formats: all parameters are text.
        body.extend_from_slice(&[0, 0]);
        body.extend_from_slice(&parameters.to_be_bytes());
        for place in 0..usize::from(parameters) {
            let start = body.len() + NULL.len();
            body.extend_from_slice(&NULL);
            if value(place, body) {
                let length = (body.len() - start) as u32;
                patch(body, start - NULL.len(), length.to_be_bytes());
            } else {
                body.truncate(start);
            }
        }
        body.extend_from_slice(&(formats.len() as u16).to_be_bytes());
        formats
            .iter()
            .for_each(|format| body.extend_from_slice(&format.to_be_bytes()));
    });
}

pub fn describe_portal(out: &mut Vec<u8>, portal: &str) {
    message(out, frontend::DESCRIBE, |body| {
        body.push(object::PORTAL);
        texts(body, &[portal]);
    });
}

/// Appends an `Execute` of `portal` for at most `rows`, or all with 0.
pub fn execute(out: &mut Vec<u8>, portal: &str, rows: u32) {
    message(out, frontend::EXECUTE, |body| {
        texts(body, &[portal]);
        body.extend_from_slice(&rows.to_be_bytes());
    });
}

pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, frontend::COPY_DATA, |body| body.extend_from_slice(data));
}

pub(crate) fn startup(parameters: &[(&str, &str)]) -> Vec<u8> {
    let mut out = vec![0; 4];
    out.extend_from_slice(&196_608_u32.to_be_bytes());
    for (name, value) in parameters {
        texts(&mut out, &[name, value]);
    }
    out.push(0);
    let length = out.len() as u32;
    patch(&mut out, 0, length.to_be_bytes());
    out
}

/// `PasswordMessage`, `SASLInitialResponse` or `SASLResponse`, depending on the server's request.
pub(crate) fn password(answer: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    message(&mut out, frontend::PASSWORD_MESSAGE, |body| {
        body.extend_from_slice(answer)
    });
    out
}

fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[tag, 0, 0, 0, 0]);
    body(out);
    let length = (out.len() - start - 1) as u32;
    patch(out, start + 1, length.to_be_bytes());
}

fn texts(body: &mut Vec<u8>, texts: &[&str]) {
    for text in texts {
        body.extend_from_slice(text.as_bytes());
        body.push(0);
    }
}

fn patch(bytes: &mut [u8], at: usize, value: [u8; 4]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(&value);
    }
}

const NULL: [u8; 4] = u32::MAX.to_be_bytes();

#[cfg(test)]
mod tests {
    use super::*;
    use postgres_protocol::IsNull;
    use postgres_protocol::message::frontend as theirs;

    #[test]
    fn requests_are_those_of_the_crate_that_other_clients_use() {
        let mut ours = startup(&[("user", "anna"), ("database", "shop")]);
        ours.extend_from_slice(&password(b"secret\0"));
        query(&mut ours, |text| text.extend_from_slice(b"select 1"));
        parse(&mut ours, "s1", "select $1, $2");
        bind(
            &mut ours,
            ["p", "s1"],
            2,
            |place, text| {
                text.extend_from_slice(b"42");
                place == 0
            },
            &[0],
        );
        describe_portal(&mut ours, "p");
        execute(&mut ours, "p", 7);
        for fixed in [FLUSH, SYNC, COPY_DONE, REFUSAL, GOODBYE] {
            ours.extend_from_slice(fixed);
        }
        copy_data(&mut ours, b"1\t2\n");

        let mut theirs = Default::default();
        theirs::startup_message([("user", "anna"), ("database", "shop")], &mut theirs).expect("no zeros");
        theirs::password_message(b"secret", &mut theirs).expect("no zeros");
        theirs::query("select 1", &mut theirs).expect("no zeros");
        theirs::parse("s1", "select $1, $2", [], &mut theirs).expect("no zeros");
        let values = [Some(b"42"), None];
        let bound = theirs::bind(
            "p",
            "s1",
            [],
            values,
            |value, body| {
                body.extend_from_slice(value.map_or(&b""[..], |value| value));
                Ok(value.map_or(IsNull::Yes, |_| IsNull::No))
            },
            [0],
            &mut theirs,
        );
        assert!(bound.is_ok());
        theirs::describe(b'P', "p", &mut theirs).expect("no zeros");
        theirs::execute("p", 7, &mut theirs).expect("no zeros");
        theirs::flush(&mut theirs);
        theirs::sync(&mut theirs);
        theirs::copy_done(&mut theirs);
        theirs::copy_fail("", &mut theirs).expect("no zeros");
        theirs::terminate(&mut theirs);
        let data = theirs::CopyData::new(&b"1\t2\n"[..]).expect("short");
        data.write(&mut theirs);
        assert_eq!(ours, theirs);
    }
}
