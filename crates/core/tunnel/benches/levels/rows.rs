//! Synthetic, reproducible PostgreSQL rows (`DataRow`).

use tunnel::MAX_CHUNK_BYTES;

/// Pseudorandom numbers by xorshift64*.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    fn below(&mut self, most: usize) -> usize {
        (self.roll() % most as u64) as usize
    }

    fn zipf(&mut self, most: usize) -> usize {
        let chance = (self.below(1 << 30) + 1) as f64 / f64::from(1 << 30);
        ((most as f64).powf(chance) as usize).min(most) - 1
    }

    fn date(&mut self) -> String {
        let (month, day) = (1 + self.below(9), 1 + self.below(28));
        format!(
            "2026-0{month}-{day:02} 10:{:02}:{:02}",
            self.below(60),
            self.below(60)
        )
    }
}

/// 500 rows with notes from sixty sentences, which zlib level 2 compresses to a thirteenth.
pub fn result(seed: u64) -> Vec<u8> {
    let mut dice = Dice(199);
    let words = words(&mut dice, 3_000);
    let sentences: Vec<String> = (0..60)
        .map(|_| {
            (0..14)
                .map(|_| words[dice.zipf(3_000)].as_str())
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    let mut dice = Dice(2 * seed + 1);
    let mut out = Vec::new();
    for number in 0..500 {
        let count = 12 + dice.below(10);
        let note: Vec<&str> = (0..count).map(|_| sentences[dice.zipf(60)].as_str()).collect();
        let customer = format!("customer-{:05}@example.com", dice.below(100_000));
        row(
            &mut out,
            &[
                format!("{}", 100_000 + number),
                "delivered".into(),
                customer,
                dice.date(),
                note.join(". "),
            ],
        );
    }
    out
}

/// Texts of some hundred words; zlib level 2 compresses them about like human text.
pub fn posts(seed: u64) -> Vec<u8> {
    let words = words(&mut Dice(15), 12_000);
    let mut dice = Dice(2 * seed + 1);
    let mut out = Vec::new();
    for number in 0..500 {
        let mut text = String::new();
        let mut word = 0;
        for place in 0..150 + dice.below(600) {
            if place % 60 == 0 {
                text.push_str("\n<!-- wp:paragraph -->\n<p>");
            }
            word = if dice.below(100) < 62 {
                follower(word, &mut dice)
            } else {
                dice.zipf(12_000)
            };
            text.push_str(&words[word]);
            text.push(if dice.below(9) == 0 { ',' } else { ' ' });
            if place % 60 == 59 {
                text.push_str("</p>\n<!-- /wp:paragraph -->\n");
            }
        }
        let link = format!("https://example.com/?p={number}");
        row(
            &mut out,
            &[
                format!("{number}"),
                "1".into(),
                dice.date(),
                text,
                "publish".into(),
                "open".into(),
                link,
            ],
        );
    }
    out
}

pub fn numbers(seed: u64) -> Vec<u8> {
    let mut dice = Dice(2 * seed + 1);
    let mut out = Vec::new();
    for number in 0..5_000 {
        let price = format!("{}.{:02}", dice.below(10_000), dice.below(100));
        let at = format!("{}.{:06}", dice.date(), dice.below(1_000_000));
        let (many, few) = (dice.below(100_000), dice.below(1_000));
        row(
            &mut out,
            &[
                format!("{number}"),
                format!("{many}"),
                price,
                format!("{few}"),
                at,
            ],
        );
    }
    out
}

pub fn random(seed: u64) -> Vec<u8> {
    let mut dice = Dice(2 * seed + 1);
    (0..1 << 20).map(|_| (dice.roll() >> 5) as u8).collect()
}

pub fn fill(bytes: usize, make: fn(u64) -> Vec<u8>) -> Vec<u8> {
    let mut out = Vec::new();
    for seed in 100.. {
        if out.len() >= bytes {
            break;
        }
        out.extend(make(seed));
    }
    out.truncate(bytes);
    out
}

/// Clients that fetch the same result repeatedly, each at another place in it.
pub fn interleave(result: &[u8], clients: usize, bytes: usize) -> Vec<Vec<u8>> {
    let mut dice = Dice(11);
    let mut places: Vec<usize> = (0..clients).map(|_| dice.below(result.len())).collect();
    let mut chunks = Vec::new();
    let mut sum = 0;
    while sum < bytes {
        let place = &mut places[dice.below(clients)];
        let end = result.len().min(*place + MAX_CHUNK_BYTES);
        chunks.push(result[*place..end].to_vec());
        sum += end - *place;
        *place = end % result.len();
    }
    chunks
}

fn row(out: &mut Vec<u8>, columns: &[String]) {
    let length: usize = 6 + columns.iter().map(|column| 4 + column.len()).sum::<usize>();
    out.push(b'D');
    out.extend((length as u32).to_be_bytes());
    out.extend((columns.len() as u16).to_be_bytes());
    for column in columns {
        out.extend((column.len() as u32).to_be_bytes());
        out.extend(column.as_bytes());
    }
}

fn words(dice: &mut Dice, count: usize) -> Vec<String> {
    const SYLLABLES: [&str; 20] = [
        "ta", "re", "mi", "con", "ver", "lo", "pa", "ni", "ster", "al", "en", "do", "fi", "ra", "th", "ou",
        "se", "mo", "bel", "ka",
    ];
    let mut word = || {
        (0..1 + dice.below(4))
            .map(|_| SYLLABLES[dice.below(20)])
            .collect()
    };
    (0..count).map(|_| word()).collect()
}

fn follower(word: usize, dice: &mut Dice) -> usize {
    let which = 20_f64.powf(dice.below(1 << 20) as f64 / f64::from(1 << 20)) as u64;
    let mut chosen = Dice((word as u64 * 7_919 + which * 104_729 + 17) | 1);
    chosen.roll();
    chosen.zipf(12_000)
}
