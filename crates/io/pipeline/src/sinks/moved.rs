//! Learns the servers of connections, for predictions.

use super::RunSink;
use crate::moved::MovedConnections;
use analysis::fact::Fact;
use std::io;

impl RunSink for MovedConnections {
    fn fact(&mut self, fact: &Fact) -> io::Result<()> {
        if let Fact::Opened {
            connection, server, ..
        } = fact
        {
            self.opened(*connection, *server);
        }
        Ok(())
    }
}
