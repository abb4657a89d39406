//! Builds requests in a send buffer.

pub const GOODBYE: &[u8] = b"X\0\0\0\x04";
/// `CopyFail`, since there is no data to copy.
pub const REFUSAL: &[u8] = b"f\0\0\0\x05\0";
pub const SYNC: &[u8] = b"S\0\0\0\x04";
pub const FLUSH: &[u8] = b"H\0\0\0\x04";
pub const COPY_DONE: &[u8] = b"c\0\0\0\x04";

pub fn query(out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    message(out, b'Q', |body| {
        text(body);
        body.push(0);
    });
}

/// Appends a `Parse` of `text` under `name`, with types of parameters left to the server.
pub fn parse(out: &mut Vec<u8>, name: &str, text: &str) {
    message(out, b'P', |body| {
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
    message(out, b'B', |body| {
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
    message(out, b'D', |body| {
        body.push(b'P');
        texts(body, &[portal]);
    });
}

/// Appends an `Execute` of `portal` for at most `rows`, or all with 0.
pub fn execute(out: &mut Vec<u8>, portal: &str, rows: u32) {
    message(out, b'E', |body| {
        texts(body, &[portal]);
        body.extend_from_slice(&rows.to_be_bytes());
    });
}

pub fn copy_data(out: &mut Vec<u8>, data: &[u8]) {
    message(out, b'd', |body| body.extend_from_slice(data));
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
    message(&mut out, b'p', |body| body.extend_from_slice(answer));
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
    use postgres_protocol::message::frontend;

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
        frontend::startup_message([("user", "anna"), ("database", "shop")], &mut theirs).expect("no zeros");
        frontend::password_message(b"secret", &mut theirs).expect("no zeros");
        frontend::query("select 1", &mut theirs).expect("no zeros");
        frontend::parse("s1", "select $1, $2", [], &mut theirs).expect("no zeros");
        let values = [Some(b"42"), None];
        let bound = frontend::bind(
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
        frontend::describe(b'P', "p", &mut theirs).expect("no zeros");
        frontend::execute("p", 7, &mut theirs).expect("no zeros");
        frontend::flush(&mut theirs);
        frontend::sync(&mut theirs);
        frontend::copy_done(&mut theirs);
        frontend::copy_fail("", &mut theirs).expect("no zeros");
        frontend::terminate(&mut theirs);
        let data = frontend::CopyData::new(&b"1\t2\n"[..]).expect("short");
        data.write(&mut theirs);
        assert_eq!(ours, theirs);
    }
}
