use super::*;

/// The statements of `runs` operations.
fn statements(script: &Script, seed: u64, runs: usize) -> Vec<String> {
    let mut values = Values::new(script, seed);
    let mut written = Vec::new();
    for _ in 0..runs {
        for step in script.steps() {
            match step {
                Step::Set { variable, value } => values.set(*variable, value).unwrap(),
                Step::Statement(parts) => {
                    let mut text = Vec::new();
                    values.write(parts, &mut text);
                    written.push(String::from_utf8(text).unwrap());
                }
            }
        }
    }
    written
}

#[test]
fn statements_end_with_a_semicolon_at_the_end_of_a_line() {
    let script = Script::parse("-- a comment\nselect 1;\n\nselect ';',\n  2;\nselect 3; select 4").unwrap();
    assert_eq!(
        statements(&script, 1, 1),
        ["select 1", "select ';',\n  2", "select 3; select 4"]
    );
    let listed = Script::of(["\\set a 6 * 7", "select :a", "\\set a :a - 1\nselect :a;"]).unwrap();
    assert_eq!(statements(&listed, 1, 1), ["select 42", "select 41"]);
}

#[test]
fn variables_stand_where_nothing_is_quoted() {
    let script = Script::parse(
        "\\set scale 50\n\\set id random(1, 100000 * :scale)\n\\set none -(7 % 4) + 10 / 3\n\
         select ':id', \":id\", '1'::int, :none, :other, ':none' from t where id = :none;",
    )
    .unwrap();
    assert_eq!(
        statements(&script, 1, 1),
        ["select ':id', \":id\", '1'::int, 0, :other, ':none' from t where id = 0"]
    );
}

#[test]
fn random_values_are_a_function_of_the_seed_and_fill_their_range() {
    let script = Script::parse("\\set id random(-2, 2)\nselect :id").unwrap();
    let drawn = statements(&script, 7, 1000);
    assert_eq!(drawn, statements(&script, 7, 1000));
    assert_ne!(drawn, statements(&script, 8, 1000));
    for value in -2..=2 {
        let count = drawn
            .iter()
            .filter(|text| **text == format!("select {value}"))
            .count();
        assert!((150..=250).contains(&count), "{value}: {count} of 1000");
    }
    let whole = Script::parse(&format!(
        "\\set id random(-{}-1, {})\nselect :id",
        i64::MAX,
        i64::MAX
    ))
    .unwrap();
    assert_eq!(statements(&whole, 1, 3).len(), 3);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let error = |text: &str| Script::parse(text).unwrap_err().to_string();
    assert_eq!(error(" \n-- nothing\n"), "the script has no statement");
    assert!(error("select 1;\n\\sleep 10 ms").starts_with("line 2 of the script: only \\set"));
    assert!(error("\\set a").starts_with("line 1 of the script: only \\set"));
    assert!(error("\\setting a 1").starts_with("line 1 of the script: only \\set"));
    for wrong in ["1 +", "random(1)", "(1", "1 1", "", "1.5", "99999999999999999999"] {
        let told = error(&format!("select 1;\n\\set a {wrong} \nselect 2"));
        assert!(told.starts_with("line 2 of the script: "), "{wrong}: {told}");
    }
    assert!(error("\\set a :b\nselect 1").contains("before a \\set gave it a value"));
    assert!(error(&format!("\\set a {}1\nselect 1", "-".repeat(5000))).contains("too many brackets"));

    for (wrong, fault) in [
        ("1 / 0", Fault::DivisionByZero),
        ("9223372036854775807 + 1", Fault::Overflow),
        ("random(2, 1)", Fault::EmptyRange),
    ] {
        let script = Script::parse(&format!("\\set a {wrong}\nselect :a")).unwrap();
        let Step::Set { variable, value } = &script.steps()[0] else {
            panic!("a \\set comes first");
        };
        let mut values = Values::new(&script, 1);
        assert_eq!(values.set(*variable, value), Err(ScriptError::Value(fault)));
    }
}
