//! The flag for connections that move, the same for every command that predicts.

use pipeline::moved::ConnectionChoice;

#[derive(Debug, Clone, clap::Args)]
pub struct MovedArgument {
    /// Connections that move: a protocol (postgres, mysql, redis, mongodb, http, ...) or HOST:PORT.
    /// Default: those to databases, and to services that are called within a request.
    #[arg(long, value_delimiter = ',', value_parser = ConnectionChoice::parse, value_name = "CONNECTION,...")]
    pub on: Vec<ConnectionChoice>,
}
