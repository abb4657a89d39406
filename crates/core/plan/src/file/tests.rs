use super::*;
use crate::placement::{Placement, link_of, placements, possible};
use model::Direction;

const ESTATE: &str = r#"currency = "EUR"
places = ["here", "there"]

[[link]]
between = ["here", "there"]
link = "rtt=10ms rate=100mbit/10mbit"
price = 0.02

[[service]]
name = "web"
place = "here"
hosts = ["10.0.0.1,10.0.1.1"]
month = { here = 30, there = 20 }

[[service]]
name = "database"
place = "here"
hosts = ["10.0.0.2"]
ports = [5432]
may = ["here"]

[[budget]]
operation = "GET *"
median = "50ms"
p95 = "90ms"
"#;

fn no_file(name: &str) -> Result<String, String> {
    Err(format!("there is no {name}"))
}

fn wrong(from: &str, to: &str) -> String {
    let text = ESTATE.replacen(from, to, 1);
    assert_ne!(text, ESTATE, "{from}");
    Estate::parse(Path::new("estate.toml"), &text, &no_file)
        .expect_err(to)
        .to_string()
}

#[test]
fn an_estate_is_read() {
    let estate = Estate::parse(Path::new("estate.toml"), ESTATE, &no_file).expect("it is one");
    assert_eq!(possible(&estate), 2);
    assert_eq!(estate.budgets.len(), 2);
    assert_eq!(estate.price_at_least(), 20.0);
    let back = estate.between([1, 0]).expect("there is a link").0;
    assert_eq!(
        back.rate[Direction::ClientToServer].map(|rate| rate.as_bits_per_second()),
        Some(10_000_000)
    );
    let all = placements(&estate, 10);
    assert_eq!(all, [Placement(vec![0, 0]), Placement(vec![1, 0])]);
    assert_eq!(link_of(&estate, [0, 1], &all[0]), None);
    assert_eq!(link_of(&estate, [0, 1], &all[1]), Some(back));
}

/// Not all placements of two moves fit, so only those of one move remain.
#[test]
fn a_maximum_of_placements_keeps_whole_numbers_of_moves() {
    let estate = Estate::parse(
        Path::new("estate.toml"),
        &ESTATE.replace("may = [\"here\"]\n", ""),
        &no_file,
    )
    .expect("it is one");
    assert_eq!(possible(&estate), 4);
    assert_eq!(placements(&estate, 3).len(), 3);
    assert_eq!(placements(&estate, 4).len(), 4);
    assert_eq!(placements(&estate, 2).len(), 1);
}

#[test]
fn mistakes_have_their_place_and_what_to_write() {
    let cases = [
        (
            "place = \"here\"",
            "place = \"her\"",
            "estate.toml:11:9: there is no place 'her': use one of here, there",
        ),
        ("10.0.0.2", "db1", "estate.toml:18:10: 'db1' is no address"),
        ("rtt=10ms", "rtt=10", "estate.toml:6:8: "),
        (
            "price = 0.02",
            "price = -1",
            "estate.toml:7:9: -1 is out of range",
        ),
        ("p95 = \"90ms\"", "p95 = \"90\"", "estate.toml:25:7: "),
        (
            "name = \"database\"",
            "name = \"web\"",
            "estate.toml:16:8: service 'web' is listed twice",
        ),
        (
            "price = 0.02",
            "prize = 0.02",
            "estate.toml:7:1: unknown field `prize`",
        ),
        (
            "there = 20",
            "ther = 20",
            "estate.toml:13:29: there is no place 'ther'",
        ),
    ];
    for (from, to, said) in cases {
        let fault = wrong(from, to);
        assert!(fault.starts_with(said), "{fault}\n{said}");
    }
    let fault = wrong(
        "[[link]]\nbetween = [\"here\", \"there\"]\nlink = \"rtt=10ms rate=100mbit/10mbit\"\nprice = 0.02\n",
        "",
    );
    assert!(fault.contains("no link joins here and there"), "{fault}");
}

#[test]
fn both_link_and_measured_or_neither_are_mistakes() {
    let link = "link = \"rtt=10ms rate=100mbit/10mbit\"";
    let both = wrong(link, &format!("{link}\nmeasured = \"way.json\""));
    assert!(
        both.starts_with("estate.toml:7:12: a link is either written or measured"),
        "{both}"
    );
    let neither = wrong(link, "");
    assert!(
        neither.starts_with("estate.toml:4:1: this link has no distance"),
        "{neither}"
    );
    let missing = wrong(link, "measured = \"way.json\"");
    assert_eq!(missing, "estate.toml:6:12: way.json: there is no way.json");
}
