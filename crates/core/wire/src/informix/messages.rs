//! Codes of messages, one row each, with the fields by which a message ends.

use super::shape::Field::{
    self, Chunks, Count, DoneCounts, Each, ErrorCode, Infos, LargeObject, LongText, Names, NamesLength,
    Parameter, Rest, ReturnColumn, Skip, Sql, Text, TupleSize,
};
use crate::decoding::tags::TaggedRows;
use model::Direction;

#[derive(Debug)]
pub struct CodeRow {
    pub name: &'static str,
    /// Fields from the client; `None` if it does not send the code.
    client: Option<&'static [Field]>,
    /// Fields from the server; `None` if it does not send the code.
    server: Option<&'static [Field]>,
}

/// `None` if no side has such a code.
pub fn find(code: u16) -> Option<&'static CodeRow> {
    CODES.find(u8::try_from(code).ok()?)
}

/// `None` if `direction` has no such code.
pub(super) fn fields(direction: Direction, code: u16) -> Option<&'static [Field]> {
    let row = find(code)?;
    match direction {
        Direction::ClientToServer => row.client,
        Direction::ServerToClient => row.server,
    }
}

macro_rules! codes {
    ($($(#[$doc:meta])* $constant:ident $code:literal $client:expr, $server:expr;)*) => {
        $($(#[$doc])* pub const $constant: u16 = $code;)*
        static CODES: TaggedRows<CodeRow> = TaggedRows::new(
            &[$(CodeRow {
                name: stringify!($constant),
                client: $client,
                server: $server,
            }),*],
            &[$($code),*],
        );
    };
}

const DESCRIPTION: &[Field] = &[
    Skip(8),
    TupleSize,
    Count,
    NamesLength,
    Each(&[Skip(14), Text, Text, Skip(12)]),
    Names,
];

codes! {
    COMMAND               1 Some(&[Skip(2), Sql]), None;
    PREPARE               2 Some(&[Skip(2), Sql]), None;
    CURSOR_NAME           3 Some(&[Text]), None;
    /// Selects the prepared statement of the next codes.
    ID                    4 Some(&[Skip(2)]), None;
    BIND                  5 Some(&[Count, Each(&[Parameter])]), None;
    OPEN                  6 Some(&[]), None;
    EXECUTE               7 Some(&[]), None;
    DESCRIBE              8 None, Some(DESCRIPTION);
    FETCH                 9 Some(&[Skip(6)]), None;
    CLOSE                10 Some(&[]), Some(&[]);
    RELEASE              11 Some(&[]), None;
    /// End of a group: the other side speaks next.
    EOT                  12 Some(&[]), Some(&[]);
    ERROR                13 None, Some(&[ErrorCode]);
    TUPLE                14 None, Some(&[Skip(2), LongText]);
    DONE                 15 None, Some(&[Skip(2), DoneCounts]);
    COMMIT               19 Some(&[]), None;
    ROLLBACK             20 Some(&[]), None;
    WANT_DESCRIBE        22 Some(&[]), None;
    SCROLL_FETCH         23 Some(&[Skip(10)]), None;
    SCROLL               24 Some(&[]), None;
    BEGIN                35 Some(&[]), None;
    DATABASE_OPEN        36 Some(&[Text, Skip(2)]), None;
    DATABASE_CLOSE       37 Some(&[]), None;
    FETCH_BLOB           38 Some(&[Skip(BLOB_DESCRIPTOR)]), None;
    BLOB                 39 Some(&[Text]), Some(&[Text]);
    HOLD                 43 Some(&[]), None;
    ISOLATION            47 Some(&[Skip(2)]), None;
    LOCK_WAIT            48 Some(&[Skip(2)]), None;
    WANT_DONE            49 Some(&[]), None;
    COST                 55 None, Some(&[Skip(8)]);
    EXIT                 56 Some(&[]), Some(&[]);
    INFO                 81 Some(&[Infos]), Some(&[Infos]);
    INSERT_DONE          94 None, Some(&[Skip(10)]);
    LARGE_OBJECT         97 Some(&[LargeObject]), Some(&[Skip(2), Chunks]);
    TRANSACTION          99 None, Some(&[Skip(6)]);
    RETURN_TYPES        100 Some(&[Skip(2), Count, Each(&[ReturnColumn])]), None;
    AUTOFREE            108 Some(&[]), None;
    WANT_INPUT_DESCRIBE 124 Some(&[]), None;
    PROTOCOLS           126 Some(&[Text]), Some(&[Text]);
    ACCEPT              127 None, Some(&[]);
    /// First code of challenge authentication.
    ACKNOWLEDGE         128 Some(&[]), None;
    CHALLENGE           129 None, Some(&[Rest]);
    /// Last code of challenge authentication.
    RESPONSE            130 Some(&[Rest]), None;
    BATCH_START         141 Some(&[]), None;
    BATCH_END           142 Some(&[]), None;
}

/// In a tuple, stands for a `BYTE` or `TEXT`; sent back to request it.
const BLOB_DESCRIPTOR: u16 = 56;
