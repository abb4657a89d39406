//! `longwire demo`: the story holds, and its figures agree with what the demo does.

use assert_cmd::Command;
use serde_json::Value;
use std::time::Duration;

fn demo(arguments: &[&str]) -> String {
    let output = Command::cargo_bin("longwire")
        .expect("the binary is built")
        .arg("demo")
        .args(arguments)
        .timeout(Duration::from_secs(60))
        .assert()
        .success()
        .get_output()
        .clone();
    String::from_utf8(output.stdout).expect("text is UTF-8")
}

#[test]
fn each_page_waits_once_a_statement_and_three_times_to_get_there() {
    let text = demo(&["--json"]);
    let records: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect();
    let of_type = |name: &'static str| records.iter().filter(move |record| record["type"] == name);
    let turns = |name: &str| -> Vec<u64> {
        of_type("operation")
            .filter(|operation| operation["name"] == name)
            .map(|operation| operation["turns"].as_u64().expect("a number"))
            .collect()
    };
    let statements: u64 = of_type("statement")
        .map(|statement| statement["calls"].as_u64().expect("a number"))
        .sum();
    let (chatty, joined) = (turns("page, 1 + N look-ups"), turns("page, one join"));
    assert_eq!((chatty.len(), joined.len()), (40, 40));
    // Handshake and login cost one turn each, each statement one.
    assert_eq!(chatty.iter().chain(&joined).sum::<u64>(), statements + 2 * 80);
    assert!(joined.iter().all(|turns| *turns == 3), "{joined:?}");
    for prediction in of_type("prediction") {
        let number = |key: &str| prediction[key].as_u64().expect("a number");
        let turns = if prediction["operation_name"] == "page, one join" {
            joined[0]
        } else {
            chatty[0]
        };
        // The page cannot be faster than its turns, and little else grows with distance on a link without limit.
        assert!(number("duration_ns") >= turns * number("rtt_ns"), "{prediction}");
        assert!(number("low_ns") <= number("duration_ns") && number("duration_ns") <= number("high_ns"));
    }
    assert_eq!(of_type("prediction").count(), 8);
}

#[test]
fn the_story_names_the_finding_and_its_remedy_again_and_again() {
    for _ in 0..2 {
        let text = demo(&[]);
        assert!(text.contains("N+1"), "{text}");
        assert!(text.contains("select name from authors where id = ?"), "{text}");
        assert!(text.contains("times faster"), "{text}");
        assert!(text.lines().count() <= 40, "the story fits one screen: {text}");
    }
}
