//! Why the bridge, or what was asked through it, failed.

use std::path::PathBuf;
use std::time::Duration;
use sys::error::{Blame, OsError};

/// Why the bridge, or what was asked through it, failed. Texts hold no literal, no value and nothing of a URL
/// but its host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BridgeError {
    /// There is no Java.
    #[error("there is no Java here: looked for {looked}")]
    NoJava {
        /// Where.
        looked: String,
    },
    /// There is Java, and it is too old.
    #[error("{java} is older than Java 11, which the JDBC bridge needs")]
    JavaTooOld {
        /// The program.
        java: String,
    },
    /// The driver needs a newer Java.
    #[error("the driver needs a newer Java than {java} is: {said}")]
    DriverTooNew {
        /// The version of Java.
        java: String,
        /// What Java says.
        said: String,
    },
    /// The bridge's own jar was not found.
    #[error("longwire-jdbc.jar is missing: looked for {looked}")]
    NoJar {
        /// Where.
        looked: String,
    },
    /// A file that should be a jar cannot be read.
    #[error("could not read {}: {reason}", path.display())]
    NotReadable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        reason: OsError,
    },
    /// A file that should be a jar is none.
    #[error("{} is not a jar", path.display())]
    NotAJar {
        /// The file.
        path: PathBuf,
    },
    /// A coordinate's jar is not in the local Maven repository.
    #[error("{coordinate} is not in the local Maven repository: no {}", path.display())]
    NotFetched {
        /// As given.
        coordinate: String,
        /// Where it would be.
        path: PathBuf,
    },
    /// The driver was named in a way that is neither a file nor coordinates.
    #[error("'{given}' is neither a jar nor group:artifact:version")]
    NotADriverName {
        /// As given.
        given: String,
    },
    /// The URL is none of JDBC.
    #[error("a JDBC driver is for a jdbc: URL")]
    NotJdbc,
    /// The URL has no host and port that a relay could take the place of.
    #[error("there is no host and port in {url} that a relay could take the place of")]
    NoPlace {
        /// The URL without secrets.
        url: String,
    },
    /// The process could not be started.
    #[error("could not start {java}: {reason}")]
    NotStarted {
        /// The program.
        java: String,
        /// What the operating system says.
        reason: OsError,
    },
    /// The process ended while it was needed.
    #[error("the JDBC bridge ended ({status}){said}")]
    Died {
        /// Exit status or signal, in words.
        status: String,
        /// What it said last, behind a colon; empty when nothing.
        said: String,
    },
    /// What came is not what the bridge says.
    #[error("the JDBC bridge and longwire do not understand each other: its jar is of another version")]
    Garbled,
    /// The request is longer than a frame may be.
    #[error("a statement is too long for the JDBC bridge (64 MiB)")]
    TooLong,
    /// No answer in time.
    #[error("no complete reply through the driver within {}", model::format_duration(*after))]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// The user ended it.
    #[error("stopped")]
    Stopped,
    /// No driver takes the URL.
    #[error("no driver takes {url}: {}", there(drivers))]
    NoDriver {
        /// The URL without secrets.
        url: String,
        /// Classes of the drivers that are there; may be empty.
        drivers: String,
    },
    /// The class that was named does not exist.
    #[error("there is no class {class} in the driver's jars")]
    NoClass {
        /// Its name.
        class: String,
    },
    /// The class that was named is no driver.
    #[error("{class} is not a java.sql.Driver")]
    NotADriver {
        /// Its name.
        class: String,
    },
    /// The heap is full.
    #[error("the driver ran out of memory in Java")]
    NoMemory,
    /// The database, or the driver on its behalf, refused.
    #[error("server: {code} {text}")]
    Sql {
        /// SQLSTATE, `ORA-` and its number, or the vendor's own number.
        code: String,
        /// What it says, without values.
        text: String,
    },
    /// The driver failed in another way.
    #[error("the driver failed: {class}: {text}")]
    Driver {
        /// Class of what it threw.
        class: String,
        /// What it says, without values.
        text: String,
    },
}

/// The drivers that there are, in words.
fn there(drivers: &str) -> String {
    match drivers {
        "" => "the jars hold no driver that says it is one".to_owned(),
        some => format!("the drivers there are {some}"),
    }
}

impl BridgeError {
    /// What to do next, in one line, where there is something.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoJava { .. } | Self::JavaTooOld { .. } => {
                "install Java 11 or newer (Debian: apt-get install default-jre-headless), or point JAVA_HOME at it".to_owned()
            }
            Self::DriverTooNew { .. } => "point JAVA_HOME at a newer Java, or take an older version of the driver".to_owned(),
            Self::NoJar { .. } => {
                "build it with `make jdbc` in longwire's sources; put it there, or name it with --bridge FILE or LONGWIRE_JDBC_BRIDGE".to_owned()
            }
            Self::NotFetched { coordinate, .. } => {
                format!("fetch it: mvn dependency:get -Dtransitive=false -Dartifact={coordinate}")
            }
            Self::NotADriverName { .. } => {
                "write --driver FILE.jar, FILE.jar:FILE.jar, or org.postgresql:postgresql:42.7.4".to_owned()
            }
            Self::NotJdbc => "write the target as the driver wants it, such as jdbc:postgresql://db1/shop".to_owned(),
            Self::Garbled => "build the jar that belongs to this longwire: `make jdbc`".to_owned(),
            Self::NoDriver { drivers, .. } if drivers.is_empty() => {
                "is it the jar with the driver? Some drivers are several jars, and some have to be named: --driver-class CLASS"
                    .to_owned()
            }
            Self::NoDriver { .. } => "is the URL spelled as this driver wants it?".to_owned(),
            Self::NoClass { .. } => "is it the right jar, and are the jars it needs next to it in --driver?".to_owned(),
            Self::NoMemory => "give it more: JAVA_TOOL_OPTIONS=-Xmx4g; or fetch fewer rows at once".to_owned(),
            Self::Sql { code, .. } => return hint_of(code),
            Self::NotReadable { .. }
            | Self::NotAJar { .. }
            | Self::NoPlace { .. }
            | Self::NotStarted { .. }
            | Self::Died { .. }
            | Self::TooLong
            | Self::TimedOut { .. }
            | Self::Stopped
            | Self::NotADriver { .. }
            | Self::Driver { .. } => return None,
        })
    }

    /// Who is to blame.
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Sql { .. } | Self::TimedOut { .. } => Blame::Server,
            Self::Driver { .. } | Self::NoMemory => Blame::Client,
            _ => Blame::Longwire,
        }
    }
}

/// What usually helps.
fn hint_of(code: &str) -> Option<String> {
    let hint = match code {
        "ORA-12514" | "ORA-12505" => {
            "the listener is there and does not know the service: `lsnrctl services` on the server lists those it knows"
        }
        "ORA-12541" | "08001" | "08S01" => "is it the right host and port, and is the server running?",
        "28P01" | "28000" | "ORA-01017" => {
            "user and password come from the URL, or from LONGWIRE_JDBC_USER and LONGWIRE_JDBC_PASSWORD"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}
