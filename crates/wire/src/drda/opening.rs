//! Strict check of DRDA's first bytes: whole structures with consistent lengths.

use super::codepoint::{EXCSAT, EXCSATRD};
use super::lane::{CONTINUED, HEADER};
use super::signature::recognise;
use crate::decoding::recognition::Recognition;
use model::Direction;

pub fn opens(direction: Direction, bytes: &[u8]) -> Recognition {
    let verdict = recognise(direction, bytes);
    let (Recognition::Certain | Recognition::Plausible, Some(head)) = (verdict, bytes.first_chunk::<10>())
    else {
        return verdict;
    };
    let [
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
    ] = *head;
    let structure = u16::from_be_bytes([high, low]);
    let object = u16::from_be_bytes([object_high, object_low]);
    if structure & CONTINUED != 0 || object & CONTINUED != 0 {
        return Recognition::Plausible;
    }
    let is_alone = object + HEADER == structure;
    let code = u16::from_be_bytes([code_high, code_low]);
    let is_hello = matches!(code, EXCSAT | EXCSATRD);
    match bytes.get(10..usize::from(object) + usize::from(HEADER)) {
        None => Recognition::More,
        Some(inside) if is_hello && !objects_fit(inside) => Recognition::Never,
        Some(_) if is_alone => Recognition::Certain,
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
