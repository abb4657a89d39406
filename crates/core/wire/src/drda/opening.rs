//! Strict check of DRDA's first bytes: magic byte and code point of the first object, and whole
//! structures with consistent lengths.

use super::codepoint::{
    ACCRDB, ACCRDBRM, ACCSEC, ACCSECRD, CLSQRY, CNTQRY, DSCSQLSTT, ENDQRYRM, ENDUOWRM, EXCSAT, EXCSATRD,
    EXCSQLIMM, EXCSQLSET, EXCSQLSTT, OPNQFLRM, OPNQRY, OPNQRYRM, PRPSQLSTT, QRYDSC, QRYDTA, RDBCMM,
    RDBRLLBCK, RDBUPDRM, SECCHK, SECCHKRM, SQLATTR, SQLCARD, SQLDARD, SQLDTA, SQLDTARD, SQLERRRM, SQLSTT,
    error_name,
};
use super::lane::{CONTINUED, HEADER, MAGIC, is_format};
use crate::decoding::recognition::Recognition;
use model::Direction;

pub(super) fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    if bytes.get(2).is_some_and(|&magic| magic != MAGIC)
        || bytes.get(3).is_some_and(|&format| !is_format(format))
    {
        return Recognition::Never;
    }
    let Some(
        &[
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
        ],
    ) = bytes.first_chunk()
    else {
        return Recognition::More;
    };
    let structure = u16::from_be_bytes([high, low]);
    let object = u16::from_be_bytes([object_high, object_low]);
    let code = u16::from_be_bytes([code_high, code_low]);
    let is_continued = structure & CONTINUED != 0 || object & CONTINUED != 0;
    let fits = is_continued || (object >= 4 && u32::from(object) + u32::from(HEADER) <= u32::from(structure));
    let is_known = match direction {
        Direction::ClientToServer => code == EXCSAT || COMMANDS.contains(&code),
        Direction::ServerToClient => ANSWERS.contains(&code) || error_name(code).is_some(),
    };
    if !fits || !is_known {
        return Recognition::Never;
    }
    if is_continued {
        return Recognition::Plausible;
    }
    let is_hello = matches!(code, EXCSAT | EXCSATRD);
    match bytes.get(10..usize::from(object) + usize::from(HEADER)) {
        None => Recognition::More,
        Some(inside) if is_hello && !objects_fit(inside) => Recognition::Never,
        Some(_) if object + HEADER == structure => Recognition::Certain,
        Some(_) => Recognition::Plausible,
    }
}

/// Objects to the end, all of kinds used in introductions.
fn objects_fit(mut inside: &[u8]) -> bool {
    while let Some((&[high, low, kind, _], _)) = inside.split_first_chunk::<4>() {
        let length = usize::from(u16::from_be_bytes([high, low]));
        let Some(behind) = inside.get(length..).filter(|_| length >= 4) else {
            return false;
        };
        if !matches!(kind, 0x11 | 0x14) {
            return false;
        }
        inside = behind;
    }
    inside.is_empty()
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
        let samples: [(Direction, &[u8], Recognition); 4] = [
            (
                ClientToServer,
                b"\0\x0a\xd0\x01\0\x01\0\x04\x20\x0e",
                Recognition::Certain,
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
        assert_verdicts(opens, &samples);
    }
}
