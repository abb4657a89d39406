//! Requests as their clients write them.

use super::*;

fn units(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

const HEADERS: &[u8] = b"\x16\0\0\0\x12\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0";

fn text(text: &str, is_max: bool) -> Vec<u8> {
    let text = units(text);
    let length = u16::try_from(text.len()).expect("short");
    let kind: &[u8] = if is_max {
        b"\0\0\xe7\xff\xff\x09\x04\xd0\0\x34"
    } else {
        b"\0\0\xe7\x40\x1f\x09\x04\xd0\0\x34"
    };
    let length = if is_max {
        let chunk = u32::from(length).to_le_bytes();
        [&u64::from(length).to_le_bytes()[..], &chunk].concat()
    } else {
        length.to_le_bytes().to_vec()
    };
    let end: &[u8] = if is_max { b"\0\0\0\0" } else { b"" };
    [kind, &length, &text, end].concat()
}

fn number(value: Option<u32>, is_output: bool) -> Vec<u8> {
    let value = value.map_or_else(|| vec![0], |value| [&[4][..], &value.to_le_bytes()].concat());
    [&[0, u8::from(is_output), 0x26, 4][..], &value].concat()
}

fn calls(request: &[u8]) -> Vec<Call> {
    procedures(request).into_iter().map(|asked| asked.call).collect()
}

fn call(procedure: u16, parameters: &[Vec<u8>]) -> Vec<u8> {
    [
        &b"\xff\xff"[..],
        &procedure.to_le_bytes(),
        b"\0\0",
        &parameters.concat(),
    ]
    .concat()
}

#[test]
fn a_batch_stands_behind_its_headers() {
    let bytes = [HEADERS, &units("select 1")].concat();
    assert_eq!(batch(&bytes), Call::Statement("select 1".to_owned()));
    assert_eq!(batch(&units("select 1")), Call::Statement("select 1".to_owned()));
    let begin = [HEADERS, b"\x05\0\0\0"].concat();
    assert_eq!(
        transaction(&begin),
        Call::Statement("begin transaction".to_owned())
    );
}

#[test]
fn prepared_statements_and_cursors_are_told_apart() {
    let query = "select * from t where a = @P0";
    for is_max in [false, true] {
        let prepare = call(
            13,
            &[
                number(None, true),
                text("@P0 int", is_max),
                text(query, is_max),
                number(Some(7), false),
            ],
        );
        let expected = Call::PrepareAndExecute {
            text: query.to_owned(),
            returns: Returns::Prepared,
            rows: None,
        };
        assert_eq!(calls(&[HEADERS, &prepare].concat()), [expected]);
    }
    let execute = call(12, &[number(Some(3), false), number(Some(8), false)]);
    let expected = Call::Execute {
        of: Handle::Prepared(3),
        returns: Returns::Nothing,
        rows: None,
    };
    assert_eq!(calls(&execute), std::slice::from_ref(&expected));
    assert_eq!(
        calls(&[&execute[..], &[ANOTHER], &execute].concat()),
        [expected.clone(), expected]
    );
    let fetch = call(
        7,
        &[
            number(Some(180), false),
            number(Some(2), false),
            number(Some(0), false),
            number(Some(128), false),
        ],
    );
    let expected = Call::Fetch {
        of: Handle::Cursor(180),
        rows: Some(128),
    };
    assert_eq!(calls(&fetch), [expected]);
}

#[test]
fn a_procedure_is_called_by_its_name() {
    let name = units("dbo.stock");
    let bytes = [&[9, 0][..], &name, b"\0\0", &number(Some(1), false)].concat();
    assert_eq!(
        calls(&bytes),
        [Call::PrepareAndExecute {
            text: "exec dbo.stock".to_owned(),
            returns: Returns::Nothing,
            rows: None,
        }]
    );
    let asked = procedures(&bytes);
    assert_eq!(
        asked.first().and_then(|asked| bytes.get(asked.values.clone())),
        Some(&number(Some(1), false)[..])
    );
    assert_eq!(calls(b"\xff\xff\x0a"), [Call::Other]);
    assert_eq!(calls(b""), [Call::Other]);
}
