use std::time::Duration;

pub(super) const LENGTH: usize = 16;
pub(super) const QUESTION: u8 = b'?';

/// As reported by the listener: processor time of its process in nanoseconds (bytes 0-7), its other
/// clients now (bytes 8-11), reserved (12-15).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) processor: Duration,
    pub(super) other_clients: u32,
}

impl Account {
    pub(super) fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        let nanos = u64::try_from(self.processor.as_nanos()).unwrap_or(u64::MAX);
        bytes[..8].copy_from_slice(&nanos.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.other_clients.to_be_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; LENGTH]) -> Self {
        let (mut nanos, mut clients) = ([0; 8], [0; 4]);
        nanos.copy_from_slice(&bytes[..8]);
        clients.copy_from_slice(&bytes[8..12]);
        Self {
            processor: Duration::from_nanos(u64::from_be_bytes(nanos)),
            other_clients: u32::from_be_bytes(clients),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_come_back_as_they_were() {
        let account = Account {
            processor: Duration::from_nanos(1_234_567_890_123),
            other_clients: 3,
        };
        assert_eq!(Account::decode(&account.encode()), account);
    }
}
