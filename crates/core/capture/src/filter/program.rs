//! Classic BPF (`Documentation/networking/filter.rst` of Linux): instructions, with labels for
//! distances during assembly.

use super::FilterError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    pub code: u16,
    /// Instructions to skip if the condition holds.
    pub on_true: u8,
    /// Instructions to skip if it does not.
    pub on_false: u8,
    /// The operand, which is a constant, an offset or a distance.
    pub k: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(usize);

/// Jumps only go forward.
#[derive(Debug, Default)]
pub(super) struct Program {
    steps: Vec<Step>,
    labels: usize,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Plain(u16, u32),
    Go(Label),
    Branch(u16, u32, Label, Label),
    Place(Label),
}

impl Program {
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    pub fn place_label(&mut self, label: Label) {
        self.steps.push(Step::Place(label));
    }

    pub fn push(&mut self, code: u16, k: u32) {
        self.steps.push(Step::Plain(code, k));
    }

    pub fn go(&mut self, to: Label) {
        self.steps.push(Step::Go(to));
    }

    pub fn branch(&mut self, code: u16, k: u32, on_true: Label, on_false: Label) {
        self.steps.push(Step::Branch(code, k, on_true, on_false));
    }

    /// Assembles the program. A branch reaches 255 instructions; beyond that jumps are added.
    ///
    /// # Errors
    /// If there are more instructions than the kernel accepts.
    pub fn assemble(&self) -> Result<Vec<Instruction>, FilterError> {
        let mut sizes: Vec<usize> = self.steps.iter().map(Step::least).collect();
        loop {
            let (starts, places) = self.layout(&sizes);
            if starts.last().is_some_and(|end| *end > MAX_INSTRUCTIONS) {
                return Err(FilterError::too_long());
            }
            let far = |at: usize, label: &Label| places[label.0].saturating_sub(starts[at] + 1) > NEAR;
            let mut grew = false;
            for (at, step) in self.steps.iter().enumerate() {
                if let Step::Branch(_, _, yes, no) = step
                    && sizes[at] == 1
                    && (far(at, yes) || far(at, no))
                {
                    sizes[at] = 3;
                    grew = true;
                }
            }
            if !grew {
                return Ok(self.written(&sizes, &starts, &places));
            }
        }
    }

    fn layout(&self, sizes: &[usize]) -> (Vec<usize>, Vec<usize>) {
        let mut starts = Vec::with_capacity(sizes.len() + 1);
        let mut places = vec![0; self.labels];
        let mut next = 0;
        for (step, size) in self.steps.iter().zip(sizes) {
            starts.push(next);
            if let Step::Place(label) = step {
                places[label.0] = next;
            }
            next += size;
        }
        starts.push(next);
        (starts, places)
    }

    fn written(&self, sizes: &[usize], starts: &[usize], places: &[usize]) -> Vec<Instruction> {
        let plain = |code, k| Instruction {
            code,
            on_true: 0,
            on_false: 0,
            k,
        };
        let mut all = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            let distance = |label: &Label, from: usize| places[label.0].saturating_sub(from + 1);
            match step {
                Step::Place(_) => {}
                Step::Plain(code, k) => all.push(plain(*code, *k)),
                Step::Go(to) => all.push(plain(code::GO, distance(to, starts[at]) as u32)),
                Step::Branch(code, k, yes, no) if sizes[at] == 1 => all.push(Instruction {
                    code: *code,
                    on_true: distance(yes, starts[at]) as u8,
                    on_false: distance(no, starts[at]) as u8,
                    k: *k,
                }),
                Step::Branch(code, k, yes, no) => {
                    all.push(Instruction {
                        on_false: 1,
                        ..plain(*code, *k)
                    });
                    all.push(plain(code::GO, distance(yes, starts[at] + 1) as u32));
                    all.push(plain(code::GO, distance(no, starts[at] + 2) as u32));
                }
            }
        }
        all
    }
}

impl Step {
    fn least(&self) -> usize {
        usize::from(!matches!(self, Self::Place(_)))
    }
}

/// Opcodes. `A` is the accumulator, `X` the index, `M` the memory.
pub(super) mod code {
    /// `A = k`
    pub const LOAD_NUMBER: u16 = 0x00;
    /// `A = ` four bytes at `k`
    pub const LOAD_WORD: u16 = 0x20;
    /// `A = ` two bytes at `k`
    pub const LOAD_HALF: u16 = 0x28;
    /// `A = ` four bytes at `X + k`
    pub const WORD_FROM: u16 = 0x40;
    /// `A = ` two bytes at `X + k`
    pub const HALF_FROM: u16 = 0x48;
    /// `A = ` a byte at `X + k`
    pub const BYTE_FROM: u16 = 0x50;
    /// `X = M[k]`
    pub const RECALL: u16 = 0x61;
    /// `M[k] = A`
    pub const KEEP: u16 = 0x02;
    /// `A += k`
    pub const ADD: u16 = 0x04;
    /// `A += X`
    pub const ADD_INDEX: u16 = 0x0c;
    /// `A &= k`
    pub const AND: u16 = 0x54;
    /// `A <<= k`
    pub const SHIFT: u16 = 0x64;
    /// `A = X`
    pub const FROM_INDEX: u16 = 0x87;
    /// Skips `k` instructions.
    pub const GO: u16 = 0x05;
    /// Branches on `A == k`.
    pub const EQUAL: u16 = 0x15;
    /// Branches on `A > k`.
    pub const GREATER: u16 = 0x25;
    /// Branches on `A >= k`.
    pub const AT_LEAST: u16 = 0x35;
    /// Branches on `A & k != 0`.
    pub const ANY_BIT: u16 = 0x45;
    pub const RETURN: u16 = 0x06;
}

/// The kernel's limit (`BPF_MAXINSNS`).
const MAX_INSTRUCTIONS: usize = 4096;
const NEAR: usize = 255;
