//! Bytes that are being sent: they stay where they are until the kernel has taken them.

/// Sends in flight, each at a place of its own.
#[derive(Debug, Default)]
pub(super) struct Sends {
    held: Vec<BufferedSend>,
    free: Vec<usize>,
}

#[derive(Debug, Default)]
struct BufferedSend {
    number: usize,
    generation: u32,
    bytes: Vec<u8>,
}

impl Sends {
    /// Holds a copy of `bytes` for the socket under `number`: its place, and the copy.
    pub fn buffer_send(&mut self, number: usize, generation: u32, bytes: &[u8]) -> (usize, &[u8]) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.held.push(BufferedSend::default());
            self.held.len() - 1
        });
        let held = &mut self.held[place];
        held.number = number;
        held.generation = generation;
        held.bytes.clear();
        held.bytes.extend_from_slice(bytes);
        (place, &held.bytes)
    }

    /// The send at `place` is over: whose it was, of which generation, and of how many bytes.
    pub fn release_send(&mut self, place: usize) -> Option<(usize, u32, usize)> {
        let held = self.held.get(place)?;
        let released = (held.number, held.generation, held.bytes.len());
        self.free.push(place);
        Some(released)
    }

    /// Leaves all that is held for good.
    pub fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.held));
    }
}
