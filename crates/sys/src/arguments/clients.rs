//! Database clients and their flags for passwords.

use std::ops::Range;

/// The password that a known client takes in `word`, by its own short flags.
pub(super) fn password(
    word: &[u8],
    before: &[u8],
    client: &mut Option<&'static Client>,
) -> Option<Range<usize>> {
    let name = word.rsplit(|byte| *byte == b'/').next().unwrap_or(word);
    if let Some(started) = CLIENTS.iter().find(|known| known.names.contains(&name)) {
        *client = Some(started);
        return None;
    }
    let after = |begin: usize, separator: u8| {
        let at = word[begin..].iter().position(|byte| *byte == separator)?;
        (begin + at + 1 < word.len()).then_some(begin + at + 1..word.len())
    };
    let known = client.as_ref()?;
    let flag = known.flag.as_bytes();
    match known.form {
        Form::Attached if word.starts_with(flag) && !word.starts_with(b"--") => Some(flag.len()..word.len()),
        Form::Value if before == flag => Some(0..word.len()),
        Form::Value if word.starts_with(flag) && !word.starts_with(b"--") => Some(flag.len()..word.len()),
        Form::User if before == flag || before == b"--user" || before == b"--proxy-user" => after(0, b':'),
        Form::User if word.starts_with(flag) || word.starts_with(b"--user=") => after(flag.len(), b':'),
        Form::Login if !word.starts_with(b"-") && !word.starts_with(b"@") => after(0, b'/'),
        Form::Attached | Form::Value | Form::User | Form::Login => None,
    }
    .filter(|secret| !secret.is_empty())
}

pub(super) struct Client {
    names: &'static [&'static [u8]],
    flag: &'static str,
    form: Form,
}

enum Form {
    /// `-pSECRET`.
    Attached,
    /// `-P SECRET` or `-PSECRET`.
    Value,
    /// `-u USER:SECRET`.
    User,
    /// `USER/SECRET@DATABASE`.
    Login,
}

const CLIENTS: &[Client] = &[
    Client {
        names: &[
            b"mysql",
            b"mysqldump",
            b"mysqladmin",
            b"mysqlslap",
            b"mysqlimport",
            b"mysqlcheck",
            b"mysqlshow",
            b"mysqlsh",
            b"mycli",
            b"mariadb",
            b"mariadb-dump",
            b"mariadb-admin",
            b"mariadb-slap",
        ],
        flag: "-p",
        form: Form::Attached,
    },
    Client {
        names: &[b"mongosh", b"mongo", b"mongodump", b"sshpass"],
        flag: "-p",
        form: Form::Value,
    },
    Client {
        names: &[b"redis-cli", b"redis-benchmark", b"valkey-cli", b"keydb-cli"],
        flag: "-a",
        form: Form::Value,
    },
    Client {
        names: &[b"sqlcmd", b"bcp", b"tsql", b"osql"],
        flag: "-P",
        form: Form::Value,
    },
    Client {
        names: &[b"curl"],
        flag: "-u",
        form: Form::User,
    },
    Client {
        names: &[b"http", b"https"],
        flag: "-a",
        form: Form::User,
    },
    Client {
        names: &[
            b"sqlplus", b"sql", b"sqlldr", b"exp", b"imp", b"expdp", b"impdp", b"rman",
        ],
        flag: "",
        form: Form::Login,
    },
];
