//! Truncated, broken or hostile input: no panic, bounded memory, complete records are returned, the
//! rest is reported.

mod samples;

use model::{Exchange, Protocol};
use proptest::collection::vec;
use proptest::prelude::*;
use report::{Error, JsonWriter, Record, RecordReader, RecordingWriter, is_recording};
use std::io::{BufReader, Read, repeat};

fn read_records(bytes: &[u8]) -> Vec<Result<Record, Error>> {
    RecordReader::new(bytes).expect("memory can be read").collect()
}

/// With a checkpoint after every 100 exchanges.
fn recording(exchanges: u64, finished: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = RecordingWriter::new(&mut bytes, &samples::conditions()).expect("memory takes it");
    for number in 0..exchanges {
        writer
            .records()
            .exchange(&numbered(number), Protocol::Postgres, None)
            .expect("memory takes it");
        if number % 100 == 99 {
            writer.checkpoint().expect("memory takes it");
        }
    }
    match finished {
        true => {
            writer.finish(&samples::summary()).expect("memory takes it");
        }
        false => drop(writer),
    }
    bytes
}

fn numbered(number: u64) -> Exchange {
    Exchange {
        // Varied, so that compressed blocks differ.
        reply_bytes: number.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        rows: Some(number),
        ..samples::exchange()
    }
}

fn is_cut_warning(record: &Result<Record, Error>) -> bool {
    matches!(record, Ok(Record::Warning(warning)) if warning.text.contains("cut short"))
}

#[test]
fn a_recording_cut_anywhere_gives_its_beginning_and_a_warning() {
    let whole = recording(500, true);
    let records = read_records(&whole);
    assert_eq!(records.len(), 502);
    for length in (4..whole.len()).step_by(97).chain(whole.len() - 20..whole.len()) {
        let mut cut = read_records(&whole[..length]);
        let last = cut.pop().expect("at least the warning");
        assert!(is_cut_warning(&last), "{length} of {}: {last:?}", whole.len());
        assert!(cut.len() <= records.len());
        for (cut, whole) in cut.iter().zip(&records) {
            assert_eq!(cut.as_ref().expect("a record"), whole.as_ref().expect("a record"));
        }
    }
}

#[test]
fn a_killed_run_leaves_all_up_to_its_last_checkpoint() {
    let records = read_records(&recording(500, false));
    assert_eq!(records.len(), 1 + 500 + 1);
    assert!(records.last().is_some_and(is_cut_warning));
}

#[test]
fn plain_records_cut_in_a_line_end_in_a_warning() {
    let line = samples::line(|writer| writer.exchange(&samples::exchange(), Protocol::Postgres, None));
    let text = format!("{line}\n{}", &line[..line.len() / 2]);
    let records = read_records(text.as_bytes());
    assert_eq!(records.len(), 2);
    assert!(records[0].is_ok() && is_cut_warning(&records[1]));

    let without_line_feed = read_records(line.as_bytes());
    assert!(matches!(
        without_line_feed.as_slice(),
        [Ok(Record::Exchange { .. })]
    ));
}

#[test]
fn damage_never_goes_unnoticed() {
    let whole = recording(20, true);
    let good = |bytes: &[u8]| -> Option<Vec<Record>> {
        let records = read_records(bytes);
        let noticed = records
            .iter()
            .any(|record| record.is_err() || is_cut_warning(record));
        if noticed {
            None
        } else {
            records.into_iter().collect::<Result<_, _>>().ok()
        }
    };
    let records = good(&whole).expect("the recording is good");
    for (place, bit) in (0..whole.len())
        .flat_map(|place| (0..8).map(move |bit| (place, bit)))
        .step_by(5)
    {
        let mut flipped = whole.clone();
        flipped[place] ^= 1 << bit;
        // Some bits of a frame header have no effect, such as those for a larger window.
        if let Some(read) = good(&flipped) {
            assert!(read == records, "bit {bit} of byte {place} of {}", whole.len());
        }
    }
}

proptest! {
    #[test]
    fn garbage_and_damaged_lines_never_panic(
        garbage in vec(any::<u8>(), 0..200),
        which in 0..4_usize,
        place in any::<prop::sample::Index>(),
    ) {
        let mut bytes = [
            samples::line(|writer| writer.exchange(&samples::copy(), Protocol::Postgres, None)),
            samples::line(|writer| writer.connection(&samples::connection())),
            samples::line(|writer| writer.summary(&samples::summary())),
            String::new(),
        ][which].clone().into_bytes();
        let place = place.index(bytes.len() + 1);
        let end = bytes.len().min(place + garbage.len() / 4);
        bytes.splice(place..end, garbage.iter().copied());
        let lines = bytes.split(|byte| *byte == b'\n').count();
        prop_assert!(read_records(&bytes).len() <= lines);
    }
}

#[test]
fn a_bad_line_is_told_and_the_next_is_read() {
    let good = samples::line(|writer| writer.warning(&samples::warning()));
    let deep = "[".repeat(100_000);
    let bad = [
        "not json",
        "{}",
        "[1,2]",
        "null",
        r#"{"type":"exchange","schema":1}"#,
        r#"{"type":"exchange","schema":1,"connection":-1}"#,
        r#"{"type":"warning","schema":1,"text":7}"#,
        r#"{"type":"warning","schema":"1","text":"x"}"#,
        r#"{"type":"warning","text":"no schema"}"#,
        r#"{"type":"summary","schema":1,"turns":1e99}"#,
        deep.as_str(),
    ];
    for line in bad {
        let records = read_records(format!("{good}\n\n{line}\n{good}\n").as_bytes());
        assert_eq!(records.len(), 3, "{line:.60}");
        assert!(
            matches!(records[1], Err(Error::NotARecord { line: 3, .. })),
            "{:?}",
            records[1]
        );
        assert!(records[2].is_ok());
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_a_bad_line() {
    let records = read_records(b"{\"type\":\"warning\",\"schema\":1,\"text\":\"\xff\xfe\"}\n");
    assert!(
        matches!(records.as_slice(), [Err(Error::NotARecord { line: 1, .. })]),
        "{records:?}"
    );
}

#[test]
fn words_and_addresses_that_are_not_known_are_named() {
    let known = samples::line(|writer| writer.connection(&samples::connection()));
    let changes = [
        ("\"postgres\"", "\"gopher\"", "protocol"),
        ("\"10.0.0.1:40312\"", "\"db1:5432\"", "endpoint \"db1"),
        ("\"10.0.0.2:5432\"", "\"\"", "endpoint"),
    ];
    for (was, now, named) in changes {
        let changed = known.replace(was, now);
        assert_ne!(changed, known);
        match read_records(changed.as_bytes()).as_slice() {
            [Err(Error::NotUnderstood { line: 1, reason })] => assert!(reason.starts_with(named), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn errors_show_hostile_values_harmlessly() {
    let line = samples::line(|writer| writer.exchange(&samples::exchange(), Protocol::Postgres, None));
    for hostile in [
        line.replace("\"postgres\"", "\"\\u001b[2J\""),
        line.replace("\"rows\":2", "\"rows\":\"\\u001b[2J\""),
    ] {
        assert_ne!(hostile, line);
        match read_records(hostile.as_bytes()).as_slice() {
            [Err(fault)] => assert!(!fault.to_string().contains('\u{1b}'), "{fault}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_higher_schema_ends_the_reading() {
    let line = samples::line(|writer| writer.warning(&samples::warning()));
    let newer = line.replace("\"schema\":1", "\"schema\":2");
    let records = read_records(format!("{newer}\n{line}\n").as_bytes());
    assert!(
        matches!(
            records.as_slice(),
            [Err(Error::NewerSchema { line: 1, schema: 2 })]
        ),
        "{records:?}"
    );
}

#[test]
fn records_of_other_types_are_named_and_passed_over() {
    let statement = samples::line(|writer| writer.statement(&samples::statement("COMMIT", 1, 1)));
    let text = format!("{statement}\n{{\"schema\":1,\"type\":\"from the future\",\"x\":[{{}}]}}\n");
    let names: Vec<String> = read_records(text.as_bytes())
        .into_iter()
        .map(|record| match record {
            Ok(Record::Other { name }) => name,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["statement", "from the future"]);
}

#[test]
fn keys_in_another_order_and_new_keys_are_read() {
    let line = samples::line(|writer| writer.exchange(&samples::exchange(), Protocol::Postgres, Some(4)));
    let mut value: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&line).expect("an object");
    value.insert(
        "a_key_of_tomorrow".to_owned(),
        serde_json::json!([1, {"x": null}]),
    );
    // serde_json's map orders keys by name.
    let reordered = serde_json::to_string(&value).expect("JSON");
    assert!(reordered.starts_with("{\"a_key"));
    let expected = Record::Exchange {
        exchange: samples::exchange().into(),
        protocol: Protocol::Postgres,
        operation: Some(4),
    };
    assert_eq!(
        read_records(reordered.as_bytes())
            .pop()
            .expect("one")
            .expect("a record"),
        expected
    );
}

#[test]
fn a_giant_line_is_passed_over_without_being_kept() {
    let good = samples::line(|writer| writer.warning(&samples::warning()));
    let giant = repeat(b'x').take(20 * 1024 * 1024);
    let end = format!("\n{good}\n");
    let input = BufReader::new(giant.chain(end.as_bytes()));
    let records: Vec<_> = RecordReader::new(input).expect("can be read").collect();
    assert_eq!(records.len(), 2);
    assert!(matches!(records[0], Err(Error::TooLong { line: 1, .. })));
    assert!(records[1].is_ok());
}

#[test]
fn a_giant_line_behind_little_compressed_data_is_passed_over() {
    let giant = vec![b' '; 64 * 1024 * 1024];
    let small = zstd::encode_all(giant.as_slice(), 3).expect("it compresses");
    assert!(small.len() < 64 * 1024);
    let records = read_records(&small);
    assert!(
        matches!(records.as_slice(), [Err(Error::TooLong { line: 1, .. })]),
        "{records:?}"
    );
}

#[test]
fn a_frame_that_asks_for_a_giant_window_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("an encoder");
    encoder.window_log(27).expect("a window of 128 MiB");
    std::io::Write::write_all(&mut encoder, b"{}\n").expect("memory takes it");
    let records = read_records(&encoder.finish().expect("memory takes it"));
    assert!(
        matches!(records.as_slice(), [Err(Error::Read { line: 0, .. })]),
        "{records:?}"
    );
}

#[test]
fn recordings_joined_end_to_end_are_read_as_one() {
    let mut joined = recording(500, true);
    joined.extend(recording(500, true));
    let records = read_records(&joined);
    assert_eq!(records.len(), 2 * 502);
    assert!(records.iter().all(Result::is_ok));
}

#[test]
fn nothing_holds_no_records() {
    assert!(read_records(b"").is_empty());
    assert!(read_records(b"\n\n  \n").is_empty());
}

#[test]
fn recordings_are_told_from_captures() {
    let plain = samples::line(|writer| writer.conditions(&samples::conditions()));
    let microseconds_capture = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    let compressed = |bytes: &[u8]| zstd::encode_all(bytes, 3).expect("it compresses");
    assert!(is_recording(plain.as_bytes()));
    assert!(is_recording(&recording(500, true)));
    assert!(is_recording(&recording(500, false)[..1_000]));
    assert!(is_recording(&compressed(plain.as_bytes())));
    assert!(!is_recording(&microseconds_capture));
    assert!(!is_recording(&compressed(&microseconds_capture)));
    assert!(!is_recording(&[0x0a, 0x0d, 0x0d, 0x0a, 0x7b, 0, 0, 0]));
    assert!(!is_recording(&compressed(b"")));
    assert!(!is_recording(b""));
}

#[test]
fn a_reader_handed_one_byte_at_a_time_reads_the_same() {
    let whole = recording(500, true);
    let records: Vec<_> = RecordReader::new(BufReader::with_capacity(1, whole.as_slice()))
        .expect("can be read")
        .collect();
    assert_eq!(records.len(), 502);
    assert!(records.iter().all(Result::is_ok));
}

#[test]
fn what_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = JsonWriter::new(Full);
    writer.warning(&samples::warning()).expect("it is in the buffer");
    let fault = writer.flush().expect_err("nothing can be written");
    assert_eq!(fault.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn warnings_of_other_versions_keep_their_text() {
    let of = |line: &str| match read_records(format!("{line}\n").as_bytes()).into_iter().next() {
        Some(Ok(Record::Warning(warning))) => warning,
        other => panic!("{other:?}"),
    };
    let older = of(r#"{"type":"warning","schema":1,"text":"x"}"#);
    let newer = of(r#"{"type":"warning","schema":1,"kind":"from-the-future","text":"x"}"#);
    assert_eq!(older, model::Warning::new(model::WarningKind::OtherVersion, "x"));
    assert_eq!(newer, older);
}

#[test]
fn earlier_recordings_of_load_are_known_by_their_command_line() {
    for (command_line, generated) in [
        ("longwire load -c 8 postgres://db1/shop", true),
        ("longwire --quiet load postgres://db1/shop", true),
        ("longwire watch postgres://db1/load -- load", false),
        ("load", false),
    ] {
        let conditions = model::Conditions {
            command_line: command_line.to_owned(),
            ..samples::conditions()
        };
        let line = samples::line(|writer| writer.conditions(&conditions));
        assert!(!line.contains("generated"), "{line}");
        let mut records = RecordReader::new(line.as_bytes()).expect("it is plain");
        let Some(Ok(Record::Conditions(read))) = records.next() else {
            panic!("{line}");
        };
        assert_eq!(read.generated, generated, "{command_line}");
    }
}
