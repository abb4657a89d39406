//! Recognises DRDA by magic byte and code point of the first object.

use super::codepoint::{
    ACCRDB, ACCRDBRM, ACCSEC, ACCSECRD, CLSQRY, CNTQRY, DSCSQLSTT, ENDQRYRM, ENDUOWRM, EXCSAT, EXCSATRD,
    EXCSQLIMM, EXCSQLSET, EXCSQLSTT, OPNQFLRM, OPNQRY, OPNQRYRM, PRPSQLSTT, QRYDSC, QRYDTA, RDBCMM,
    RDBRLLBCK, RDBUPDRM, SECCHK, SECCHKRM, SQLATTR, SQLCARD, SQLDARD, SQLDTA, SQLDTARD, SQLERRRM, SQLSTT,
    error_name,
};
use super::lane::{CONTINUED, HEADER, MAGIC, is_format};
use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn recognise(direction: Direction, bytes: &[u8]) -> Recognition {
    if bytes.get(2).is_some_and(|&magic| magic != MAGIC)
        || bytes.get(3).is_some_and(|&format| !is_format(format))
    {
        return Recognition::Never;
    }
    let &[
        high,
        low,
        _,
        _,
        _,
        _,
        object_high,
        object_low,
        code_high,
        code_low,
        ..,
    ] = bytes
    else {
        return Recognition::More;
    };
    let structure = u16::from_be_bytes([high, low]);
    let object = u16::from_be_bytes([object_high, object_low]);
    let fits = object & CONTINUED != 0
        || structure & CONTINUED != 0
        || (object >= 4 && u32::from(object) + u32::from(HEADER) <= u32::from(structure));
    match (direction, u16::from_be_bytes([code_high, code_low])) {
        _ if !fits => Recognition::Never,
        (Direction::ClientToServer, EXCSAT) | (Direction::ServerToClient, EXCSATRD) => Recognition::Certain,
        (Direction::ClientToServer, code) if COMMANDS.contains(&code) => Recognition::Plausible,
        (Direction::ServerToClient, code) if ANSWERS.contains(&code) || error_name(code).is_some() => {
            Recognition::Plausible
        }
        _ => Recognition::Never,
    }
}

const COMMANDS: [u16; 16] = [
    ACCSEC, SECCHK, ACCRDB, PRPSQLSTT, DSCSQLSTT, EXCSQLSTT, EXCSQLIMM, EXCSQLSET, OPNQRY, CNTQRY, CLSQRY,
    RDBCMM, RDBRLLBCK, SQLSTT, SQLDTA, SQLATTR,
];
const ANSWERS: [u16; 15] = [
    ACCSECRD, SECCHKRM, ACCRDBRM, SQLCARD, SQLDARD, SQLDTARD, QRYDSC, QRYDTA, OPNQRYRM, OPNQFLRM, ENDQRYRM,
    ENDUOWRM, RDBUPDRM, SQLERRRM, EXCSATRD,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decoding::recognition::assert_verdicts;
    use Direction::{ClientToServer, ServerToClient};

    #[test]
    fn verdicts_do_not_change_with_more_bytes() {
        let samples: [(Direction, &[u8], Recognition); 7] = [
            (
                ClientToServer,
                b"\0\x6b\xd0\x41\0\x01\0\x65\x10\x41\0\x10",
                Recognition::Certain,
            ),
            (
                ServerToClient,
                b"\0\x89\xd0\x42\0\x01\0\x83\x14\x43\0\x16",
                Recognition::Certain,
            ),
            (
                ClientToServer,
                b"\0\x0a\xd0\x01\0\x01\0\x04\x20\x0e",
                Recognition::Plausible,
            ),
            (
                ServerToClient,
                b"\0\x15\xd0\x52\0\x01\0\x0f\x22\x0c\0\x05",
                Recognition::Plausible,
            ),
            (
                ClientToServer,
                b"\0\x0a\xd0\x01\0\x01\0\x05\x20\x0e",
                Recognition::Never,
            ),
            (
                ClientToServer,
                b"\0\x0a\xd1\x01\0\x01\0\x04\x20\x0e",
                Recognition::Never,
            ),
            (ServerToClient, b"SSH-2.0-OpenSSH\r\n", Recognition::Never),
        ];
        assert_verdicts(recognise, &samples);
    }
}
