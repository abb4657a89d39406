//! Byte sequences that both ends generate from a seed, so that every received byte can be verified.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rows of text with mostly repeated words.
    Text,
    Random,
    /// Alternates every few kilobytes.
    Mixed,
}

/// An infinite byte sequence, determined by seed and kind regardless of read sizes.
#[derive(Debug)]
pub(crate) struct Content {
    seed: u64,
    kind: Kind,
    block: Vec<u8>,
    number: u64,
    used: usize,
}

impl Content {
    pub(crate) fn new(seed: u64, kind: Kind) -> Self {
        Self {
            seed,
            kind,
            block: Vec::new(),
            number: 0,
            used: 0,
        }
    }

    pub(crate) fn fill(&mut self, mut out: &mut [u8]) {
        while !out.is_empty() {
            let next = self.next(out.len());
            let (now, later) = out.split_at_mut(next.len());
            now.copy_from_slice(next);
            out = later;
        }
    }

    /// Compares `got` with the next bytes; on a mismatch, returns the length of the matching
    /// prefix.
    pub(crate) fn check(&mut self, mut got: &[u8]) -> Result<(), usize> {
        let mut right = 0;
        while !got.is_empty() {
            let next = self.next(got.len());
            let (now, later) = got.split_at(next.len());
            if now != next {
                return Err(right + now.iter().zip(next).take_while(|(a, b)| a == b).count());
            }
            right += now.len();
            got = later;
        }
        Ok(())
    }

    fn next(&mut self, most: usize) -> &[u8] {
        if self.used == self.block.len() {
            self.make_block();
        }
        let begin = self.used;
        self.used += most.min(self.block.len() - begin);
        &self.block[begin..self.used]
    }

    fn make_block(&mut self) {
        let mut chance = Chance::new(self.seed.wrapping_add(self.number.wrapping_mul(0x9E37_79B9)));
        self.number += 1;
        self.used = 0;
        self.block.clear();
        let text = match self.kind {
            Kind::Text => true,
            Kind::Random => false,
            Kind::Mixed => chance.one_in(2),
        };
        while self.block.len() < BLOCK {
            if text {
                self.block.extend_from_slice(chance.next().to_string().as_bytes());
                for _ in 0..12 {
                    let word = WORDS[chance.below(WORDS.len() as u64) as usize];
                    self.block.extend_from_slice(word);
                }
                self.block.push(b'\n');
            } else {
                self.block.extend_from_slice(&chance.next().to_le_bytes());
            }
        }
    }
}

/// Seeded pseudorandom numbers (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// Between 1 and `largest`, uniform over orders of magnitude.
    pub(crate) fn size(&mut self, largest: u64) -> u64 {
        let share = self.next() as f64 / u64::MAX as f64;
        ((largest as f64).powf(share) as u64).clamp(1, largest)
    }
}

const BLOCK: usize = 4096;

const WORDS: [&[u8]; 16] = [
    b",order",
    b",customer number",
    b",2026-11-21 08:00:00",
    b",Z\xc3\xbcrich",
    b",\xe6\x95\xb0\xe6\x8d\xae\xe5\xba\x93",
    b",NULL",
    b",0.00",
    b",1999.95",
    b",delivered to the address that was given",
    b",open",
    b",true",
    b",false",
    b",a remark of some length that many rows have in common with others",
    b",EUR",
    b",warehouse 7",
    b",",
];
