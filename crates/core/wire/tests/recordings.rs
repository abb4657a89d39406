//! Recorded streams decode to the stored messages (`.expected`, readable text) and to the counts of
//! another decoder.
//!
//! `WRITE_EXPECTED=1 cargo test -p longwire-wire --test recordings` rewrites the `.expected` files; review
//! the difference before committing.

mod streams;

use model::{Direction, Role};
use streams::names::names;
use streams::{Recording, Seen, play, play_joined, recordings};

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the person who runs this test decides whether it writes"
)]
fn recordings_decode_to_what_is_beside_them() {
    let mut wrong = Vec::new();
    for recording in recordings() {
        let (seen, stream) = play(recording.server_port, &recording.segments);
        let decoding = stream.decoding();
        let names = names(&recording, decoding.protocol, &seen);
        let found = as_text(&seen, &names, &decoding);
        let beside = recording.path.with_extension("expected");
        if std::env::var_os("WRITE_EXPECTED").is_some() {
            std::fs::write(&beside, &found).expect("tests/data can be written");
        }
        let expected = std::fs::read_to_string(&beside).unwrap_or_default();
        if found != expected {
            let line = found.lines().zip(expected.lines()).position(|(a, b)| a != b);
            wrong.push(format!(
                "{} differs from line {:?} on",
                beside.display(),
                line.map(|line| line + 1)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn as_text(seen: &[Seen], names: &[Option<&str>], decoding: &model::Decoding) -> String {
    let mut lines = vec![format!(
        "{}{}{}",
        decoding.protocol,
        if decoding.encrypted { ", encrypted" } else { "" },
        decoding
            .opaque
            .as_ref()
            .map(|reason| format!(", opaque: {reason}"))
            .unwrap_or_default()
    )];
    let (mut rest, mut names) = (seen, names);
    while let Some(first) = rest.first() {
        let alike = |other: &&Seen| {
            Seen {
                bytes: 0,
                ..(*other).clone()
            } == Seen {
                bytes: 0,
                ..first.clone()
            }
        };
        let count = if first.what.ends_with(" Row") {
            rest.iter().take_while(alike).count()
        } else {
            1
        };
        let bytes: u64 = rest[..count].iter().map(|seen| seen.bytes).sum();
        lines.push(line(first, names[0], bytes, count));
        (rest, names) = (&rest[count..], &names[count..]);
    }
    lines.join("\n") + "\n"
}

fn line(seen: &Seen, name: Option<&str>, bytes: u64, count: usize) -> String {
    let who = match seen.direction {
        Direction::ClientToServer => "C",
        Direction::ServerToClient => "  S",
    };
    let since = |at: model::Timestamp| at.as_nanos() / 1000;
    let (started, ended) = (since(seen.started), since(seen.ended));
    let time = if started == ended {
        format!("{ended}us")
    } else {
        format!("{started}..{ended}us")
    };
    let times = if count > 1 {
        format!(" x {count}")
    } else {
        String::new()
    };
    let name = name.map(|name| format!("{name} ")).unwrap_or_default();
    format!("{who} {time} {bytes}B {name}{:?} {}{times}", seen.role, seen.what)
        .trim_end()
        .to_owned()
}

/// Statement texts per recording, and segments that carry at least one, as tshark 4.0 counts them:
/// `tshark -d tcp.port==PORT,pgsql -Y pgsql.query -T fields -e pgsql.query`, values and lines.
const STATEMENTS: [(&str, usize, usize); 10] = [
    ("postgres/pgjdbc4274-pg15-scram", 14, 12),
    ("postgres/pgjdbc4274-pg15-trust", 14, 12),
    ("kingbase/kb860-pg15-md5", 6, 6),
    ("kingbase/kb860-pg15-scram", 6, 6),
    ("kingbase/kb860-pg15-simple", 71, 59),
    ("kingbase/kb860-pg15-trust", 6, 6),
    ("kingbase/kb860-pg15-zipLevel6", 0, 0),
    ("kingbase/kb860-pg15-ziplevel-lowercase", 6, 6),
    ("kingbase/kb901-pg15-zipLevel", 0, 0),
    ("kingbase/kb901-pg15-ziplevel", 5, 5),
];

#[test]
fn statements_are_as_many_as_another_decoder_finds() {
    let recordings = recordings();
    for (name, texts, segments) in STATEMENTS {
        let recording = find(&recordings, name);
        let (seen, _) = play(recording.server_port, &recording.segments);
        let statements: Vec<&Seen> = seen
            .iter()
            .filter(|seen| seen.what.contains(" Statement '") || seen.what.contains(" Prepare #"))
            .collect();
        assert_eq!(statements.len(), texts, "{name}: texts");
        let mut times: Vec<_> = statements.iter().map(|seen| seen.ended).collect();
        times.dedup();
        assert_eq!(times.len(), segments, "{name}: segments");
    }
}

#[test]
fn every_byte_is_handed_out_once() {
    for recording in recordings() {
        let (seen, _) = play(recording.server_port, &recording.segments);
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            let fed: u64 = recording
                .segments
                .iter()
                .filter(|segment| segment.direction == direction)
                .map(|segment| segment.bytes.len() as u64 + segment.hole)
                .sum();
            let out: u64 = seen
                .iter()
                .filter(|seen| seen.direction == direction)
                .map(|seen| seen.bytes)
                .sum();
            assert_eq!(out, fed, "{} {direction:?}", recording.path.display());
        }
    }
}

#[test]
fn opaque_protocols_stay_opaque() {
    for recording in recordings() {
        if recording
            .path
            .parent()
            .is_some_and(|folder| folder.ends_with("opaque"))
        {
            let (seen, _) = play(recording.server_port, &recording.segments);
            assert!(
                seen.iter().all(|seen| seen.role == Role::Opaque),
                "{}",
                recording.path.display()
            );
            assert_eq!(
                seen.len(),
                recording.segments.len(),
                "{}",
                recording.path.display()
            );
        }
    }
}

fn find<'a>(recordings: &'a [Recording], name: &str) -> &'a Recording {
    recordings
        .iter()
        .find(|recording| recording.path.with_extension("").ends_with(name))
        .unwrap_or_else(|| panic!("tests/data/{name}.stream is missing"))
}

/// Pairing relies on this: each request is answered by one `Reply` or `ReplyPause`, never before it
/// was sent. Recordings of undecoded protocols have neither; a replica's last request is answered
/// as long as it listens.
#[test]
fn every_request_is_answered_once() {
    for recording in recordings() {
        let (seen, _) = play(recording.server_port, &recording.segments);
        let mut pending = 0;
        for message in &seen {
            match message.role {
                Role::Request => pending += 1,
                Role::Reply | Role::ReplyPause => pending -= 1,
                Role::RequestPart | Role::OneWay | Role::ReplyPart => {}
                Role::Greeting | Role::Notice | Role::Opaque => {}
            }
            assert!(
                pending >= 0,
                "{}: {message:?} answers nothing",
                recording.path.display()
            );
        }
        let silent = recording.path.to_string_lossy().contains("connect-silent");
        let listens = recording
            .path
            .ends_with("mysql/mariadbbinlog-mariadb10.11.stream");
        let open = i32::from(silent || listens);
        assert_eq!(
            pending,
            open,
            "{}: requests without an answer",
            recording.path.display()
        );
    }
}

/// A capture may begin anywhere. Only the one-byte answer of an unseen start-up cannot be
/// distinguished from a message.
#[test]
fn postgres_is_decoded_from_any_segment_on() {
    for recording in recordings() {
        let folder = recording.path.parent().expect("a folder");
        if !folder.ends_with("postgres") && !folder.ends_with("kingbase") {
            continue;
        }
        for (place, first) in recording
            .segments
            .iter()
            .enumerate()
            .filter(|(_, first)| first.bytes.len() > 1)
        {
            let (seen, stream) = play_joined(recording.server_port, &recording.segments[place..]);
            let decoding = stream.decoding();
            let context = format!("{} from segment {place}, {first:?}", recording.path.display());
            assert_eq!(decoding.protocol, model::Protocol::Postgres, "{context}");
            assert_eq!(decoding.opaque, None, "{context}");
            assert!(seen.iter().all(|seen| seen.role != Role::Opaque), "{context}");
        }
    }
}

/// Commands, replies, statements, rows and errors of a Derby session, as its program saw them:
/// tables made, two hundred rows inserted in one batch, ten looked up, all read, 25 changed, and
/// one statement refused.
#[test]
fn drda_tells_what_the_program_did() {
    let recordings = recordings();
    for name in ["derbyclient10161-derby", "derbyclient10161-derby-fetch10"] {
        let recording = find(&recordings, &format!("drda/{name}"));
        let (seen, stream) = play(recording.server_port, &recording.segments);
        assert_eq!(stream.decoding().opaque, None, "{name}");
        let count = |what: &str| seen.iter().filter(|seen| seen.what.contains(what)).count();
        let insert = seen.iter().find(|seen| seen.what.contains("insert into t_lw"));
        let insert = insert
            .and_then(|seen| seen.what.split([' ']).nth(2))
            .expect("prepared");
        let insert = format!("Execute {} ", insert.trim_start_matches('#'));
        let batch: Vec<_> = seen.iter().filter(|seen| seen.what.contains(&insert)).collect();
        assert_eq!(batch.len(), 200, "{name}: rows of the batch");
        assert!(
            batch.iter().all(|seen| seen.role == Role::RequestPart),
            "{name}: one round trip"
        );
        assert_eq!(count("Done 1 Open"), 210, "{name}: rows inserted, rows looked up");
        assert_eq!(count("Done 200 Open"), 1, "{name}: all rows at once");
        assert_eq!(count("Done 25 Open"), 1, "{name}: rows changed");
        assert_eq!(count("Error 42X05 'SQLCODE -20001'"), 1, "{name}");
    }
}

/// Counts per code point by tshark 4.0 (`tshark -Y "drda && !tcp.analysis.retransmission" -T fields
/// -e drda.ddm.codepoint`), plus second objects of a structure, which tshark skips: all objects;
/// statements' texts; commands that run one; commits and rollbacks.
const OBJECTS: [(&str, [usize; 4]); 4] = [
    ("derbyclient10161-derby", [762 + 1, 9, 202 + 12, 14 + 1]),
    ("derbyclient10161-derby-fetch10", [754 + 1, 8, 201 + 12, 14 + 1]),
    ("db2jcc1159-derby", [4, 0, 0, 0]),
    ("db2jcc1159-derby-sm3", [8, 0, 0, 0]),
];

#[test]
fn drda_objects_are_as_many_as_another_decoder_finds() {
    let recordings = recordings();
    for (name, counts) in OBJECTS {
        let recording = find(&recordings, &format!("drda/{name}"));
        let (seen, _) = play(recording.server_port, &recording.segments);
        let count = |is: &dyn Fn(&str) -> bool| seen.iter().filter(|seen| is(&seen.what)).count();
        let ends = |what: &str| what.contains("Statement 'commit'") || what.contains("Statement 'rollback'");
        let text = |what: &str| what.contains(" Prepare #") || what.contains(" Statement '");
        let found = [
            seen.len(),
            count(&|what| text(what) && !ends(what)),
            count(&|what| what.contains(" Execute ")),
            count(&ends),
        ];
        assert_eq!(found, counts, "{name}");
    }
}

#[test]
fn drda_is_decoded_from_any_segment_on() {
    for recording in recordings() {
        let folder = recording.path.parent().expect("a folder");
        if !folder.ends_with("drda") {
            continue;
        }
        for (place, first) in recording.segments.iter().enumerate() {
            // A structure that continues from the previous segment cannot be recognised.
            if first.bytes.get(2) != Some(&0xD0) {
                continue;
            }
            let (seen, stream) = play_joined(recording.server_port, &recording.segments[place..]);
            let decoding = stream.decoding();
            let context = format!("{} from segment {place}", recording.path.display());
            assert_eq!(decoding.protocol, model::Protocol::Drda, "{context}");
            assert_eq!(decoding.opaque, None, "{context}");
            assert!(seen.iter().all(|seen| seen.role != Role::Opaque), "{context}");
        }
    }
}

/// An answer that only ends a group is ambiguous; all others show the protocol.
#[test]
fn informix_is_decoded_from_any_segment_on() {
    for recording in recordings() {
        let folder = recording.path.parent().expect("a folder");
        if !folder.ends_with("informix") {
            continue;
        }
        for place in 0..recording.segments.len().saturating_sub(8) {
            let (seen, stream) = play_joined(recording.server_port, &recording.segments[place..]);
            let context = format!("{} from segment {place}", recording.path.display());
            assert_eq!(stream.decoding().protocol, model::Protocol::Informix, "{context}");
            assert!(seen.iter().all(|seen| seen.role != Role::Opaque), "{context}");
        }
    }
}

/// Uncaptured bytes cost only their round trip: both directions resume.
#[test]
fn a_hole_loses_no_more_than_its_turn() {
    let recordings = recordings();
    for name in [
        "postgres/pgjdbc4274-pg15-trust",
        "kingbase/kb860-pg15-simple",
        "http/curl-keep-alive",
        "fastcgi/nginx122-phpfpm82-keep",
        "informix/ifxjdbc-4.50.10-synthetic-server-fetbuf32767",
        "drda/derbyclient10161-derby-fetch10",
    ] {
        let recording = find(&recordings, name);
        let (whole, _) = play(recording.server_port, &recording.segments);
        let last = recording.segments.len() - 6;
        for place in 2..last {
            let mut segments = recording.segments.clone();
            segments[place].hole = segments[place].bytes.len() as u64;
            segments[place].bytes.clear();
            let behind = segments[place + 4].at;
            let (seen, stream) = play(recording.server_port, &segments);
            let after = |seen: &[Seen]| -> Vec<_> {
                let after = seen.iter().filter(|seen| seen.started > behind);
                after
                    .map(|seen| (seen.direction, seen.started, seen.bytes, seen.role))
                    .collect()
            };
            assert_eq!(
                after(&seen),
                after(&whole),
                "{name}: a hole in place of segment {place}"
            );
            assert_eq!(
                stream.decoding().opaque,
                None,
                "{name}: a hole in place of segment {place}"
            );
        }
    }
}

const SECRETS: [(&str, &str); 6] = [
    ("fastcgi/phpfpm82-abort", "secret-word"),
    ("fastcgi/nginx122-phpfpm82-post", "secret-word"),
    ("fastcgi/nginx122-phpfpm82-keep", "the shop is closed"),
    ("postgres/psql15-password", "secret-word"),
    ("informix/ifxjdbc-4.50.10-synthetic-server-fetbuf4096", "in4mix"),
    ("informix/informix-driver-py-synthetic-server", "in4mix"),
];

#[test]
fn passwords_are_never_handed_out() {
    let recordings = recordings();
    for (name, password) in SECRETS {
        let recording = find(&recordings, name);
        let on_the_wire = |segment: &streams::Segment| {
            let mut parts = segment.bytes.windows(password.len());
            parts.any(|part| part == password.as_bytes())
        };
        assert!(recording.segments.iter().any(on_the_wire), "{name}");
        for place in 0..recording.segments.len().min(8) {
            let (seen, stream) = play_joined(recording.server_port, &recording.segments[place..]);
            let told = |seen: &Seen| seen.what.contains(password);
            assert!(!seen.iter().any(told), "{name} from segment {place}");
            let reason = stream.decoding().opaque.unwrap_or_default();
            assert!(!reason.contains(password), "{name} from segment {place}");
        }
    }
}

/// The same 500 rows with three buffer sizes: number and size of fetches, and whether the login
/// announces the size.
#[test]
fn informix_fetches_show_the_size_of_the_buffer() {
    let recordings = recordings();
    let cases = [
        ("ifxjdbc-4.50.10-synthetic-server-fetbuf4096", 4096, 7, true),
        ("ifxjdbc-4.50.10-synthetic-server-fetbuf8192", 8192, 4, true),
        ("ifxjdbc-4.50.10-synthetic-server-fetbuf32767", 32767, 2, true),
        ("informix-driver-py-synthetic-server", 4096, 7, false),
    ];
    for (name, bytes, fetches, announced) in cases {
        let recording = find(&recordings, &format!("informix/{name}"));
        let (seen, _) = play(recording.server_port, &recording.segments);
        let count = |what: &str| seen.iter().filter(|seen| seen.what.starts_with(what)).count();
        let fetch = format!("Work Fetch 0 rows unknown bytes {bytes}");
        assert_eq!(count(&fetch), fetches, "{name}: fetches of the first statement");
        let parameter = format!("Login Parameter FET_BUF_SIZE={bytes}");
        assert_eq!(count(&parameter), usize::from(announced), "{name}: announced");
        assert!(count("Work Row") >= 500, "{name}: rows");
    }
}

/// A login of Oracle or SQL Server reports the names of program and driver, but not user, host or
/// keys.
#[test]
fn logins_of_oracle_and_sql_server_are_not_told() {
    let secrets = [
        "scott", "secret-", "SESSKEY", "PASSWORD", "s3cret", "/opt", "Tiger",
    ];
    let folders = ["oracle", "tds"];
    let mut count = 0;
    for recording in recordings() {
        let folder = recording.path.parent().expect("a folder");
        if !folders.iter().any(|name| folder.ends_with(name)) {
            continue;
        }
        count += 1;
        let (seen, _) = play(recording.server_port, &recording.segments);
        for message in &seen {
            let told = secrets.iter().find(|secret| message.what.contains(**secret));
            assert_eq!(told, None, "{}: {message:?}", recording.path.display());
        }
    }
    assert!(count > 8, "{count} recordings");
}

/// Rows, and texts of batches, as tshark 4.0 finds them: `tshark -d tcp.port==14330,tds -T fields
/// -e tds.query`, and rows of the ends of statements that count them (`tds.done.donerowcount64`,
/// `tds.doneinproc.donerowcount64`).
const OF_SQL_SERVER: [(&str, usize, u64); 3] = [
    ("tds/freetds13-scripted", 6, 12),
    ("tds/mssqljdbc128-scripted", 5, 41),
    ("tds/mssqljdbc128-cursor-scripted", 0, 10),
];

#[test]
fn batches_and_rows_are_as_many_as_another_decoder_finds() {
    let recordings = recordings();
    for (name, batches, rows) in OF_SQL_SERVER {
        let (seen, _) = play(14330, &find(&recordings, name).segments);
        let count_of = |what: &str| seen.iter().filter(|seen| seen.what.contains(what)).count();
        assert_eq!(count_of(" Statement '"), batches, "{name}: batches");
        let ends = seen.iter().filter_map(|seen| seen.what.split_once(" Done "));
        let counted = ends.filter_map(|(_, rest)| rest.split(' ').next()?.parse::<u64>().ok());
        assert_eq!(counted.sum::<u64>(), rows, "{name}: rows");
    }
}

/// Requests and replies of php-fpm on one kept connection: pages, an order of 20,000 bytes, a
/// script that fails, a page of 80,000 bytes, a head alone. Web server and browser saw the same.
#[test]
fn fastcgi_tells_what_was_asked() {
    let recordings = recordings();
    let recording = find(&recordings, "fastcgi/nginx122-phpfpm82-keep");
    let (seen, stream) = play(recording.server_port, &recording.segments);
    assert_eq!(stream.decoding().opaque, None);
    let said = |what: &str| -> Vec<String> {
        let said = seen.iter().filter_map(|seen| seen.what.split_once(what));
        said.map(|(_, rest)| rest.to_owned()).collect()
    };
    let asked = [
        "GET /page.php?n=0",
        "GET /page.php?n=1",
        "GET /page.php?n=2",
        "GET /page.php?n=3",
        "POST /post.php",
        "GET /fails.php",
        "GET /large.php",
        "HEAD /page.php?n=2",
    ];
    assert_eq!(said(" HttpRequest "), asked);
    assert_eq!(
        said(" HttpResponse "),
        ["200", "200", "200", "200", "201", "500", "200", "200"]
    );
    let of = |direction| seen.iter().filter(move |seen| seen.direction == direction);
    let large = of(Direction::ServerToClient).filter(|seen| seen.bytes > 14_000);
    assert_eq!(large.map(|seen| seen.bytes).sum::<u64>(), 80_000 + 16);
    let body = of(Direction::ClientToServer).filter(|seen| seen.bytes > 10_000);
    assert_eq!(body.map(|seen| seen.bytes).sum::<u64>(), 20_000 + 8);
}

/// Three requests on one connection; the second and third are answered before the first. Each reply
/// is matched to its request.
#[test]
fn fastcgi_replies_that_overlap_are_told_apart() {
    let recordings = recordings();
    let recording = find(&recordings, "fastcgi/flup10-multiplexed");
    let (seen, stream) = play(recording.server_port, &recording.segments);
    assert_eq!(stream.decoding().opaque, None);
    let mut asked: Vec<(&Seen, &str)> = Vec::new();
    let mut waited = Vec::new();
    let mut statuses = Vec::new();
    for message in &seen {
        if let Some((_, target)) = message.what.split_once("GET /wait/") {
            asked.push((message, target));
        }
        if let Some((_, status)) = message.what.split_once(" HttpResponse ") {
            let (request, target) = asked.get(statuses.len()).expect("a reply has a request");
            let least: u64 = target.parse().expect("milliseconds");
            let milliseconds = message.started.since(request.ended).as_millis();
            assert!(milliseconds >= u128::from(least), "{target}: {milliseconds} ms");
            waited.push(milliseconds);
            statuses.push(status);
        }
    }
    assert_eq!(statuses, ["200", "200", "503", "200"]);
    assert!(waited[1] < waited[2] && waited[2] < waited[0], "{waited:?}");
}
