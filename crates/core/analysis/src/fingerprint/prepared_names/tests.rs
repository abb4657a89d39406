use super::*;

const ONE: ConnectionId = ConnectionId(1);
const TWO: ConnectionId = ConnectionId(2);

fn shape(parameters: u16, columns: Option<u16>) -> StatementShape {
    StatementShape {
        parameters: Some(parameters),
        columns,
    }
}

fn text(text: &str) -> Fingerprint {
    Fingerprint::from(text)
}

#[test]
fn the_same_name_and_shape_on_pooled_connections_is_one_statement() {
    let mut names = PreparedNames::default();
    let first = names.unseen(ONE, b"S_1", shape(1, None));
    assert_eq!(&*first, "(prepared S_1)");
    assert_eq!(names.unseen(ONE, b"S_1", shape(1, Some(3))), first);
    assert_eq!(names.unseen(TWO, b"S_1", shape(1, None)), first);
    assert_eq!(names.unseen(TWO, b"S_1", shape(1, Some(3))), first);
}

#[test]
fn the_same_name_with_another_shape_is_another_statement() {
    let mut names = PreparedNames::default();
    names.unseen(ONE, b"S_1", shape(1, Some(3)));
    let by_columns = names.unseen(TWO, b"S_1", shape(1, Some(2)));
    assert_eq!(&*by_columns, "(prepared S_1, 1 parameter, 2 columns)");
    let by_parameters = names.unseen(TWO, b"S_1", shape(4, None));
    assert_eq!(&*by_parameters, "(prepared S_1, 4 parameters)");
    let nameless = names.unseen(ONE, b"", shape(1, Some(3)));
    assert_eq!(&*nameless, "(prepared without a name, 1 parameter)");
    let other = names.unseen(TWO, b"", shape(1, Some(1)));
    assert_eq!(&*other, "(prepared without a name, 1 parameter, 1 column)");
    let third = names.unseen(TWO, b"", shape(2, Some(1)));
    assert_eq!(&*third, "(prepared without a name, 2 parameters)");
}

#[test]
fn a_text_is_known_from_a_later_preparation_on_the_same_connection() {
    let mut names = PreparedNames::default();
    let unseen = names.unseen(ONE, b"S_1", shape(1, Some(3)));
    assert_eq!(names.recognised(), []);
    names.seen(ONE, b"S_1", shape(1, None), &text("select a"));
    let recognised = RecognisedStatement {
        unseen,
        text: text("select a"),
        source: TextSource::SameConnection,
    };
    assert_eq!(names.recognised(), [recognised]);
}

#[test]
fn another_shape_or_a_second_text_leaves_a_statement_without_one() {
    let mut names = PreparedNames::default();
    names.unseen(ONE, b"by_id", shape(1, Some(3)));
    names.seen(ONE, b"by_id", shape(1, Some(2)), &text("select b"));
    names.seen(ONE, b"by_id", shape(2, None), &text("select c"));
    assert_eq!(names.recognised(), []);
    names.seen(TWO, b"by_id", shape(1, Some(3)), &text("select a"));
    assert_eq!(names.recognised().len(), 1);
    names.seen(TWO, b"by_id", shape(1, Some(3)), &text("select d"));
    assert_eq!(names.recognised(), []);
}

#[test]
fn a_name_that_the_driver_counts_up_says_nothing_on_another_connection() {
    for (name, is_known) in [
        ("S_1", false),
        ("_pg3_0", false),
        ("__asyncpg_stmt_a__", false),
        ("pdo_stmt_00000001", false),
        ("17", false),
        ("a1", false),
        ("", false),
        ("stmtcache_0f3e5a7790b1c2d3e4f5061728394a5b6c7d8e9f00112233", true),
        ("user_by_id", true),
        ("PGBOUNCER_12", true),
    ] {
        let mut names = PreparedNames::default();
        names.unseen(ONE, name.as_bytes(), shape(1, Some(3)));
        names.seen(TWO, name.as_bytes(), shape(1, Some(3)), &text("select a"));
        let sources: Vec<_> = names.recognised().iter().map(|found| found.source).collect();
        let expected: &[TextSource] = if is_known {
            &[TextSource::AnotherConnection]
        } else {
            &[]
        };
        assert_eq!(sources, expected, "{name}");
    }
}

#[test]
fn a_statement_of_several_connections_is_not_known_from_one_of_them() {
    let mut names = PreparedNames::default();
    names.unseen(ONE, b"S_1", shape(1, Some(3)));
    names.unseen(TWO, b"S_1", shape(1, Some(3)));
    names.seen(ONE, b"S_1", shape(1, Some(3)), &text("select a"));
    assert_eq!(names.recognised(), []);
    names.seen(TWO, b"S_1", shape(1, Some(3)), &text("select a"));
    assert_eq!(names.recognised().len(), 1);
}
