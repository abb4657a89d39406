//! Unacknowledged data of one direction.

use model::Timestamp;

/// Ends and times of the last packets in flight, for round trips and the wait for retransmissions.
/// When full, every second entry is dropped, so that old and new ones remain.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flights {
    entries: [Flight; CAPACITY],
    head: u8,
    count: u8,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flight {
    pub end: u64,
    pub at: Timestamp,
}

impl Flights {
    #[inline]
    pub fn push(&mut self, end: u64, at: Timestamp) {
        if usize::from(self.count) == CAPACITY {
            self.thin();
        }
        let place = (self.head + self.count) as usize % CAPACITY;
        self.entries[place] = Flight { end, at };
        self.count += 1;
    }

    #[inline]
    pub fn land(&mut self, acknowledged: u64) -> Option<Flight> {
        let mut landed = None;
        while self.count > 0 {
            let flight = self.entries[self.head as usize % CAPACITY];
            if flight.end > acknowledged {
                break;
            }
            landed = Some(flight);
            self.head = (self.head + 1) % CAPACITY as u8;
            self.count -= 1;
        }
        landed
    }

    /// When the byte at `place` passed, or one soon after it.
    pub fn passed(&self, place: u64) -> Option<Timestamp> {
        self.iter()
            .find(|flight| flight.end > place)
            .map(|flight| flight.at)
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }

    fn iter(&self) -> impl Iterator<Item = Flight> {
        (0..self.count).map(|index| self.entries[(self.head + index) as usize % CAPACITY])
    }

    #[cold]
    fn thin(&mut self) {
        let mut kept = Self::default();
        for flight in self.iter().skip(1).step_by(2) {
            kept.entries[usize::from(kept.count)] = flight;
            kept.count += 1;
        }
        *self = kept;
    }
}

const CAPACITY: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_order_and_the_newest() {
        let mut flights = Flights::default();
        for number in 1..=20u64 {
            flights.push(number * 10, Timestamp::from_nanos(number));
        }
        assert_eq!(flights.passed(195), Some(Timestamp::from_nanos(20)));
        let ends: Vec<u64> = flights.iter().map(|flight| flight.end).collect();
        assert!(ends.is_sorted());
        assert_eq!(flights.land(200).map(|flight| flight.end), Some(200));
        assert_eq!(flights.passed(0), None);
    }
}
