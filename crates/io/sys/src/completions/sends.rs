//! Bytes being sent, kept in place until the kernel has accepted them.

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
    /// Returns the place and the copy.
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

    /// Returns number, generation and byte count.
    pub fn release_send(&mut self, place: usize) -> Option<(usize, u32, usize)> {
        let held = self.held.get(place)?;
        let released = (held.number, held.generation, held.bytes.len());
        self.free.push(place);
        Some(released)
    }

    pub fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.held));
    }
}
