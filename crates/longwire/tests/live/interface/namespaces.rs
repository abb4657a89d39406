//! Interfaces created by tests in a network namespace: bridges, VLAN tags, interfaces that
//! disappear.

use serde_json::Value;
use std::process::{Command, Output};
use testbed::binary::{done, number, of_type, program, records, shown, stderr, sum};

fn in_a_namespace(script: &str) -> Output {
    let setting_up = "ip link set lo up && ip link add near type veth peer far && ip link set near up && ip link set far up";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "sh", "-c"]);
    command.arg(format!(
        "{setting_up} && {}",
        script.replace("LONGWIRE", &program().display().to_string())
    ));
    command
        .env("SERVER", SERVER)
        .env("CLIENT", CLIENT)
        .env("TAGGED", TAGGED);
    command.output().expect("unshare is installed by `make test`")
}

/// A client behind a bridge: its packets pass both a port of the bridge and the bridge.
const BEHIND_A_BRIDGE: &str = r#"
    ip link add bridge type bridge && ip link set near master bridge &&
    ip address add 10.9.0.1/24 dev bridge && ip link set bridge up || exit 9
    unshare --net sleep 60 & other=$!
    until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
    ip link set far netns $other
    nsenter --target $other --net sh -c 'ip address add 10.9.0.2/24 dev far && ip link set far up'
    LONGWIRE watch --interface any --port 5432 --json -- \
        sh -c 'python3 -c "$SERVER" & nsenter --target "$0" --net python3 -c "$CLIENT"; wait' $other
    status=$?; kill $other; exit $status
"#;
const SERVER: &str = "
import socket
peer, _ = socket.create_server(('10.9.0.1', 5432)).accept()
while received := peer.recv(1000): peer.sendall(received)
";
const CLIENT: &str = "
import socket, time
for attempt in range(200):
    try: peer = socket.create_connection(('10.9.0.1', 5432)); break
    except OSError: time.sleep(0.05)
for attempt in range(50): peer.sendall(b'request'); peer.recv(1000)
peer.close()
";

#[test]
fn a_packet_that_passes_several_interfaces_counts_once() {
    let output = in_a_namespace(BEHIND_A_BRIDGE);
    done(&output);
    let records = records(&output);
    let made = |record: &&&Value| record["server_payload_bytes"] == 350;
    let connections = of_type(&records, "connection");
    let connections: Vec<_> = connections.iter().filter(made).collect();
    let [connection] = connections.as_slice() else {
        panic!("{}", shown(&output));
    };
    assert_eq!(
        (
            number(connection, "turns"),
            number(connection, "client_payload_bytes")
        ),
        (51, 350)
    );
    let counted =
        sum(&records, "connection", "client_packets") + sum(&records, "connection", "server_packets");
    let seen = number(of_type(&records, "summary")[0], "packets");
    assert_eq!(
        seen,
        2 * counted,
        "every packet passes a port and the bridge: {}",
        shown(&output)
    );
    // No supported protocol was seen.
    let warnings = of_type(&records, "warning");
    // The other warning depends on load.
    let is_of_the_protocol = |warning: &&Value| {
        ["statements-not-decoded", "unexplained-wait"]
            .iter()
            .any(|kind| warning["kind"] == *kind)
    };
    assert!(warnings.iter().all(is_of_the_protocol), "{}", shown(&output));
}

#[test]
fn an_interface_that_goes_away_is_reported_and_what_was_seen_is_kept() {
    let script = "said=$(mktemp); LONGWIRE watch --interface near 2>$said & until grep -q 'Ctrl-C ends' $said; do sleep 0.1; done; \
                  ip link delete near; wait $!; status=$?; cat $said >&2; rm $said; exit $status";
    let output = in_a_namespace(script);
    assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
    assert!(
        stderr(&output).contains("warning: the interface near is gone"),
        "{}",
        shown(&output)
    );
    let script =
        "exec LONGWIRE watch --interface near --interface lo -- sh -c 'ip link delete near; sleep 3'";
    let output = in_a_namespace(script);
    assert!(
        stderr(&output).contains("warning: the interface near is gone"),
        "{}",
        shown(&output)
    );
}

#[test]
fn an_interface_that_gets_another_name_is_still_observed() {
    let script = "exec LONGWIRE watch --json --interface near -- sh -c 'ip link set near down; ip link set near name other; ip link set other up; sleep 3'";
    let output = in_a_namespace(script);
    assert!(!stderr(&output).contains("is gone"), "{}", shown(&output));
}

const TAGGED: &str = r#"
import socket, struct, sys, time
def frame(from_client, sequence, acknowledgement, flags, payload=b""):
    ends = [(bytes([10, 9, 0, 1]), 40000), (bytes([10, 9, 0, 2]), 5432)]
    (source, port), (destination, to) = ends if from_client else ends[::-1]
    tcp = struct.pack("!HHIIBBHHH", port, to, sequence, acknowledgement, 0x50, flags, 64000, 0, 0) + payload
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), sequence, 0, 64, 6, 0, source, destination)
    tags = [struct.pack("!HH", kind, 7) for kind in (0x88a8, 0x8100)][2 - int(sys.argv[1]):]
    return b"\2" * 6 + b"\4" * 6 + b"".join(tags) + b"\x08\0" + ip + tcp
cable = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
cable.bind(("far", 0))
for packet in [(True, 1000, 0, 0x02), (False, 5000, 1001, 0x12), (True, 1001, 5001, 0x10), (True, 1001, 5001, 0x18, b"hello"),
               (False, 5001, 1006, 0x18, b"world"), (True, 1006, 5006, 0x11), (False, 5006, 1007, 0x11)]:
    cable.send(frame(*packet))
    time.sleep(0.005)
"#;

#[test]
fn vlan_tags_do_not_hide_packets_and_are_kept() {
    let script = r#"
        for tags in 0 1 2; do for seen in near far; do
            LONGWIRE watch --interface $seen --port 5432 --filter 'net 10.9' --json --write-pcap $FOLDER/$seen$tags.pcapng -- \
                python3 -c "$TAGGED" $tags || exit 8
            LONGWIRE read --json $FOLDER/$seen$tags.pcapng || exit 7
        done; done
    "#;
    let folder = tempfile::tempdir().expect("a temporary directory");
    let output = in_a_namespace(&script.replace("$FOLDER", &folder.path().display().to_string()));
    done(&output);
    let records = records(&output);
    let connections = of_type(&records, "connection");
    assert_eq!(connections.len(), 3 * 2 * 2, "{}", shown(&output));
    let wire: Vec<u64> = connections
        .iter()
        .map(|connection| number(connection, "client_wire_bytes"))
        .collect();
    // Live and recorded, at both ends of the pair: four client packets, each four bytes longer per
    // tag.
    let expected = [221, 237, 253].map(|bytes| [bytes; 4]).concat();
    assert_eq!(wire, expected);
    for connection in connections {
        let counted = (number(connection, "turns"), number(connection, "client_packets"));
        assert_eq!(counted, (2, 4), "{connection}");
    }
    let warnings = of_type(&records, "warning");
    let is_of_the_protocol = |warning: &&Value| {
        ["statements-not-decoded", "unexplained-wait"]
            .iter()
            .any(|kind| warning["kind"] == *kind)
    };
    assert!(warnings.iter().all(is_of_the_protocol), "{}", shown(&output));
}
