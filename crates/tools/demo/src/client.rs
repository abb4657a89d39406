//! The application's minimal PostgreSQL client: blocking, one simple query at a time.
//!
//! See PostgreSQL manual, sections 55.2.1, 55.2.3 and 55.7. It requests no TLS, so login takes one
//! round trip.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use pgwire::messages::data::MESSAGE_TYPE_BYTE_DATA_ROW as DATA_ROW;
use pgwire::messages::response::{
    MESSAGE_TYPE_BYTE_ERROR_RESPONSE as ERROR_RESPONSE, MESSAGE_TYPE_BYTE_READY_FOR_QUERY as READY_FOR_QUERY,
};
use pgwire::messages::simplequery::MESSAGE_TYPE_BYTE_QUERY as QUERY;
use pgwire::messages::startup::MESSAGE_TYPE_BYTE_AUTHENTICATION as AUTHENTICATION;
use pgwire::messages::terminate::MESSAGE_TYPE_BYTE_TERMINATE as TERMINATE;

use crate::Error;

/// One text per column, `None` for NULL.
pub(crate) type Row = Vec<Option<String>>;

pub(crate) struct Client {
    server: SocketAddr,
    stream: BufReader<TcpStream>,
}

struct Message {
    tag: u8,
    body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(server: SocketAddr) -> Result<Client, Error> {
        let stream = open(server).map_err(|source| Error::Connect { server, source })?;
        let mut client = Client {
            server,
            stream: BufReader::new(stream),
        };
        client.send(&startup(), LOGGING_IN)?;
        loop {
            let message = client.receive(LOGGING_IN)?;
            match message.tag {
                AUTHENTICATION if message.body != [0; 4] => {
                    return Err(
                        client.malformed(&message, "asks for a password, which the demo does not have")
                    );
                }
                ERROR_RESPONSE => return Err(client.rejected(&message, LOGGING_IN)),
                READY_FOR_QUERY => return Ok(client),
                _ => {}
            }
        }
    }

    pub(crate) fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.send(&message(QUERY, &[sql.as_bytes(), b"\0"].concat()), QUERYING)?;
        let mut rows = Vec::new();
        let mut failure = None;
        loop {
            let message = self.receive(QUERYING)?;
            match message.tag {
                DATA_ROW => rows
                    .push(row(&message.body).ok_or_else(|| self.malformed(&message, "is no row of text"))?),
                ERROR_RESPONSE => failure = Some(self.rejected(&message, QUERYING)),
                READY_FOR_QUERY => return failure.map_or(Ok(rows), Err),
                _ => {}
            }
        }
    }

    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.send(&message(TERMINATE, &[]), "saying goodbye")
    }

    fn send(&mut self, bytes: &[u8], doing: &'static str) -> Result<(), Error> {
        let server = self.server;
        self.stream
            .get_mut()
            .write_all(bytes)
            .map_err(|source| Error::Lost {
                server,
                doing,
                source,
            })
    }

    fn receive(&mut self, doing: &'static str) -> Result<Message, Error> {
        let server = self.server;
        let lost = |source: io::Error| match source.kind() {
            io::ErrorKind::UnexpectedEof => Error::Closed { server, doing },
            _ => Error::Lost {
                server,
                doing,
                source,
            },
        };
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).map_err(lost)?;
        let [tag, length @ ..] = head;
        let malformed = |fault| Error::Malformed {
            server,
            tag: char::from(tag),
            fault,
        };
        let length = u32::from_be_bytes(length)
            .checked_sub(4)
            .ok_or_else(|| malformed("is shorter than its header"))?;
        if length > MESSAGE_LIMIT {
            return Err(malformed("is larger than 1 MiB"));
        }
        // Grows with received bytes, not with the claimed length.
        let mut body = Vec::new();
        let read = (&mut self.stream)
            .take(length.into())
            .read_to_end(&mut body)
            .map_err(lost)?;
        if read < length as usize {
            return Err(Error::Closed { server, doing });
        }
        Ok(Message { tag, body })
    }

    fn malformed(&self, message: &Message, fault: &'static str) -> Error {
        Error::Malformed {
            server: self.server,
            tag: char::from(message.tag),
            fault,
        }
    }

    fn rejected(&self, message: &Message, doing: &'static str) -> Error {
        let field = |code| field_text(&message.body, code).unwrap_or_default();
        Error::Rejected {
            server: self.server,
            doing,
            sqlstate: field(error_field::CODE),
            message: field(error_field::MESSAGE),
        }
    }
}

fn open(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&server, TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

/// Protocol 3.0 with user, database and application.
fn startup() -> Vec<u8> {
    let parameters: &[u8] = b"user\0shop\0database\0shop\0application_name\0longwire demo\0\0";
    framed(&[&196_608_u32.to_be_bytes(), parameters].concat())
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![tag];
    message.extend(framed(body));
    message
}

/// The body after its length, which includes itself.
fn framed(body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("the application's own messages are short");
    [&length.to_be_bytes(), body].concat()
}

/// Parses a DataRow, `None` if it is malformed or not UTF-8.
fn row(body: &[u8]) -> Option<Row> {
    let (count, mut rest) = body.split_first_chunk()?;
    let mut row = Row::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (length, tail) = rest.split_first_chunk()?;
        rest = tail;
        row.push(match i32::from_be_bytes(*length) {
            -1 => None,
            length => {
                let (value, tail) = rest.split_at_checked(usize::try_from(length).ok()?)?;
                rest = tail;
                Some(String::from_utf8(value.to_vec()).ok()?)
            }
        });
    }
    rest.is_empty().then_some(row)
}

/// One field of an ErrorResponse: code byte and zero-terminated text, repeated.
fn field_text(body: &[u8], code: u8) -> Option<String> {
    let mut fields = body.split(|byte| *byte == 0);
    let field = fields.find(|field| field.first() == Some(&code))?;
    Some(String::from_utf8_lossy(&field[1..]).into_owned())
}

/// Limit for connecting and for each byte; far above a page's waits.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum message size of a page, with a wide margin, in bytes.
const MESSAGE_LIMIT: u32 = 1 << 20;

/// Fields of an ErrorResponse.
mod error_field {
    pub(super) const CODE: u8 = b'C';
    pub(super) const MESSAGE: u8 = b'M';
}

const LOGGING_IN: &str = "logging in";
const QUERYING: &str = "waiting for a statement's reply";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_with_its_nulls() {
        let body = [&[0, 2][..], &[0, 0, 0, 2], b"ok", &[0xff; 4]].concat();
        assert_eq!(row(&body), Some(vec![Some("ok".to_owned()), None]));
    }

    #[test]
    fn a_row_cut_anywhere_or_with_bytes_left_is_no_row() {
        let body = [&[0, 2][..], &[0, 0, 0, 2], b"ok", &[0xff; 4]].concat();
        for end in 0..body.len() {
            assert_eq!(row(&body[..end]), None);
        }
        assert_eq!(row(&[&body[..], &[0]].concat()), None);
        assert_eq!(row(&[0, 1, 0x7f, 0xff, 0xff, 0xff]), None);
    }

    #[test]
    fn the_fields_of_an_error_are_found_by_their_code() {
        let body = b"SERROR\0C42P01\0Mno such table: t\0\0";
        assert_eq!(field_text(body, error_field::CODE).as_deref(), Some("42P01"));
        assert_eq!(
            field_text(body, error_field::MESSAGE).as_deref(),
            Some("no such table: t")
        );
        assert_eq!(field_text(body, b'H'), None);
    }
}
