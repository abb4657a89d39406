//! The static Huffman code of HPACK (RFC 7541 appendix B). It is canonical: codes follow from lengths.

/// Appends the text of `bytes` to `out`; `None` if they are no such text.
pub(super) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (mut bits, mut count) = (0u64, 0u32);
    let mut input = bytes.iter();
    loop {
        while count <= 56 {
            let Some(&byte) = input.next() else { break };
            bits = bits << 8 | u64::from(byte);
            count += 8;
        }
        if count == 0 {
            return Some(());
        }
        // The next bits from the top, behind the end as in the padding.
        let window = match count {
            32.. => (bits >> (count - 32)) as u32,
            _ => (bits << (32 - count)) as u32 | u32::MAX >> count,
        };
        let (symbol, length) = code(window)?;
        if length > count {
            return (count < 8 && window == u32::MAX).then_some(());
        }
        out.push(u8::try_from(symbol).ok()?);
        count -= length;
    }
}

fn code(window: u32) -> Option<(u16, u32)> {
    let short = TABLES.short[(window >> 24) as usize];
    if short != 0 {
        return Some((short >> 4, u32::from(short & 15)));
    }
    (9..=MAX_CODE_LEN).find_map(|length| {
        let place = (window >> (32 - length)).checked_sub(TABLES.first[length])? as usize;
        let symbol = (place < TABLES.count[length]).then(|| TABLES.symbols[TABLES.offset[length] + place]);
        symbol.map(|symbol| (symbol, length as u32))
    })
}

struct Tables {
    /// By eight bits: symbol and length of a code of at most eight, or 0.
    short: [u16; 256],
    /// By length: the first code, the number of codes, and the place of their symbols.
    first: [u32; MAX_CODE_LEN + 1],
    count: [usize; MAX_CODE_LEN + 1],
    offset: [usize; MAX_CODE_LEN + 1],
    symbols: [u16; SYMBOLS],
}

const fn tables() -> Tables {
    let mut tables = Tables {
        short: [0; 256],
        first: [0; MAX_CODE_LEN + 1],
        count: [0; MAX_CODE_LEN + 1],
        offset: [0; MAX_CODE_LEN + 1],
        symbols: [0; SYMBOLS],
    };
    let (mut length, mut code, mut place) = (1, 0u32, 0);
    while length <= MAX_CODE_LEN {
        code <<= 1;
        (tables.first[length], tables.offset[length]) = (code, place);
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                tables.symbols[place] = symbol as u16;
                tables.count[length] += 1;
                place += 1;
                let mut filler = 0;
                while length <= 8 && filler < 1 << (8 - length) {
                    tables.short[((code << (8 - length)) + filler) as usize] =
                        (symbol as u16) << 4 | length as u16;
                    filler += 1;
                }
                code += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    tables
}

static TABLES: Tables = tables();

const MAX_CODE_LEN: usize = 30;
/// All bytes, and the end of the text, which never stands in one.
const SYMBOLS: usize = 257;

#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
    7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
    23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
    21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];
