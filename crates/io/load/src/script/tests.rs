//! Tests of the language. Values are compared with pgbench itself in tests/pgbench.rs.

use super::*;

/// Everything sent by `runs` runs, with `...` for a sleep.
fn sent(scripts: &Scripts, seed: u64, runs: usize) -> Vec<String> {
    let mut values = scripts.values(0, 1, seed);
    let mut sent = Vec::new();
    for _ in 0..runs {
        let script = values.choose(scripts).unwrap();
        let mut at = 0;
        loop {
            match values.next(script, &mut at).unwrap() {
                Action::Statement(statement) => {
                    let mut text = Vec::new();
                    values.write(statement, &mut text);
                    sent.push(String::from_utf8(text).unwrap());
                }
                Action::Sleep(pause) => sent.push(format!("sleep {pause:?}")),
                Action::StartPipeline | Action::SyncPipeline | Action::EndPipeline => {
                    sent.push("pipeline".to_owned())
                }
                Action::End => break,
            }
        }
    }
    sent
}

fn parse_script(text: &str) -> Scripts {
    let mut scripts = Scripts::parse([text], Quoting::Standard).unwrap();
    scripts.on_shell(shell);
    scripts
}

fn shell(line: &str, _wanted: bool) -> Result<String, String> {
    match line {
        "expr 20 + 22" => Ok("42\n".to_owned()),
        "test 20 = 20" => Ok(String::new()),
        "echo none" => Ok("none\n".to_owned()),
        other => Err(other.to_owned()),
    }
}

fn error(text: &str) -> String {
    Scripts::parse([text], Quoting::Standard).unwrap_err().to_string()
}

fn fault(text: &str) -> Fault {
    let scripts = parse_script(text);
    let mut values = scripts.values(0, 1, 1);
    let script = values.choose(&scripts).unwrap();
    let mut at = 0;
    loop {
        match values.next(script, &mut at) {
            Ok(Action::End) => panic!("{text} has no fault"),
            Ok(_) => {}
            Err(error) => return error.fault,
        }
    }
}

#[test]
fn statements_end_at_their_semicolons() {
    let text = "-- a comment; with a semicolon\nselect 1; select ';', \";\",\n  2 -- none;\n;\n;select (1; 2);\n\
                select $$;$$, $a$ ; $$ $a$, E'\\';' /* ; /* ; */ ; */;\nselect 3\\; select 4 ;select 5";
    assert_eq!(
        sent(&parse_script(text), 1, 1),
        [
            "select 1",
            "select ';', \";\",\n  2 -- none;",
            "select (1; 2)",
            "select $$;$$, $a$ ; $$ $a$, E'\\';' /* ; /* ; */ ; */",
            "select 3; select 4",
            "select 5"
        ]
    );
    let mysql = Scripts::parse(["select '\\';', `;`; # ; \nselect 2"], Quoting::Backslash).unwrap();
    assert_eq!(sent(&mysql, 1, 1), ["select '\\';', `;`", "select 2"]);
    let listed = Scripts::parse(
        ["\\set a 6 * 7", "select :a", "\\set a :a - 1\nselect :a;"],
        Quoting::Standard,
    );
    assert_eq!(sent(&listed.unwrap(), 1, 1), ["select 42", "select 41"]);
}

#[test]
fn variables_stand_for_their_values_and_for_themselves_without_one() {
    let text = "\\set id 7\n\\set half 0.5\n\\set is :half > 1 or null\n\
                select ':id', '12:30', 1::int, :other, :id::text, a[1:id], :half, :is, :=id";
    assert_eq!(
        sent(&parse_script(text), 1, 1),
        ["select '7', '12:30', 1::int, :other, 7::text, a[17], 0.5, NULL, :=id"]
    );
}

#[test]
fn conditions_choose_what_is_run() {
    let text = "\\set n :n + 1\n\\if :n = 1\nselect 'one';\n\\elif :n = 2\n\\if true\nselect 'two';\n\\endif\n\\elif :n = 3\n\
                \\else\nselect 'more';\n\\sleep :n us\n\\endif\nselect 'end'";
    let mut scripts = Scripts::new(Quoting::Standard);
    scripts.define("n", "0").unwrap();
    scripts.add("a.sql", text, 1).unwrap();
    scripts.check(QueryMode::Simple).unwrap();
    let (one, end) = ("select 'one'", "select 'end'");
    assert_eq!(
        sent(&scripts, 1, 4),
        [
            one,
            end,
            "select 'two'",
            end,
            end,
            "select 'more'",
            "sleep 4µs",
            end
        ]
    );
}

#[test]
fn results_become_variables() {
    let scripts = parse_script("select 1 as a, 2 as b \\gset p_\nselect :p_a, :p_b, :p_c, :p_none is null");
    let script = &scripts.list()[0];
    let mut values = scripts.values(0, 1, 1);
    let mut at = 0;
    let Ok(Action::Statement(first)) = values.next(script, &mut at) else {
        panic!("a statement comes first");
    };
    let keep = first.keep().unwrap();
    assert_eq!(
        *keep,
        Keep::One {
            prefix: "p_".to_owned()
        }
    );
    values.keep(keep, b"a", Some(b"1"));
    values.keep(keep, b"b", Some(b"it's"));
    values.keep(keep, b"not_used", Some(b"it's"));
    values.keep(keep, b"none", None);
    let Ok(Action::Statement(second)) = values.next(script, &mut at) else {
        panic!("and another one");
    };
    let mut text = Vec::new();
    values.write(second, &mut text);
    assert_eq!(text, b"select 1, it's, :p_c, NULL is null");
    assert_eq!(
        second.prepared_text(Placeholder::Dollar),
        "select $1, $2, $3, $4 is null"
    );
    assert_eq!(
        second.prepared_text(Placeholder::Question),
        "select ?, ?, ?, ? is null"
    );
    let given: Vec<bool> = second
        .parameters()
        .map(|variable| values.parameter(variable, &mut Vec::new()))
        .collect();
    assert_eq!(given, [true, true, false, false]);
}

#[test]
fn the_same_seed_gives_the_same_values_and_other_clients_have_others() {
    let scripts = parse_script("\\set id random(1, 1000000)\nselect :id, :client_id");
    assert_eq!(sent(&scripts, 7, 100), sent(&scripts, 7, 100));
    assert_ne!(sent(&scripts, 7, 100), sent(&scripts, 8, 100));
    let draw = |client| {
        let mut values = scripts.values(client, 2, 7);
        let mut at = 0;
        values.next(&scripts.list()[0], &mut at).unwrap();
        let mut text = Vec::new();
        assert!(values.parameter(scripts.names.find("id").unwrap(), &mut text));
        text
    };
    assert_ne!(draw(0), draw(1));
}

#[test]
fn scripts_are_chosen_by_their_weights() {
    let mut scripts = Scripts::new(Quoting::Standard);
    for (name, weight) in [("a", 1), ("b", 0), ("c", 3)] {
        scripts.add(name, &format!("select '{name}'"), weight).unwrap();
    }
    let chosen = sent(&scripts, 1, 4000);
    let count = |text: &str| chosen.iter().filter(|chosen| *chosen == text).count();
    assert!((900..=1100).contains(&count("select 'a'")));
    assert_eq!(count("select 'b'"), 0);
}

#[test]
fn random_functions_have_their_distributions() {
    let scripts = parse_script(
        "\\set a random(-2, 2)\n\\set b random_exponential(1, 100, 5)\n\\set c random_gaussian(1, 100, 3)\n\
         \\set d random_zipfian(1, 100, 1.5)\nselect :a, :b, :c, :d",
    );
    let drawn: Vec<Vec<i64>> = sent(&scripts, 1, 20_000)
        .iter()
        .map(|text| {
            let numbers = text.trim_start_matches("select ").split(", ");
            numbers.map(|number| number.parse().unwrap()).collect()
        })
        .collect();
    let share = |column: usize, wanted: std::ops::RangeInclusive<i64>| {
        let count = drawn.iter().filter(|row| wanted.contains(&row[column])).count();
        count as f64 / drawn.len() as f64
    };
    for value in -2..=2 {
        assert!((share(0, value..=value) - 0.2).abs() < 0.02);
    }
    for column in 1..4 {
        assert!(share(column, 1..=100) == 1.0);
    }
    // (1 - exp(-5 * 0.2)) / (1 - exp(-5)) for the first fifth.
    assert!((share(1, 1..=20) - 0.6364).abs() < 0.02);
    // The manual: 67 % of values are in the middle 1/3 for parameter 3.
    assert!((share(2, 34..=67) - 0.6893).abs() < 0.02);
    // 1 / (sum of k^-1.5 for k to 100) = 0.4144.
    assert!((share(3, 1..=1) - 0.4144).abs() < 0.02);
}

#[test]
fn what_is_wrong_is_told_with_its_line_and_the_word() {
    for (text, told) in [
        (" \n-- nothing\n", "script:1: the script has no command"),
        (
            "select 1;\n\\slep 10",
            "script:2: \\slep is not a command: the commands are",
        ),
        ("\\set a", "script:1: \\set lacks an expression"),
        ("\\set 1a 1", "script:1: \"1a\" is not a variable name"),
        (
            "select 1;\n\n\\set a \\\n  1 + x(2)",
            "script:3: there is no function \"x\"",
        ),
        ("\\set a 1 +", "script:1: the expression ends"),
        ("\\set a (1", "script:1: the expression ends"),
        ("\\set a 1 1", "script:1: \"1\" is not allowed there"),
        ("\\set a 1 < 2 < 3", "script:1: \"<\" is not allowed there"),
        (
            "\\set a 99999999999999999999",
            "script:1: 99999999999999999999 is beyond 64 bits",
        ),
        (
            "\\set a random(1)",
            "script:1: random() takes two arguments, not 1",
        ),
        ("\\set a :b", "script:1: variable \"b\" has no value"),
        ("\\if true\nselect 1;", "script:1: \\if has no \\endif"),
        ("\\if 1\n\\else\n\\else\n\\endif", "script:3: \\else after \\else"),
        ("select 1;\n\\endif", "script:2: \\endif has no \\if"),
        ("\\sleep 10 days", "script:1: \\sleep cannot wait for \"10 days\""),
        ("\\set a 1\n\\gset", "script:2: \\gset must follow a statement"),
        ("\\gset a b", "script:1: \\gset does not take \"b\""),
        (
            "select 1;\nselect 'it;\n\n",
            "script:2: the text that begins with ' does not end",
        ),
        ("\\endpipeline", "script:1: \\endpipeline does not belong there"),
        (
            "\\startpipeline\nselect 1;\n\\endpipeline",
            "script:1: there are no pipelines with",
        ),
    ] {
        let error = error(text);
        assert!(error.starts_with(told), "{text}: {error}");
    }
    assert!(error(&format!("\\set a {}1\nselect 1", "-".repeat(5000))).contains("too many nested brackets"));
    assert!(error(&format!("\\set a 1{}\nselect 1", " + 1".repeat(100_000))).contains("is too long"));
    let long = format!(
        "\\set a {}1{}\nselect :a",
        "(".repeat(90),
        " - 1)".repeat(90) + &" + 1".repeat(100)
    );
    assert_eq!(sent(&parse_script(&long), 1, 1), ["select 11"]);
    for (text, wanted) in [
        ("\\set a 1 / 0", Fault::DivisionByZero),
        ("\\set a 9223372036854775807 + 1", Fault::Overflow("+")),
        ("\\set a random(2, 1)", Fault::EmptyRange),
        ("\\set a random(-9223372036854775808, 0)", Fault::LargeRange),
        (
            "\\set a 1 + true",
            Fault::Kind {
                from: "boolean",
                to: "int",
            },
        ),
        (
            "\\set a random_gaussian(1, 2, 1.9)",
            Fault::Parameter {
                function: "random_gaussian",
                wanted: "of at least 2",
            },
        ),
    ] {
        assert_eq!(fault(text), wanted, "{text}");
    }
}

#[test]
fn what_cannot_be_sent_apart_is_told_before_the_run() {
    let scripts = parse_script("\\set id 1\nselect '12:30', ':id'");
    let told = scripts.check(QueryMode::Prepared).unwrap_err();
    assert_eq!((told.line, told.fault), (2, Fault::Quoted("id".to_owned())));
    let combined = parse_script("select 1\\; select 2");
    assert_eq!(
        combined.check(QueryMode::Extended).unwrap_err().fault,
        Fault::Combined
    );
}

#[test]
fn programs_give_whole_numbers() {
    let scripts = parse_script("\\set n 20\n\\setshell a expr :n + 22\n\\shell test :n = 20\nselect :a");
    assert_eq!(sent(&scripts, 1, 1), ["select 42"]);
    assert!(matches!(fault("\\setshell a echo none"), Fault::Shell { .. }));
    assert!(matches!(fault("\\shell false"), Fault::Shell { .. }));
}

#[test]
fn what_the_manual_shows_can_be_read() {
    let mut scripts = Scripts::new(Quoting::Standard);
    scripts.define("x", "0").unwrap();
    scripts.define("y", "2").unwrap();
    scripts.define("variable", "2").unwrap();
    for text in [
        "\\set ntellers 10 * :scale\n\\set aid (1021 * random(1, 100000 * :scale)) % \\\n           (100000 * :scale) + 1\n\
         \\set divx CASE WHEN :x <> 0 THEN :y/:x ELSE NULL END",
        "\\set aid 1\n\\set delta 2\n-- update pgbench_accounts and put abalance into the variable\nUPDATE pgbench_accounts\n  \
         SET abalance = abalance + :delta\n  WHERE aid = :aid\n  RETURNING abalance \\gset\n-- compound of two queries\n\
         SELECT 1 \\;\nSELECT 2 AS two, 3 AS three \\gset p_\nSELECT 4 AS four \\; SELECT 5 AS five \\aset",
        "\\sleep 10 ms\n\\setshell variable_to_be_assigned command literal_argument :variable ::literal_starting_with_colon\n\
         \\shell command literal_argument :variable ::literal_starting_with_colon",
        "\\set size 1000000\n\\set r random_zipfian(1, :size, 1.07)\n\\set k 1 + permute(:r, :size)\nselect :k",
        "\\set r random_zipfian(1, 100000000, 1.07)\n\\set k abs(hash(:r)) % 1000000\nselect :k;",
        "\\set k1 1 + permute(random(1, 10), 10, :default_seed + 123)\n\\set k2 1 + permute(random(1, 10), 10, :default_seed + 321)",
    ] {
        scripts.add("manual", text, 1).unwrap();
    }
    scripts.check(QueryMode::Simple).unwrap();
    for builtin in builtin::BUILTINS {
        scripts.add(builtin.title, builtin.text, 1).unwrap();
        assert_eq!(builtin::Builtin::named(&builtin.name[..2]), Some(builtin));
    }
    let Err(error) = scripts.check(QueryMode::Prepared) else {
        panic!("two queries in one cannot be prepared");
    };
    assert_eq!(error.fault, Fault::Combined);
}

/// Arbitrary text never panics or loops.
#[test]
fn any_text_is_read_or_refused() {
    let pieces = [
        "\\",
        "set ",
        "if ",
        "elif",
        "else",
        "endif",
        "gset ",
        "sleep ",
        "\n",
        ";",
        ":",
        "::",
        "a",
        "é",
        "1",
        ".5e",
        "e'",
        "'",
        "\"",
        "`",
        "$$",
        "$a$",
        "--",
        "/*",
        "*/",
        "#",
        "(",
        ")",
        ",",
        "+",
        "-",
        "<",
        "=",
        "~",
        " ",
        "case when ",
        " then ",
        " end",
        "not ",
        "is ",
        "null",
        "random(1,2)",
        "hash(",
        "9223372036854775808",
        "\\;",
        "\r\n",
        "\\\n",
        "\u{0}",
        "9e999",
    ];
    let mut random = random::Random::new(1);
    for _ in 0..20_000 {
        let count = random.between(1, 14);
        let text: String = (0..count)
            .map(|_| pieces[random.up_to(pieces.len() as u64 - 1) as usize])
            .collect();
        for quoting in [Quoting::Standard, Quoting::Backslash] {
            let Ok(scripts) = Scripts::parse([text.as_str()], quoting) else {
                continue;
            };
            let mut values = scripts.values(0, 1, 1);
            let script = &scripts.list()[0];
            let mut at = 0;
            while let Ok(action) = values.next(script, &mut at) {
                if let Action::End = action {
                    break;
                }
                if let Action::Statement(statement) = action {
                    values.write(statement, &mut Vec::new());
                    assert!(!statement.prepared_text(Placeholder::Dollar).is_empty());
                }
            }
        }
    }
}
