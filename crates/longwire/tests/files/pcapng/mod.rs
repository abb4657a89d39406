//! Writes pcapng files block by block.

pub struct Blocks {
    big: bool,
    pub bytes: Vec<u8>,
}

impl Blocks {
    pub fn new(big: bool, options: &[u8]) -> Self {
        let mut blocks = Self {
            big,
            bytes: Vec::new(),
        };
        let head = [
            &blocks.four(0x1a2b_3c4d)[..],
            if big { &[0, 1, 0, 0] } else { &[1, 0, 0, 0] },
            &[0xff; 8],
        ];
        blocks.add(0x0a0d_0d0a, &head.concat());
        let link = if big { [0, 1, 0, 0] } else { [1, 0, 0, 0] };
        blocks.add(1, &[&link[..], &[0; 4], options].concat());
        blocks
    }

    pub fn four(&self, number: u32) -> [u8; 4] {
        match self.big {
            true => number.to_be_bytes(),
            false => number.to_le_bytes(),
        }
    }

    pub fn add(&mut self, kind: u32, body: &[u8]) {
        let padded = body.len().next_multiple_of(4);
        let length = self.four(padded as u32 + 12);
        self.bytes.extend(self.four(kind));
        self.bytes.extend(length);
        self.bytes.extend(body);
        self.bytes.resize(self.bytes.len() + padded - body.len(), 0);
        self.bytes.extend(length);
    }

    pub fn packet(&mut self, packet: &[u8]) {
        let number = |at: usize| {
            let four = packet[at..at + 4].try_into().expect("four bytes");
            u32::from_le_bytes(four)
        };
        let at = u64::from(number(0)) * 1_000_000 + u64::from(number(4));
        let head = [0, (at >> 32) as u32, at as u32, number(8), number(12)];
        let mut body: Vec<u8> = head.into_iter().flat_map(|number| self.four(number)).collect();
        body.extend(&packet[16..]);
        self.add(6, &body);
    }
}
