//! Requests of a Redis client.

use super::resp;

/// Answered by `+PONG`, or by an error before authentication. Either is a round trip.
pub const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

pub fn write_command(words: &[&[u8]], out: &mut Vec<u8>) {
    header(resp::ARRAY, words.len(), out);
    for word in words {
        header(resp::BULK_STRING, word.len(), out);
        out.extend_from_slice(word);
        out.extend_from_slice(b"\r\n");
    }
}

fn header(kind: u8, number: usize, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(number.to_string().as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_an_array_of_strings() {
        let mut out = Vec::new();
        write_command(&[b"PING"], &mut out);
        assert_eq!(out, PING);
        out.clear();
        write_command(&[b"GET", b"a\r\n"], &mut out);
        assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$3\r\na\r\n\r\n");
    }
}
