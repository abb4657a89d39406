//! Every format and compression returns the same events as plain pcap.

mod support;

use capture::{Error, Source};
use std::io::Write;
use support::build::{self, Frame, PLAIN, PcapKind};
use support::{ObservedConnection, data, data_path, read_bytes, read_flawless, read_sources};

fn shape(observed: &[ObservedConnection]) -> Vec<String> {
    observed
        .iter()
        .map(|connection| format!("{connection:?}"))
        .collect()
}

fn original() -> (Vec<u8>, Vec<Frame>, Vec<String>) {
    let bytes = data("redis-six-connections.pcap");
    let expected = shape(&read_flawless(&bytes));
    let frames = build::frames(&bytes);
    (bytes, frames, expected)
}

#[test]
fn a_file_and_a_stream_give_the_same() {
    let (_, _, expected) = original();
    let path = data_path("redis-six-connections.pcap");
    let (observed, report) = read_sources(vec![Source::File(&path)]).expect("a capture");
    assert_eq!(shape(&observed), expected);
    let facts = &report.files[0];
    assert_eq!(
        (facts.format, facts.compression, facts.snap_length),
        ("pcap", None, Some(262_144))
    );
    assert_eq!(facts.link_layers, ["Ethernet"]);
    assert_eq!(
        (facts.packets, facts.tcp_packets, facts.wire_bytes),
        (81, 81, 179_964)
    );
    assert_eq!(
        report
            .first_at
            .map(|at| at.as_nanos() > 1_700_000_000_000_000_000),
        Some(true)
    );
}

fn many() -> Vec<u8> {
    let frames = build::frames(&data("redis-six-connections.pcap"));
    let mut many = Vec::new();
    for round in 0..80u64 {
        many.extend(frames.iter().map(|frame| {
            let mut frame = frame.clone();
            frame.at += round * 1_000_000_000;
            (frame.bytes[28], frame.bytes[32]) = (round as u8, round as u8);
            frame
        }));
    }
    build::pcap(PLAIN, &many)
}

/// Truncates the file at its first event.
struct Shorten(Option<std::fs::File>);

impl model::Observer for Shorten {
    fn event(&mut self, _: model::ConnectionId, _: model::ConnectionEvent<'_>) {
        if let Some(file) = self.0.take() {
            file.set_len(100).expect("it can be cut");
        }
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_told_and_ends_nothing_else() {
    let mut file = tempfile::NamedTempFile::new().expect("file");
    file.write_all(&many()).expect("written");
    let mut observer = Shorten(Some(file.reopen().expect("it can be opened again")));
    let report = capture::read_sources(vec![Source::File(file.path())], &mut observer).expect("a capture");
    let warnings: Vec<_> = report.warnings.iter().map(|warning| &*warning.text).collect();
    assert!(
        warnings
            .iter()
            .any(|text| text.contains("became shorter while it was read")),
        "{warnings:?}"
    );
    assert!(report.packets < 81 * 80, "{}", report.packets);
}

#[test]
fn a_file_of_many_windows_gives_what_a_stream_gives() {
    let bytes = many();
    assert!(bytes.len() > 14_000_000);
    let mut file = tempfile::NamedTempFile::new().expect("file");
    file.write_all(&bytes).expect("written");
    let (whole, report) = read_sources(vec![Source::File(file.path())]).expect("a capture");
    assert_eq!((report.packets, report.connections), (81 * 80, 6 * 80));
    assert_eq!(report.warnings, []);
    assert!(
        shape(&whole) == shape(&read_flawless(&bytes)),
        "the same, too long to show"
    );
}

#[test]
fn every_pcap_variant_gives_the_same() {
    let (_, frames, expected) = original();
    for magic in [build::MICROSECONDS, build::NANOSECONDS, build::MODIFIED] {
        for big in [false, true] {
            let bytes = build::pcap(
                PcapKind {
                    big,
                    magic,
                    link: build::ETHERNET,
                },
                &frames,
            );
            assert_eq!(shape(&read_flawless(&bytes)), expected, "{magic:x} {big}");
        }
    }
}

#[test]
fn nanoseconds_are_kept() {
    let frame = Frame {
        at: build::EPOCH + 123_456_789,
        ..build::tcp(0, true, "S", 1, 0).frame()
    };
    let observed = read_flawless(&build::pcap(build::NANO, &[frame]));
    assert_eq!(observed[0].at.as_nanos(), build::EPOCH + 123_456_789);
}

#[test]
fn pcapng_sections_interfaces_and_resolutions_give_the_same() {
    let (_, frames, expected) = original();
    let second = 1_000_000_000;
    for big in [false, true] {
        let mut bytes = build::section(big);
        bytes.extend(build::block(big, 0x0bad, b"a block of a kind nobody knows"));
        bytes.extend(build::interface(big, 1, 262_144, None, None));
        bytes.extend(build::interface(big, 1, 0, Some(9), Some(-3600)));
        let (first, rest) = frames.split_at(40);
        for (number, frame) in first.iter().enumerate() {
            bytes.extend(match number % 2 {
                0 => build::enhanced(big, 0, frame.at / 1000, frame),
                _ => build::obsolete(big, 1, frame.at + 3600 * second, frame),
            });
        }
        // Another section, in the other byte order, with an interface that counts tenths of a
        // microsecond.
        bytes.extend(build::section(!big));
        bytes.extend(build::interface(!big, 1, 65_535, Some(7), Some(100)));
        for frame in rest {
            bytes.extend(build::enhanced(!big, 0, (frame.at - 100 * second) / 100, frame));
        }
        let (observed, report) = read_bytes(&bytes).expect("a capture");
        assert_eq!(report.files[0].format, "pcapng");
        assert_eq!(report.files[0].snap_length, Some(262_144));
        assert_eq!(report.warnings, []);
        assert_eq!(shape(&observed), expected, "{big}");
    }
}

#[test]
fn pcapng_times_in_powers_of_two() {
    let frame = build::tcp(0, true, "S", 1, 0).frame();
    let mut bytes = build::section(false);
    bytes.extend(build::interface(false, 1, 0, Some(0x80 | 10), None));
    bytes.extend(build::enhanced(false, 0, (1_700_000_000 << 10) + 512, &frame));
    assert_eq!(read_flawless(&bytes)[0].at.as_nanos(), build::EPOCH + 500_000_000);
}

#[test]
fn simple_packet_blocks_have_the_time_of_the_packet_before() {
    let packets = build::handshake();
    let mut bytes = build::section(false);
    bytes.extend(build::interface(false, 1, 0, Some(9), None));
    bytes.extend(build::enhanced(false, 0, build::EPOCH, &packets[0].frame()));
    for packet in &packets[1..] {
        bytes.extend(build::simple(false, &packet.frame()));
    }
    let observed = read_flawless(&bytes);
    let handshake = observed[0].handshake.expect("whole");
    assert_eq!(handshake.ack.as_nanos(), build::EPOCH);
}

#[test]
fn compressed_captures_give_the_same_also_in_several_members() {
    let (bytes, frames, expected) = original();
    let pieces = bytes.split_at(100_000);
    for (name, compressed) in [
        ("gzip", gzip(&bytes)),
        ("gzip", [gzip(pieces.0), gzip(pieces.1)].concat()),
        ("zstd", zstd(&bytes)),
        ("zstd", [zstd(pieces.0), zstd(pieces.1)].concat()),
        (
            "zstd",
            [b"\x50\x2a\x4d\x18\x04\x00\x00\x00note".to_vec(), zstd(&bytes)].concat(),
        ),
    ] {
        let (observed, report) = read_bytes(&compressed).expect("a capture");
        assert_eq!(report.files[0].compression, Some(name));
        assert_eq!(shape(&observed), expected);
        assert!(capture::is_capture(
            &compressed[..compressed.len().min(capture::PROBE_BYTES)]
        ));
        let mut file = tempfile::NamedTempFile::new().expect("file");
        file.write_all(&compressed).expect("written");
        let (observed, _) = read_sources(vec![Source::File(file.path())]).expect("a capture");
        assert_eq!(shape(&observed), expected);
    }
    assert!(capture::is_capture(&build::pcap(PLAIN, &frames)[..4]));
}

#[test]
fn a_cut_compressed_capture_gives_what_is_there() {
    let (bytes, _, expected) = original();
    for compressed in [gzip(&bytes), zstd(&bytes)] {
        let (observed, report) = read_bytes(&compressed[..compressed.len() - 5]).expect("a capture");
        assert!(
            report
                .warnings
                .iter()
                .any(|warning| warning.text.contains("could not be read beyond")),
            "{report:?}"
        );
        assert!(observed.len() <= expected.len());
    }
}

#[test]
fn a_pipe_that_gives_one_byte_at_a_time_gives_the_same() {
    struct Drip<'a>(&'a [u8]);
    impl std::io::Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(1);
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }
    let (bytes, _, expected) = original();
    let source = Source::Stream {
        name: "-",
        reader: Box::new(Drip(&bytes)),
    };
    let (observed, _) = read_sources(vec![source]).expect("a capture");
    assert_eq!(shape(&observed), expected);
}

#[test]
fn what_is_no_capture_is_an_error_that_names_the_file() {
    let recording = zstd(br#"{"type":"conditions","schema":1}"#);
    assert!(!capture::is_capture(&recording));
    assert!(!capture::is_capture(b""));
    assert!(!capture::is_capture(&gzip(b"")));
    for bytes in [
        b"hello, world".to_vec(),
        vec![0; 100],
        recording,
        b"\xd4\xc3".to_vec(),
    ] {
        let mut file = tempfile::NamedTempFile::new().expect("file");
        file.write_all(&bytes).expect("written");
        let error = read_sources(vec![Source::File(file.path())]).expect_err("no capture");
        assert!(matches!(error, Error::NotCapture { .. }), "{error:?}");
        assert!(
            error.to_string().contains(&file.path().display().to_string()),
            "{error}"
        );
    }
    let empty = read_bytes(b"").expect_err("no capture");
    assert_eq!(
        empty.to_string(),
        "'test' is empty, so it is not a capture; give a file written by `tcpdump -w` or by Wireshark"
    );
    let missing = read_sources(vec![Source::File("/no/such/file.pcap".as_ref())]).expect_err("no file");
    assert!(
        missing
            .to_string()
            .starts_with("longwire could not open '/no/such/file.pcap': No such file"),
        "{missing}"
    );
    let folder = read_sources(vec![Source::File(env!("CARGO_MANIFEST_DIR").as_ref())]).expect_err("a folder");
    assert!(matches!(folder, Error::Read { .. }), "{folder:?}");
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("in memory")
}

#[test]
fn other_formats_are_refused_with_the_command_that_converts_them() {
    let mut log = vec![0; 4096];
    log[72..76].copy_from_slice(&[2, 0, 2, 0xc0]);
    for (bytes, words) in [
        (&b"GMBU\0\x02\x01\0"[..], "editcap -F pcapng"),
        (b"RTSS\x01\x01", "editcap -F pcapng"),
        (b"snoop\0\0\0\0\0\0\x02", "editcap -F pcapng"),
        (&log, "etl2pcapng"),
    ] {
        let error = support::read_bytes(bytes).expect_err("no format that is read");
        assert!(error.to_string().contains(words), "{error}");
    }
    let error = support::read_bytes(b"GMB").expect_err("nothing that is known");
    assert!(error.to_string().contains("is not a capture"), "{error}");
}
