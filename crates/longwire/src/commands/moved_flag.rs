//! The flag for connections that move, the same for every command that predicts.

use pipeline::moved::ConnectionChoice;

#[derive(Debug, Clone, clap::Args)]
pub struct MovedArgument {
    /// Connections that move: postgres, mysql, redis, oracle, informix, drda, tds,
    /// http, fastcgi, tls or HOST:PORT. Default: those to databases, and to services that are
    /// called within a request.
    #[arg(long, value_delimiter = ',', value_parser = ConnectionChoice::parse, value_name = "CONNECTION,...")]
    pub on: Vec<ConnectionChoice>,
}
