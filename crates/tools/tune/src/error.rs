use client::bridge::BridgeError;
use client::session::SessionError;
use sys::error::Blame;

/// Failure of a job, or of preparing or removing a workbench. Texts contain no secrets and no
/// values.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    #[error("there is nothing to tune with for {scheme}:// targets")]
    Scheme {
        /// URL scheme without a workbench.
        scheme: &'static str,
    },
    #[error("server: the scratch schema {scratch} could not be made: {code} {text}")]
    NoScratch {
        scratch: String,
        /// SQLSTATE, or MySQL's number and SQLSTATE.
        code: String,
        /// Server's message without quoted parts.
        text: String,
    },
    #[error("there is a schema {scratch} already; longwire leaves it alone")]
    ScratchExists {
        /// Not created by longwire, so left alone.
        scratch: String,
    },
    #[error("the scratch schema {scratch} is left on the server: {reason}")]
    ScratchLeft {
        scratch: String,
        /// Error of the removal.
        reason: Box<Error>,
    },
    #[error("server: the table given as an example cannot be read: {code} {text}")]
    Like {
        code: String,
        /// Server's message without quoted parts.
        text: String,
    },
    #[error(
        "the table given as an example is no name: write TABLE or SCHEMA.TABLE, quoted as in SQL where it has to be"
    )]
    LikeName,
    #[error("the table given as an example has no rows")]
    LikeEmpty,
    #[error("server: {doing} failed: {code} {text}")]
    Statement {
        doing: String,
        /// SQLSTATE, or MySQL's number and SQLSTATE.
        code: String,
        text: String,
    },
    #[error("{doing}: {found} of {expected} rows")]
    Rows {
        doing: String,
        expected: u64,
        found: u64,
    },
    #[error("there is no way `{method}` to {job} here")]
    NoSuchMethod {
        job: &'static str,
        /// As requested by the user.
        method: String,
    },
    #[error("longwire: the workbench is not prepared")]
    NotPrepared,
}

impl Error {
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Session(error) => error.blame(),
            Self::Bridge(error) => error.blame(),
            Self::NoScratch { .. }
            | Self::ScratchExists { .. }
            | Self::Like { .. }
            | Self::Statement { .. }
            | Self::Rows { .. } => Blame::Server,
            Self::ScratchLeft { reason, .. } => reason.blame(),
            Self::Scheme { .. }
            | Self::LikeName
            | Self::LikeEmpty
            | Self::NoSuchMethod { .. }
            | Self::NotPrepared => Blame::Longwire,
        }
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Session(error) => return error.hint(),
            Self::Bridge(error) => return error.hint(),
            Self::Scheme { .. } => {
                "a jdbc: URL with --driver goes through the driver of any database; --set tunes a program of your own"
            }
            Self::NoScratch { code, .. } => return no_scratch_hint(code),
            Self::ScratchExists { scratch } => {
                return Some(format!("was a run killed? then drop schema {scratch} yourself"));
            }
            Self::ScratchLeft { scratch, .. } => {
                return Some(format!("drop schema {scratch} cascade (MySQL: without cascade)"));
            }
            Self::Like { .. } => "check the table's name, with its schema, and the user's right to read it",
            Self::LikeEmpty => "say --rows and --row-bytes instead",
            Self::Statement { .. }
            | Self::Rows { .. }
            | Self::LikeName
            | Self::NoSuchMethod { .. }
            | Self::NotPrepared => {
                return None;
            }
        };
        Some(hint.to_owned())
    }

    pub const fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Session(SessionError::Stopped) | Self::Bridge(BridgeError::Stopped)
        )
    }
}

/// `code` is an SQLSTATE (PostgreSQL manual, appendix A) or MySQL's number.
fn no_scratch_hint(code: &str) -> Option<String> {
    // MySQL's number is more specific than its SQLSTATE.
    let hint = match code.split('/').next().unwrap_or(code) {
        "42501" => "the user needs it: grant create on database ... to ...",
        "1044" | "1045" | "1142" => "the user needs it: grant all on `longwire\\_tune\\_%`.* to ...",
        "25006" | "1290" | "1836" => "the server is read-only: tune against the primary, or a copy of it",
        _ => return None,
    };
    Some(hint.to_owned())
}
