//! Counts the parameter sets of MariaDB's `COM_STMT_BULK_EXECUTE` while its body passes.
//!
//! The body is command, statement (4 bytes), flags (2), if flag 128 is set a type (2 bytes) for
//! each parameter, then for each set and parameter an indicator byte and, if that is 0, the value.

use super::statements::Statements;
use super::values::ValueSize;

#[derive(Debug, Default)]
pub(super) struct SetCounter {
    state: State,
    head: [u8; 7],
    have: usize,
    /// Types of this execution, or of the previous one if it sends none.
    types: Vec<u8>,
    parameters: usize,
    place: usize,
    sets: u32,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Head,
    Type,
    TypeFlags,
    Indicator,
    Value(u64),
    /// Bytes of a length: how many are missing, the value read, the weight of the next.
    Length {
        left: u8,
        sum: u64,
        shift: u8,
    },
    LengthPrefix,
    Lost,
}

impl SetCounter {
    pub fn start(&mut self) {
        self.state = State::Head;
        self.have = 0;
        self.place = 0;
        self.sets = 0;
    }

    pub fn desync(&mut self) {
        self.state = State::Lost;
    }

    pub fn sets(&self) -> Option<u32> {
        (matches!(self.state, State::Indicator) && self.place == 0 && self.sets > 0).then_some(self.sets)
    }

    pub fn feed(&mut self, bytes: &[u8], statements: &Statements) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if let State::Value(left) = self.state {
                let taken = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                rest = rest.get(taken..).unwrap_or_default();
                self.state = State::Value(left - taken as u64);
                self.end_value_if_complete();
                continue;
            }
            rest = after;
            match self.state {
                State::Head => self.take_head(byte, statements),
                State::Type => {
                    self.types.push(byte);
                    self.state = State::TypeFlags;
                }
                State::TypeFlags => {
                    self.state = if self.types.len() < self.parameters {
                        State::Type
                    } else {
                        State::Indicator
                    };
                }
                State::Indicator => self.take_indicator(byte),
                State::LengthPrefix => self.take_length_prefix(byte),
                State::Length { left, sum, shift } => {
                    let sum = sum | u64::from(byte) << shift;
                    self.state = if left > 1 {
                        State::Length {
                            left: left - 1,
                            sum,
                            shift: shift + 8,
                        }
                    } else {
                        State::Value(sum)
                    };
                    self.end_value_if_complete();
                }
                State::Value(_) | State::Lost => return,
            }
        }
    }

    fn take_head(&mut self, byte: u8, statements: &Statements) {
        if let Some(place) = self.head.get_mut(self.have) {
            *place = byte;
            self.have += 1;
        }
        if self.have < self.head.len() {
            return;
        }
        let [_command, a, b, c, d, flags, _high_flags] = self.head;
        let statement = statements.find(u32::from_le_bytes([a, b, c, d]));
        let parameters = statement.and_then(|statement| statement.parameters).unwrap_or(0);
        self.parameters = usize::from(parameters);
        self.state = if parameters == 0 {
            State::Lost
        } else if flags & SEND_TYPES != 0 {
            self.types.clear();
            State::Type
        } else if self.types.len() == self.parameters {
            State::Indicator
        } else {
            State::Lost
        };
    }

    fn take_indicator(&mut self, byte: u8) {
        self.state = match byte {
            0 => match ValueSize::from_column_type(self.types.get(self.place).copied().unwrap_or_default()) {
                ValueSize::Fixed(size) => State::Value(u64::from(size)),
                ValueSize::Prefixed => State::LengthPrefix,
            },
            1..=3 => State::Value(0),
            4.. => State::Lost,
        };
        self.end_value_if_complete();
    }

    fn take_length_prefix(&mut self, byte: u8) {
        let length = |left| State::Length {
            left,
            sum: 0,
            shift: 0,
        };
        self.state = match byte {
            0..=0xfa => State::Value(u64::from(byte)),
            0xfc => length(2),
            0xfd => length(3),
            0xfe => length(8),
            0xfb | 0xff => State::Lost,
        };
        self.end_value_if_complete();
    }

    fn end_value_if_complete(&mut self) {
        if matches!(self.state, State::Value(0)) {
            self.state = State::Indicator;
            self.place += 1;
            if self.place == self.parameters {
                self.place = 0;
                self.sets = self.sets.saturating_add(1);
            }
        }
    }
}

const SEND_TYPES: u8 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn body(flags: u8, types: &[u8], sets: &[&[u8]]) -> Vec<u8> {
        let mut body = vec![0xfa, 9, 0, 0, 0, flags, 0];
        body.extend(types.iter().flat_map(|&kind| [kind, 0]));
        body.extend(sets.concat());
        body
    }

    fn count(bodies: &[Vec<u8>], piece: usize) -> Vec<Option<u32>> {
        let mut statements = Statements::default();
        let id = statements.prepare(b"insert into t values (?, ?)", true);
        statements.prepared(id, 9, 2);
        let mut counter = SetCounter::default();
        bodies
            .iter()
            .map(|body| {
                counter.start();
                body.chunks(piece)
                    .for_each(|bytes| counter.feed(bytes, &statements));
                counter.sets()
            })
            .collect()
    }

    #[test]
    fn sets_are_counted_in_any_pieces() {
        let long_text = [&[0, 0xfc, 0x2c, 0x01][..], &[b'x'; 300]].concat();
        let set = |number: u8, text: &[u8]| [&[0, number, 0, 0, 0], text].concat();
        let first = set(1, &long_text);
        let second = set(2, &[1]);
        let third = [&[2][..], &[0, 2, b'a', b'b']].concat();
        let bodies = [
            body(128, &[3, 253], &[&first, &second, &third]),
            body(0, &[], &[&third, &third]),
            body(0, &[], &[&third, &third[..3]]),
            body(0, &[], &[&[9]]),
        ];
        for piece in [1, 2, 3, 7, 1000] {
            assert_eq!(count(&bodies, piece), [Some(3), Some(2), None, None], "{piece}");
        }
    }

    #[test]
    fn an_unknown_statement_has_unknown_sets() {
        let mut counter = SetCounter::default();
        counter.start();
        counter.feed(&body(128, &[3, 3], &[&[1, 1]]), &Statements::default());
        assert_eq!(counter.sets(), None);
    }
}
