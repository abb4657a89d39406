use super::{CommandLine, mask};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

fn recorded<T: AsRef<OsStr>>(words: &[T]) -> String {
    let program = OsString::from("/usr/local/bin/longwire");
    let words = words.iter().map(|word| word.as_ref().to_owned());
    let all: Vec<OsString> = std::iter::once(program).chain(words).collect();
    CommandLine::from_arguments(&all).to_string()
}

/// The words that a shell makes of `line`.
fn words_of_shell(line: &str) -> Vec<Vec<u8>> {
    let script = format!("printf '%s\\0' {line}");
    let output = Command::new("bash").args(["-c", &script]).output().expect("bash");
    let mut words: Vec<Vec<u8>> = output
        .stdout
        .split(|byte| *byte == 0)
        .map(<[u8]>::to_vec)
        .collect();
    words.pop();
    words
}

#[test]
fn words_without_secrets_are_as_typed() {
    for line in [
        "read app.pcap --json",
        "load http://web1:8000/@a -c 2 --ramp 1s --timeout 250ms",
        "load postgres://app@db1/shop --statement 'select a1 from t' -D id= -D id",
        "read app.pcap --html 'page with 5 rows.html' --keep-literals",
        "load postgres://app@db1/shop -f D id=5 --scale 5 -MD -jD",
        "link rtt=40ms,loss=1% -- sh",
        "tunnel near --to db1:7000 --key near.key --peer far.key.pub --psk-file key.psk",
        "watch --interface eth0 --filter 'port 5432 and not host 10.0.0.1' -- ./app",
        "ping postgres://ann@db1/shop -n 100 --allow-cleartext-password",
        "read 'a file.pcap' '' '#1' '~x' 'it'\\''s'",
        "predict token.pcap secret/auth@x.pcap --on tls",
    ] {
        let words: Vec<Vec<u8>> = words_of_shell(line);
        let words: Vec<&OsStr> = words.iter().map(|word| OsStr::from_bytes(word)).collect();
        assert_eq!(recorded(&words), format!("longwire {line}"));
    }
}

#[test]
fn secrets_are_masked() {
    for (words, line) in [
        (
            &["ping", "postgres://ann:S3cret@db1/shop"][..],
            "ping postgres://ann:***@db1/shop",
        ),
        (&["ping", "redis://:S3cret@c"], "ping redis://:***@c"),
        (
            &["ping", "host=db password='S3cret x' user=ann"],
            r"ping 'host=db password='\''***'\'' user=ann'",
        ),
        (
            &["ping", "jdbc:postgresql://db/x?user=a&password=S3cret"],
            "ping 'jdbc:postgresql://db/x?user=a&password=***'",
        ),
        (
            &["ping", "jdbc:oracle:thin:ann/S3cret@//db:1521/x"],
            "ping jdbc:oracle:thin:ann/***@//db:1521/x",
        ),
        (&["ping", "oracle://ann/S3cret@db"], "ping oracle://ann/***@db"),
        (
            &[
                "tune",
                "jdbc:sqlserver://db;user=a;Password={S3;cret};encrypt=true",
            ],
            "tune 'jdbc:sqlserver://db;user=a;Password={***};encrypt=true'",
        ),
        (
            &["x", "postgres://db/x?pass%77ord=S3cret"],
            "x postgres://db:5432/x",
        ),
        (&["x", "host=db password = S3cret"], "x 'host=db password = ***'"),
        (&["x", "--password", "S3cret", "-v"], "x --password *** -v"),
        (&["x", "--password=S3cret"], "x --password=***"),
        (
            &["x", "--api-key=S3cret", "--auth-token", "S3 cret"],
            "x --api-key=*** --auth-token ***",
        ),
        (
            &["x", "--property", "trustStorePassword=S3cret"],
            "x --property trustStorePassword=***",
        ),
        (
            &["x", "--otlp", "http://S3cret@otel:4318"],
            "x --otlp http://***@otel:4318",
        ),
        (
            &["x", "--otlp=https://ann:S3cret@otel/v1"],
            "x --otlp=https://ann:***@otel/v1",
        ),
        (&["x", "http://ann:S3/cret@web1/"], "x http://ann:***@web1/"),
        (
            &["x", "http://web1/?token=S3cret&a=b"],
            "x 'http://web1/?token=***&a=b'",
        ),
        (
            &["x", "--header", "Authorization: Bearer S3cret"],
            "x --header 'Authorization: ***'",
        ),
        (
            &["x", "--header", "X-Api-Key: S3cret"],
            "x --header 'X-Api-Key: ***'",
        ),
        (
            &["x", "--statement", "select 'S3cret', 1"],
            r"x --statement 'select '\''***'\'', ***'",
        ),
        (
            &["x", "--statement=show tables like 'S3cret'", "--sql", "do+5"],
            r"x '--statement=show tables like '\''***'\''' --sql do+***",
        ),
        (
            &[
                "load",
                "-D",
                "a=S3cret",
                "-Da=S3cret=5",
                "-D=a=S3 cret",
                "-SrD",
                "a='",
            ],
            "load -D a=*** -Da=*** -D=a=*** -SrD a=***",
        ),
        (
            &["load", "--define", "a=S3cret", "--define=a=S3cret", "--", "x"],
            "load --define a=*** --define=a=*** -- x",
        ),
        (
            &[
                "x",
                "--keep-literals",
                "postgres://a:S3cret@db1/",
                "--token",
                "S3cret",
            ],
            "x --keep-literals postgres://a:***@db1/ --token ***",
        ),
        (
            &["x", "page with 5 rows.html", "--", "--keep-literals"],
            "x 'page with *** rows.html' -- --keep-literals",
        ),
        (
            &["x", "--", "sh", "-c", "redis-cli auth mallory S3cret"],
            "x -- sh ...",
        ),
        (&["x", "--", "./app"], "x -- ./app"),
        (&["x", "--"], "x --"),
    ] {
        assert_eq!(recorded(words), format!("longwire {line}"));
    }
}

#[test]
fn hostile_words_are_one_line_of_text() {
    let words = [
        OsStr::from_bytes(b"a\xff\nb"),
        OsStr::new("\u{1b}[2J\u{202e}'\\"),
        OsStr::new("::error::x\r\n##[group]"),
    ];
    let line = recorded(&words);
    assert_eq!(
        line,
        r"longwire $'a\377\nb' $'\033[2J\342\200\256\'\\' $'::error::x\015\n##[group]'"
    );
    let again: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    assert_eq!(words_of_shell(&line)[1..], again);
}

#[test]
fn long_command_lines_are_cut() {
    let long = "é".repeat(50_000);
    let line = recorded(&[long.as_str(), "--password=S3cret"]);
    assert!(
        line.len() < 5_000 && line.contains("é'... --password=***"),
        "{}",
        line.len()
    );
    let many: Vec<String> = (0..50_000).map(|number| format!("file-{number}.pcap")).collect();
    let line = recorded(&many);
    assert!(
        line.len() < 17_000 && line.contains(" # and 4"),
        "{}",
        &line[16_000..]
    );
    let url = format!("postgres://ann:{}@db1/", "S3cret".repeat(10_000));
    assert_eq!(recorded(&[url]), "longwire postgres://ann:***@db1/");
}

fn hidden(argument: &str) -> String {
    let mut bytes = argument.as_bytes().to_vec();
    mask(&mut bytes);
    String::from_utf8(bytes).expect("text")
}

#[test]
fn passwords_of_all_spellings_of_a_target_are_found() {
    for (argument, shown) in [
        ("postgres://ann:secret@db1/shop", "postgres://ann:******@db1/shop"),
        ("postgres://ann:s/e@c@db1/shop", "postgres://ann:*****@db1/shop"),
        (
            "postgres://ann@db1/shop?password=secret&sslmode=require",
            "postgres://ann@db1/shop?password=******&sslmode=require",
        ),
        (
            "host=db1 password='a b\\'c' user=ann",
            "host=db1 password='******' user=ann",
        ),
        (
            "host=db1 Password=secret user=ann",
            "host=db1 Password=****** user=ann",
        ),
        (
            "jdbc:oracle:thin:ann/secret@//db1:1521/shop",
            "jdbc:oracle:thin:ann/******@//db1:1521/shop",
        ),
        (
            "jdbc:sqlserver://db1;user=ann;password=secret;encrypt=true",
            "jdbc:sqlserver://db1;user=ann;password=******;encrypt=true",
        ),
        ("redis://:secret@cache1", "redis://:******@cache1"),
    ] {
        assert_eq!(hidden(argument), shown);
    }
}

#[test]
fn what_holds_no_password_is_left_as_it_is() {
    for argument in [
        "postgres://ann@db1/shop",
        "http://127.0.0.1:8000/@a?b=c",
        "rtt=40ms",
        "password=",
        "",
        "select 1 where a = 'b@c'",
    ] {
        assert_eq!(hidden(argument), argument);
    }
}

const PASSWORD: &str = "[a-zA-Z0-9!#$%*+,./:;<=>?@^_|~-]{0,8}S3cret[a-zA-Z0-9!#$%*+,./:<=>?@^_|~-]{0,8}";

proptest::proptest! {
    #[test]
    fn no_password_of_a_url_or_flag_is_recorded(password in PASSWORD, before in "[ -~]{0,10}") {
        for words in [
            vec![format!("postgres://ann:{password}@db1/shop")],
            vec![format!("--otlp=http://ann:x{}@db1/shop", password.replace(['/', '?', '#'], "%23"))],
            vec!["--password".to_owned(), password.clone()],
            vec![format!("--password={password}").replace(['&', ';'], "x")],
            vec![before.clone(), "--".to_owned(), "mysql".to_owned(), format!("-p{password}")],
            vec![format!("host=db1 password='{password}'")],
        ] {
            let line = recorded(&words);
            proptest::prop_assert!(!line.contains("S3cret"), "{}", line);
        }
    }

    #[test]
    fn any_words_are_recorded_as_the_shell_reads_them(words in proptest::collection::vec("\\PC{0,12}", 1..4)) {
        let line = recorded(&words);
        proptest::prop_assert!(!line.contains(char::is_control));
        if !line.contains("***") {
            let words: Vec<Vec<u8>> = words.into_iter().map(String::into_bytes).collect();
            proptest::prop_assert_eq!(&words_of_shell(&line)[1..], &words[..]);
        }
    }

    #[test]
    fn any_bytes_are_recorded(word in proptest::collection::vec(proptest::num::u8::ANY, 0..60)) {
        let line = recorded(&[OsStr::new("--"), OsStr::from_bytes(&word)]);
        proptest::prop_assert!(!line.contains(char::is_control));
    }
}
