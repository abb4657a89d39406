//! Sequence numbers of a MySQL login after a TLS request by longwire that its client does not see.
//!
//! That request is one more packet on the server's side, so until the login is over the server
//! counts one further than the client (MySQL internals manual, "Connection Phase"). Each command
//! restarts the count.

#[derive(Debug, Clone)]
pub(super) struct SequenceShift {
    /// The sum is taken modulo 256.
    by: u8,
    header_bytes: usize,
    payload_left: usize,
    at_start: bool,
    /// Only the server's packets can end the login.
    from_server: bool,
    last: bool,
    over: bool,
}

impl SequenceShift {
    pub(super) fn to_server() -> Self {
        Self {
            by: 1,
            header_bytes: 0,
            payload_left: 0,
            at_start: false,
            from_server: false,
            last: false,
            over: false,
        }
    }

    pub(super) fn to_client() -> Self {
        Self {
            by: u8::MAX,
            from_server: true,
            ..Self::to_server()
        }
    }

    pub(super) fn undone(&self) -> Self {
        Self {
            by: self.by.wrapping_neg(),
            ..self.clone()
        }
    }

    /// Whether an OK (0x00) or error (0xff) packet, which end a login, has passed completely.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    pub(super) fn apply(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            if self.over {
                return;
            }
            self.step(byte);
        }
    }

    fn step(&mut self, byte: &mut u8) {
        if self.header_bytes < 3 {
            self.payload_left |= usize::from(*byte) << (8 * self.header_bytes);
            self.header_bytes += 1;
            return;
        }
        if self.header_bytes == 3 {
            *byte = byte.wrapping_add(self.by);
            self.header_bytes = 4;
            self.at_start = true;
        } else {
            if self.at_start {
                self.last = self.from_server && matches!(*byte, 0x00 | 0xff);
                self.at_start = false;
            }
            self.payload_left -= 1;
        }
        if self.payload_left == 0 {
            self.over = self.last;
            self.header_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
        [&[payload.len() as u8, 0, 0, sequence], payload].concat()
    }

    /// A plug-in switch, more data, and the OK; then a reply to the first command.
    fn login(first: u8) -> Vec<u8> {
        let login: [&[u8]; 3] = [b"\xfeplugin", b"\x01\x04", b"\x00\x00\x00"];
        (first..)
            .zip(login)
            .flat_map(|(sequence, payload)| packet(sequence, payload))
            .collect()
    }

    #[test]
    fn numbers_go_down_by_one_until_the_login_is_over_however_the_stream_is_cut() {
        let reply = packet(1, b"\x01");
        for size in 1..20 {
            let mut stream = [login(3), reply.clone()].concat();
            let mut shift = SequenceShift::to_client();
            stream.chunks_mut(size).for_each(|piece| shift.apply(piece));
            assert_eq!(stream, [login(2), reply.clone()].concat(), "pieces of {size}");
            assert!(shift.is_over());
        }
    }

    #[test]
    fn what_was_changed_can_be_changed_back() {
        let original = [packet(255, b"secret"), packet(5, b""), packet(7, b"\x00more")].concat();
        let mut stream = original.clone();
        let mut shift = SequenceShift::to_server();
        let mut undo = shift.undone();
        shift.apply(&mut stream);
        assert_eq!(stream[3], 0);
        undo.apply(&mut stream);
        assert_eq!(stream, original);
    }
}
