//! Why a job could not be done.

use client::bridge::BridgeError;
use client::session::SessionError;
use sys::error::Blame;

/// Why a job could not be done, or a workbench not be prepared or cleaned up. Texts hold no secret and no
/// value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TuneError {
    /// Connecting or talking failed, or was ended from outside.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The driver, or what leads to it, failed; or it was ended from outside.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// There is no workbench for such a target.
    #[error("there is nothing to tune with for {scheme}:// targets")]
    Scheme {
        /// The target's scheme.
        scheme: &'static str,
    },
    /// The scratch schema could not be made.
    #[error("server: the scratch schema {scratch} could not be made: {code} {text}")]
    NoScratch {
        /// Its name.
        scratch: String,
        /// The server's code: an SQLSTATE, or MySQL's number and one.
        code: String,
        /// What it says, without what it quotes.
        text: String,
    },
    /// Something with the scratch schema's name exists already: it must not be written to.
    #[error("there is a schema {scratch} already; longwire leaves it alone")]
    ScratchExists {
        /// Its name.
        scratch: String,
    },
    /// The scratch schema could not be removed.
    #[error("the scratch schema {scratch} is left on the server: {reason}")]
    ScratchLeft {
        /// Its name.
        scratch: String,
        /// Why.
        reason: Box<TuneError>,
    },
    /// The table whose columns are to be taken cannot be read.
    #[error("server: the table given as an example cannot be read: {code} {text}")]
    Like {
        /// The server's code.
        code: String,
        /// What it says, without what it quotes.
        text: String,
    },
    /// The table whose columns are to be taken is no table's name.
    #[error(
        "the table given as an example is no name: write TABLE or SCHEMA.TABLE, quoted as in SQL where it has to be"
    )]
    LikeName,
    /// The table whose columns are to be taken has no row to take values from.
    #[error("the table given as an example has no rows")]
    LikeEmpty,
    /// A statement of the job failed.
    #[error("server: {doing} failed: {code} {text}")]
    Statement {
        /// What was being done.
        doing: String,
        /// The server's code: an SQLSTATE, or MySQL's number and one.
        code: String,
        /// What it says, without what it quotes.
        text: String,
    },
    /// The rows are not all there, or others than expected.
    #[error("{doing}: {found} of {expected} rows")]
    Rows {
        /// What was being done.
        doing: String,
        /// How many rows there were to be.
        expected: u64,
        /// How many there were.
        found: u64,
    },
    /// A method was requested that this workbench does not have.
    #[error("there is no way `{method}` to {job} here")]
    NoSuchMethod {
        /// The job's name.
        job: &'static str,
        /// The method's name.
        method: String,
    },
    /// A job was to be run before the workbench was prepared.
    #[error("longwire: the workbench is not prepared")]
    NotPrepared,
}

impl TuneError {
    /// Who is to blame.
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

    /// What to do next, in one line, where there is something.
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

    /// Whether the run was ended from outside.
    pub const fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Session(SessionError::Stopped) | Self::Bridge(BridgeError::Stopped)
        )
    }
}

/// By SQLSTATE (PostgreSQL manual, appendix A) or MySQL's number.
fn no_scratch_hint(code: &str) -> Option<String> {
    // MySQL's number comes with an SQLSTATE that says less.
    let hint = match code.split('/').next().unwrap_or(code) {
        "42501" => "the user needs it: grant create on database ... to ...",
        "1044" | "1045" | "1142" => "the user needs it: grant all on `longwire\\_tune\\_%`.* to ...",
        "25006" | "1290" | "1836" => "the server is read-only: tune against the primary, or a copy of it",
        _ => return None,
    };
    Some(hint.to_owned())
}
