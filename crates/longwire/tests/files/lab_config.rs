//! Errors in a lab's file are reported with line, column and remedy; a correct file becomes a plan.

use lab::config::{LabFile, ServiceKind, WorkloadKind};
use lab::plan::LabPlan;
use std::path::Path;

const GOOD: &str = r#"
hosts = ["client", "web", "database"]

[links.client-web]
between = ["client", "web"]

[links.web-database]
between = ["web", "database"]
rtt = "1ms"

[services.database]
host = "database"
kind = "mariadb"
settings.max_connections = 50
setup = ["true", ["echo", "two words"]]

[workload]
kind = "http"
host = "client"
url = "http://web/"

[[sweep]]
links.client-web.rtt = ["0ms", "10ms"]
workload.clients = [1, 16, 64]

[[sweep]]
links.web-database.rtt = ["0ms", "1ms", "40ms"]
"#;

fn parse(text: &str) -> Result<(LabFile, LabPlan), String> {
    let file = LabFile::parse(Path::new("lab.toml"), text.to_owned()).map_err(|error| error.to_string())?;
    let plan = LabPlan::new(&file).map_err(|error| error.to_string())?;
    Ok((file, plan))
}

fn broken(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from} is not in the good lab");
    match parse(&GOOD.replacen(from, to, 1)) {
        Ok(_) => panic!("a lab with {to} was taken"),
        Err(error) => error,
    }
}

#[test]
fn a_lab_is_read() {
    let (file, _) = parse(GOOD).expect("a lab");
    let lab = &file.lab;
    assert_eq!((lab.name.as_str(), lab.seed), ("lab", 1));
    assert_eq!(lab.hosts, ["client", "web", "database"]);
    assert_eq!(lab.links[1].link.to_string(), "rtt=1ms");
    assert_eq!(lab.services[0].kind, ServiceKind::Mariadb);
    let setup: Vec<&[String]> = lab.services[0]
        .setup
        .iter()
        .map(|command| command.words.as_slice())
        .collect();
    assert_eq!(setup, [["sh", "-c", "true"].as_slice(), &["echo", "two words"]]);
    assert!(
        matches!(&lab.workload.kind, WorkloadKind::Http { url, keep_alive: false } if url == "http://web/")
    );
    assert_eq!(lab.measure.amount.operations, Some(100));
}

#[test]
fn sweeps_become_points_each_once() {
    let (_, plan) = parse(GOOD).expect("a lab");
    assert_eq!(
        plan.settings,
        [
            "links.client-web.rtt",
            "workload.clients",
            "links.web-database.rtt"
        ]
    );
    let values: Vec<String> = plan.points.iter().map(|point| point.values.join(" ")).collect();
    assert_eq!(
        values,
        [
            "0ms 1 1ms",
            "0ms 16 1ms",
            "0ms 64 1ms",
            "10ms 1 1ms",
            "10ms 16 1ms",
            "10ms 64 1ms",
            "0ms 1 0ms",
            "0ms 1 40ms"
        ]
    );
    let clients: Vec<u32> = plan
        .baselines
        .iter()
        .map(|baseline| baseline.lab.workload.clients)
        .collect();
    assert_eq!(clients, [1, 16, 64]);
    assert_eq!(plan.stages.len(), 1);
    let links = plan.baselines.iter().flat_map(|baseline| &baseline.lab.links);
    assert!(links.into_iter().all(|link| link.link.to_string() == "rtt=0ns"));
}

#[test]
fn services_that_differ_are_stages_of_their_own() {
    let text = GOOD.replace(
        "workload.clients = [1",
        "services.database.settings.max_connections = [1",
    );
    let (_, plan) = parse(&text).expect("a lab");
    assert_eq!((plan.stages.len(), plan.baselines.len()), (4, 4));
    assert_eq!(plan.points[0].values, ["0ms", "1", "1ms"]);
    assert_eq!(plan.points[6].values, ["0ms", "50", "0ms"]);
}

#[test]
fn all_links_can_be_swept_at_once() {
    let text = GOOD.replace("links.client-web.rtt", "links.all.rtt");
    let (_, plan) = parse(&text).expect("a lab");
    let links = plan.points[3].lab.links.iter().map(|link| link.link.to_string());
    assert_eq!(links.collect::<Vec<_>>(), ["rtt=10ms", "rtt=10ms"]);
}

fn with_variants(variants: &str) -> String {
    let second = "[[sweep]]\nlinks.web-database.rtt";
    GOOD.replace(
        second,
        &format!("{variants}\n[[sweep]]\nvariant = [\"off\", \"on\"]\nlinks.web-database.rtt"),
    )
}

const VARIANTS: &str = r#"
[variants]
off = { }
on = { against = "off", predict = false, workload.url = "http://localhost:8080/", workload.keep_alive = true }
"#;

#[test]
fn a_variant_is_several_settings_at_once_and_is_compared_with_another() {
    let (_, plan) = parse(&with_variants(VARIANTS)).expect("a lab");
    let values: Vec<String> = plan.points.iter().map(|point| point.values.join(" ")).collect();
    assert_eq!(
        &values[6..],
        [
            "0ms 1 off 0ms",
            "0ms 1 off 40ms",
            "0ms 1 on 0ms",
            "0ms 1 on 1ms",
            "0ms 1 on 40ms"
        ],
        "the first of `off` was already there"
    );
    let on = &plan.points[10];
    assert!(
        matches!(&on.lab.workload.kind, WorkloadKind::Http { url, keep_alive: true } if url == "http://localhost:8080/")
    );
    assert_eq!((on.against, on.baseline), (Some(7), None));
    assert_eq!(plan.points[7].against, None);
    assert_eq!((plan.stages.len(), plan.baselines.len()), (1, 3));
}

#[test]
fn part_of_a_lab_can_be_run() {
    let plan = || parse(&with_variants(VARIANTS)).expect("a lab").1;
    let only = |wanted: &[&str]| {
        let wanted: Vec<String> = wanted.iter().map(|&text| text.to_owned()).collect();
        plan().only(&wanted).map_err(|error| error.to_string())
    };
    assert_eq!(only(&[]).expect("all"), plan());
    let some = only(&["variant=off", "variant=on", "links.web-database.rtt=40ms"]).expect("two");
    assert_eq!((some.points.len(), some.points[1].against), (2, Some(0)));
    assert_eq!(only(&["variant=on"]).expect("three").points[0].against, None);
    for (wanted, told) in [
        (
            &["variant"][..],
            "--where variant: write a swept setting and its value, SETTING=VALUE",
        ),
        (
            &["varian=on"],
            "--where: no sweep has the setting varian: did you mean 'variant'?",
        ),
        (
            &["variant=no"],
            "--where: no point has variant=no: did you mean 'on'?",
        ),
        (
            &["variant=on", "workload.clients=64"],
            "--where: no point of the sweep has all of that",
        ),
    ] {
        let error = only(wanted).expect_err(told);
        assert!(error.starts_with(told), "{error}");
    }
}

#[test]
fn what_is_wrong_with_a_variant_is_told_at_its_place() {
    for (from, to, told) in [
        (
            "keep_alive = true",
            "keep = true",
            "lab.toml:29:99: there is no setting workload.keep to vary: known are ",
        ),
        (
            "keep_alive = true",
            "keep_alive = 1",
            "keep_alive is \"1\": write true or false",
        ),
        (
            "against = \"off\"",
            "against = \"of\"",
            "lab.toml:29:18: there is no variant 'of': did you mean 'off'?",
        ),
        (
            "predict = false",
            "predict = \"no\"",
            "predict is \"no\": write true or false",
        ),
        (
            "off = { }",
            "off = 1",
            "'off' is a whole number: write it as a table, [variants.\"off\"]",
        ),
        ("off = { }", "", "there is no variant 'off': known are on"),
    ] {
        let error = parse(&with_variants(&VARIANTS.replace(from, to))).expect_err(to);
        assert!(error.starts_with("lab.toml:") && error.contains(told), "{error}");
    }
    let unlisted = GOOD.replace(
        "[[sweep]]\nlinks.client",
        &format!("{VARIANTS}[[sweep]]\nlinks.client"),
    );
    let error = parse(&unlisted).expect_err("no sweep lists them");
    assert!(
        error.contains("no sweep lists the variants: add variant = [\"off\"] to a [[sweep]]"),
        "{error}"
    );
}

#[test]
fn points_may_be_measured_more_often_and_longer_than_others() {
    let text = GOOD.replace(
        "workload.clients = [1, 16, 64]",
        "measure.repeat = [3]\nmeasure.settle = [5]",
    );
    let text = text.replace(
        "[[sweep]]\nlinks.client",
        "[measure]\nbaseline_operations = 7\n\n[[sweep]]\nlinks.client",
    );
    let (_, plan) = parse(&text).expect("a lab");
    let measure = &plan.points[0].lab.measure;
    assert_eq!(
        (measure.repeat, measure.settle, measure.amount.operations),
        (3, 5, Some(100))
    );
    let last = plan.points.last().expect("points");
    assert_eq!((last.lab.measure.repeat, last.lab.measure.settle), (1, 0));
    assert_eq!(plan.baselines.len(), 1);
    assert_eq!(plan.baselines[0].lab.measure.amount.operations, Some(7));
}

#[test]
fn points_are_bounded_over_all_sweeps() {
    let numbers = |from: usize| {
        (from..from + 6000)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let sweep = |from| format!("\n[[sweep]]\nworkload.clients = [{}]\n", numbers(from));
    let text = &GOOD[..GOOD.find("[[sweep]]").expect("sweeps")];
    let error = parse(&format!("{text}{}{}", sweep(1), sweep(6001))).expect_err("12,000 points");
    assert!(error.to_string().contains("more than 10000 points"), "{error}");
}

#[test]
fn without_a_sweep_there_is_one_point() {
    let text = &GOOD[..GOOD.find("[[sweep]]").expect("sweeps")];
    let (_, plan) = parse(text).expect("a lab");
    assert_eq!(plan.points.len(), 1);
}

#[test]
fn identities_tell_points_apart_wherever_they_stand_in_the_file() {
    let (_, plan) = parse(GOOD).expect("a lab");
    let (_, moved) = parse(&format!("# a comment\n{GOOD}")).expect("a lab");
    assert_eq!(plan.points[0].lab.identity(), moved.points[0].lab.identity());
    assert_ne!(plan.points[0].lab.identity(), plan.points[1].lab.identity());
    let (_, other) = parse(&GOOD.replace("= 50", "= 51")).expect("a lab");
    assert_ne!(plan.points[0].lab.identity(), other.points[0].lab.identity());
}

const ERRORS: &[(&str, &str, &str)] = &[
    (
        "hosts = [",
        "hosts = ",
        "lab.toml:2:17: unexpected key or value, expected newline, `#`",
    ),
    (
        "hosts =",
        "host =",
        "lab.toml:1:1: the file has no hosts: add hosts = [\"client\", \"server\"]",
    ),
    (
        "\"database\"]\n\n",
        "\"web\"]\n\n",
        "lab.toml:2:27: host 'web' is listed twice: leave one out",
    ),
    (
        "[\"client\", \"web\", \"database\"]",
        "\"client\"",
        "lab.toml:2:9: hosts is a text: write a list of texts, hosts = [\"...\"]",
    ),
    (
        "between = [\"web\",",
        "between = [\"wbe\",",
        "lab.toml:8:12: there is no host 'wbe': did you mean 'web'?",
    ),
    (
        "between = [\"web\", \"database\"]",
        "between = [\"web\"]",
        "lab.toml:8:11: between is a list: write two hosts, such as [\"client\", \"web\"]",
    ),
    (
        "rtt = \"1ms\"",
        "rtt = 1",
        "lab.toml:9:7: rtt is \"1\": write a text with its unit, such as \"40ms\"",
    ),
    (
        "rtt = \"1ms\"",
        "rtt = \"1\"",
        "lab.toml:9:7: rtt=: '1' is not a duration: give a number with its unit: ns, us, ms, s, min or h, such as 40ms",
    ),
    (
        "rtt = \"1ms\"",
        "rt = \"1ms\"",
        "lab.toml:9:1: [links.web-database] has no key 'rt': did you mean 'rtt'?",
    ),
    (
        "rtt = \"1ms\"",
        "link = \"rtt=1ms rat=3\"",
        "lab.toml:9:8: 'rat' is not a link setting: known are rtt, rate, burst, queue, loss, jitter, outage, seed and mtu",
    ),
    (
        "[links.web-database]",
        "[links.all]",
        "lab.toml:7:8: no link can be called 'all', which sweeps use for every link: give it another name",
    ),
    (
        "[\"web\", \"database\"]\nrtt",
        "[\"web\", \"client\"]\nrtt",
        "lab.toml:7:8: links 'client-web' and 'web-database' join the same hosts, so it is unclear which one is used: leave one out",
    ),
    (
        "kind = \"mariadb\"",
        "kind = \"mysql\"",
        "lab.toml:13:8: there is no kind of service 'mysql': known are command, mariadb, nginx, php-fpm and postgres; any program is kind = \"command\"",
    ),
    (
        "kind = \"mariadb\"",
        "",
        "lab.toml:11:11: [services.database] has no command: add command = \"program argument\", or kind = \"postgres\"",
    ),
    (
        "host = \"database\"\n",
        "",
        "lab.toml:11:11: [services.database] has no host: add host = \"client\"",
    ),
    (
        "setup = [\"true\",",
        "setup = [3,",
        "lab.toml:15:10: setup is no command: write a text for the shell, setup = \"program argument\", or a list, setup = [\"program\", \"argument\"]",
    ),
    (
        "kind = \"http\"",
        "kind = \"web\"",
        "lab.toml:18:8: there is no kind of workload 'web': known are command, http and sql",
    ),
    (
        "url = \"http://web/\"",
        "url = \"http://www/\"",
        "lab.toml:20:7: there is no host 'www': known are client, database and web",
    ),
    (
        "url = \"http://web/\"",
        "url = \"https://web/\"",
        "lab.toml:20:7: url is no URL of http: write url = \"http://web/\"",
    ),
    (
        "url = \"http://web/\"\n",
        "url = \"http://web/\"\nclients = 0\n",
        "lab.toml:21:11: clients is \"0\": write a whole number from 1 to 10000",
    ),
    (
        "url = \"http://web/\"\n",
        "url = \"http://web/\"\nclient = 2\n",
        "lab.toml:21:1: [workload] has no key 'client': did you mean 'clients'?",
    ),
    (
        "links.client-web.rtt",
        "links.client-wbe.rtt",
        "lab.toml:23:18: there is no setting links.client-wbe.rtt to sweep: there is no link 'client-wbe', did you mean 'client-web'?",
    ),
    (
        "links.client-web.rtt",
        "links.client-web.rat",
        "lab.toml:23:18: there is no setting links.client-web.rat to sweep: a link has no 'rat', did you mean 'rate'?",
    ),
    (
        "workload.clients",
        "workload.kind",
        "lab.toml:24:10: there is no setting workload.kind to sweep: known are clients, command, keep_alive,",
    ),
    (
        "[\"0ms\", \"10ms\"]",
        "[\"0ms\", \"10\"]",
        "lab.toml:23:32: rtt=: '10' is not a duration",
    ),
    (
        "[1, 16, 64]",
        "[1, 16, -64]",
        "lab.toml:24:28: clients is \"-64\": write a whole number from 1 to 10000",
    ),
    (
        "[1, 16, 64]",
        "1",
        "lab.toml:24:20: workload.clients needs the list of values that it takes: write workload.clients = [...]",
    ),
    (
        "[[sweep]]\nlinks.client",
        "[measure]\noperation = 3\n[[sweep]]\nlinks.client",
        "lab.toml:23:1: [measure] has no key 'operation': did you mean 'operations'?",
    ),
];

#[test]
fn errors_tell_the_place_and_what_to_write_instead() {
    let mut wrong = String::new();
    for (from, to, said) in ERRORS {
        let error = broken(from, to);
        if !error.starts_with(said) {
            wrong.push_str(&format!("{to}\n  expected {said}\n  found    {error}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn how_much_is_measured_can_differ_between_points_of_one_baseline() {
    let text = GOOD.replacen("[[sweep]]\n", "[[sweep]]\nmeasure.operations = [1]\n", 1);
    let (_, plan) = parse(&text).expect("a lab");
    let operations = |point: usize| plan.points[point].lab.measure.amount.operations;
    assert_eq!((operations(0), operations(6)), (Some(1), Some(100)));
    assert_eq!(
        (plan.points[0].baseline, plan.points[6].baseline),
        (Some(0), Some(0))
    );
    assert_eq!(plan.baselines[0].lab.measure.amount.operations, Some(100));
}

#[test]
fn settings_of_services_are_checked_when_the_file_is_read() {
    for (settings, told) in [
        (
            "settings.port = 99999",
            "settings.port: write a whole number from 1 to 65535",
        ),
        (
            "settings.user = \"wordpress\"",
            "a user of mariadb has a name and a password",
        ),
        (
            "settings.max_connections = [1]",
            "settings.max_connections: write a text or a number, on one line",
        ),
        ("kind = \"nginx\"", "nginx serves no directory: add settings.root"),
        (
            "kind = \"nginx\"\nsettings.root = \"a\"\nsettings.gzip = \"on\"",
            "there is no setting 'gzip' here",
        ),
    ] {
        let error = if settings.starts_with("kind") {
            let without = GOOD.replacen("settings.max_connections = 50\n", "", 1);
            parse(&without.replacen("kind = \"mariadb\"", settings, 1)).expect_err(settings)
        } else {
            broken("settings.max_connections = 50", settings)
        };
        assert!(error.starts_with("lab.toml:") && error.contains(told), "{error}");
    }
}

#[test]
fn the_labs_that_come_with_longwire_are_right() {
    let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs");
    let mut read = 0;
    for entry in std::fs::read_dir(labs).expect("the labs are there").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let file = LabFile::read_file(&path).unwrap_or_else(|error| panic!("{error:#}"));
            let plan = LabPlan::new(&file).unwrap_or_else(|error| panic!("{error:#}"));
            assert!(plan.points.len() > 1, "{}", path.display());
            read += 1;
        }
    }
    assert!(read >= 4);
}
