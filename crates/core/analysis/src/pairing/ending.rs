//! Which side ended a connection.

use model::{Direction, EndedBy, Timestamp};

#[derive(Debug, Default)]
pub(super) struct Ending {
    last_sender: Option<Direction>,
    requested: Option<Direction>,
    first: First,
}

#[derive(Debug, Default, Clone, Copy)]
enum First {
    #[default]
    Open,
    Fin(Timestamp, Direction),
    Unknown,
}

impl Ending {
    pub(super) fn sent(&mut self, direction: Direction) {
        self.last_sender = Some(direction);
    }

    pub(super) fn requested(&mut self, direction: Direction) {
        self.requested.get_or_insert(direction);
    }

    pub(super) fn ended(&mut self, at: Timestamp, direction: Direction) {
        self.first = match self.first {
            // A server's FIN after bytes of the client may be its answer to them.
            First::Open if direction == Direction::ServerToClient && self.last_sender != Some(direction) => {
                First::Unknown
            }
            First::Open => First::Fin(at, direction),
            // A reset ends both directions at once.
            First::Fin(before, _) if before == at => First::Unknown,
            known @ (First::Fin(..) | First::Unknown) => known,
        };
    }

    pub(super) fn by(&self) -> Option<EndedBy> {
        match (self.requested, self.first) {
            (Some(Direction::ClientToServer), _) => Some(EndedBy::ClientHeader),
            (Some(Direction::ServerToClient), _) => Some(EndedBy::ServerHeader),
            (None, First::Fin(_, Direction::ClientToServer)) => Some(EndedBy::ClientFin),
            (None, First::Fin(_, Direction::ServerToClient)) => Some(EndedBy::ServerFin),
            (None, First::Open | First::Unknown) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ClientToServer as Client, ServerToClient as Server};

    fn by(last_sender: Direction, ends: &[(u64, Direction)]) -> Option<EndedBy> {
        let mut ending = Ending::default();
        ending.sent(last_sender);
        for &(at, direction) in ends {
            ending.ended(Timestamp::from_nanos(at), direction);
        }
        ending.by()
    }

    #[test]
    fn the_first_fin_tells_who_ended_it() {
        assert_eq!(by(Server, &[(1, Server), (2, Client)]), Some(EndedBy::ServerFin));
        assert_eq!(by(Server, &[(1, Client), (2, Server)]), Some(EndedBy::ClientFin));
        assert_eq!(by(Client, &[(1, Server), (2, Client)]), None, "after a goodbye");
        assert_eq!(by(Server, &[(1, Client), (1, Server)]), None, "a reset");
        assert_eq!(by(Server, &[]), None);
    }

    #[test]
    fn what_was_asked_for_comes_before_the_fin() {
        let mut ending = Ending::default();
        ending.ended(Timestamp::from_nanos(1), Client);
        ending.requested(Server);
        ending.requested(Client);
        assert_eq!(ending.by(), Some(EndedBy::ServerHeader));
    }
}
