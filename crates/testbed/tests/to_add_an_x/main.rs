//! Checks "To add an X" in ARCHITECTURE.md: adds a protocol and a finding, and an output, to copies
//! of some crates as its table says, and runs the copies' tests.
//!
//! The copies are built in the target directory, so only changes are compiled.

mod copied;

use copied::Copied;

#[test]
fn a_protocol_and_a_kind_of_finding_are_added_as_the_page_says() {
    let copy = Copied::new(
        "to-add-an-x",
        &["core/model", "core/tls_keys", "core/wire", "core/analysis"],
    );
    add_a_protocol(&copy);
    add_a_kind_of_finding(&copy);
    copy.passes(&[
        "--package",
        "longwire-wire",
        "--package",
        "longwire-analysis",
        "--lib",
    ]);
}

/// In a copy of its own: crates that know all protocols do not know the toy.
#[test]
fn an_output_of_a_run_is_added_as_the_page_says() {
    let copy = Copied::new(
        "to-add-an-output",
        &[
            "core/analysis",
            "core/capture",
            "tools/telemetry",
            "core/link",
            "core/model",
            "io/pipeline",
            "core/predict",
            "core/report",
            "servers",
            "io/sys",
            "tools/tables",
            "testbed",
            "core/tls_keys",
            "core/tunnel",
            "core/wire",
        ],
    );
    let row = copy.page("output of a run");
    copy.create(&row.new_file("toy"), include_str!("toy_output.rs"));
    copy.insert(&row.place_of("mod"), "mod tables;\n", "mod toy;\n");
    copy.insert(
        &row.place_of("SINKS"),
        "const SINKS: &[fn(&AggregatorConfig, &Conditions) -> Requested] = &[\n",
        "|_, _| boxed(Some(toy::Toys::default())),\n",
    );
    copy.passes(&["--package", "longwire-pipeline", "--lib"]);
}

fn add_a_protocol(copy: &Copied) {
    let row = copy.page("protocol");
    let file = row.new_file("toy");
    copy.create(&file, include_str!("toy_protocol.rs"));
    copy.insert(&row.place_of("mod"), "pub mod protocols;\n", "pub mod toy;\n");
    copy.insert(
        &row.place_of("PROTOCOLS"),
        "pub static PROTOCOLS: &[ProtocolRow] = &[\n",
        "toy::ROW,\n",
    );
    copy.insert(
        &row.place_of("protocols!"),
        "protocols! {\n",
        "/// Nobody's.\nToy: ProtocolFacts { name: \"toy\", aliases: &[], ports: &[], schemes: &[scheme(\"toy\", 1)], \
         otel_name: None, dialect: Dialect::Standard, kind: ProtocolKind::Other, is_over_http: false };\n",
    );
}

fn add_a_kind_of_finding(copy: &Copied) {
    let row = copy.page("kind of finding");
    copy.create(&row.new_file("toy"), include_str!("toy_finding.rs"));
    let noun = row.place_of("FindingKind");
    copy.insert(&noun, "pub enum FindingKind {\n", "/// Nobody's.\nToy,\n");
    copy.insert(&noun, "pub const ALL: &[Self] = &[\n", "Self::Toy,\n");
    copy.insert(&noun, "Self::NPlusOne => \"n+1\",\n", "Self::Toy => \"toy\",\n");
    copy.insert(
        &noun,
        "Self::Reconnect | Self::ListenerTurn => Remains::Nothing,\n",
        "Self::Toy => Remains::Nothing,\n",
    );
    let kinds = row.place_of("KINDS");
    copy.insert(&kinds, "mod software;\n", "mod toy;\n");
    copy.insert(&kinds, "const KINDS: &[Kind] = &[\n", "toy::detect_waste,\n");
    copy.insert(
        &row.place_of("least"),
        "FindingKind::SmallFetch => 2,\n",
        "FindingKind::Toy => 1,\n",
    );
    copy.insert(
        &row.place_of("ROWS"),
        "const ROWS: &[Row] = &[\n",
        "row(Kind::Toy, &[], \"Put the toys away.\"),\n",
    );
}
