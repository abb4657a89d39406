//! Commands with an effect or a text of their own.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Count,
    Write,
    Fetch,
    End,
    Hello,
    Login,
    Close,
    BuildInfo,
    Other,
}

/// Place of the names that are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    Nothing,
    Field(&'static str),
    Pipeline,
    /// `q` of the first write in this list.
    Writes(&'static str),
}

impl Filter {
    pub(super) const fn field(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Field(name) | Self::Writes(name) => name,
            Self::Pipeline => "pipeline",
        }
    }
}

#[derive(Debug)]
pub(super) struct Known {
    name: &'static str,
    pub(super) kind: Kind,
    /// The field with the collection's name; empty for the command's own.
    pub(super) collection: Option<&'static str>,
    pub(super) filter: Filter,
}

pub(super) fn find(name: &[u8]) -> Option<&'static Known> {
    COMMANDS.iter().find(|known| known.name.as_bytes() == name)
}

const fn plain(name: &'static str, kind: Kind) -> Known {
    Known {
        name,
        kind,
        collection: None,
        filter: Filter::Nothing,
    }
}

const fn of_collection(name: &'static str, kind: Kind, filter: Filter) -> Known {
    Known {
        collection: Some(""),
        filter,
        ..plain(name, kind)
    }
}

/// The most frequent ones first.
const COMMANDS: &[Known] = &[
    of_collection("find", Kind::Read, Filter::Field("filter")),
    Known {
        collection: Some("collection"),
        ..plain("getMore", Kind::Fetch)
    },
    of_collection("insert", Kind::Write, Filter::Nothing),
    of_collection("update", Kind::Write, Filter::Writes("updates")),
    of_collection("aggregate", Kind::Read, Filter::Pipeline),
    of_collection("delete", Kind::Write, Filter::Writes("deletes")),
    of_collection("findAndModify", Kind::Count, Filter::Field("query")),
    of_collection("findandmodify", Kind::Count, Filter::Field("query")),
    of_collection("count", Kind::Count, Filter::Field("query")),
    of_collection("distinct", Kind::Read, Filter::Field("query")),
    plain("bulkWrite", Kind::Write),
    plain("commitTransaction", Kind::End),
    plain("abortTransaction", Kind::End),
    plain("hello", Kind::Hello),
    plain("isMaster", Kind::Hello),
    plain("ismaster", Kind::Hello),
    plain("saslStart", Kind::Login),
    plain("saslContinue", Kind::Login),
    plain("authenticate", Kind::Login),
    plain("getnonce", Kind::Login),
    plain("logout", Kind::Close),
    plain("endSessions", Kind::Close),
    plain("buildInfo", Kind::BuildInfo),
    plain("buildinfo", Kind::BuildInfo),
    plain("listCollections", Kind::Read),
    plain("listDatabases", Kind::Read),
    of_collection("listIndexes", Kind::Read, Filter::Nothing),
    of_collection("create", Kind::Other, Filter::Nothing),
    of_collection("createIndexes", Kind::Other, Filter::Nothing),
    of_collection("drop", Kind::Other, Filter::Nothing),
    of_collection("dropIndexes", Kind::Other, Filter::Nothing),
    of_collection("collStats", Kind::Other, Filter::Nothing),
    of_collection("mapReduce", Kind::Other, Filter::Field("query")),
    of_collection("killCursors", Kind::Other, Filter::Nothing),
];
