//! Recognises addresses of one machine by packet features beyond addresses: a real capture (two
//! addresses of one web server, as in `hosts`), rewritten with other link layers and senders.

use crate::hosts::{joined, records_of, warnings};
use flate2::read::GzDecoder;
use std::io::Read;
use std::net::Ipv4Addr;
use std::path::Path;

const CAPTURE: &str = "sinatra-four-clients.pcap.gz";
const SERVES: Ipv4Addr = Ipv4Addr::new(10, 8, 2, 2);
const ASKS: Ipv4Addr = Ipv4Addr::new(10, 8, 3, 2);

#[derive(Clone, Copy)]
pub struct Passage {
    hop_limit: u8,
    link_address: u8,
    interface: u8,
    packet_type: u8,
}

/// From the captured segment to the capturing machine.
pub const NEAR: Passage = Passage {
    hop_limit: 64,
    link_address: 1,
    interface: 2,
    packet_type: 0,
};

pub fn rewritten(name: &str, link: u32, passage: impl Fn(Ipv4Addr) -> Passage) -> Vec<u8> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/hosts")
        .join(name);
    let mut bytes = Vec::new();
    let compressed = std::fs::File::open(&file).expect("the capture");
    GzDecoder::new(compressed)
        .read_to_end(&mut bytes)
        .expect("it is whole");
    assert_eq!(bytes[20..24], 276_u32.to_le_bytes(), "Linux cooked v2");
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let mut out = bytes[..20].to_vec();
    out.extend(link.to_le_bytes());
    let mut at = 24;
    while at < bytes.len() {
        let (captured, wire) = (number(at + 8), number(at + 12));
        let mut packet = bytes[at + 16 + COOKED_2..at + 16 + captured as usize].to_vec();
        let source = Ipv4Addr::from_octets(packet[12..16].try_into().expect("four bytes"));
        let passage = passage(source);
        packet[8] = passage.hop_limit;
        let head = head(link, passage);
        out.extend(&bytes[at..at + 8]);
        for length in [captured, wire] {
            out.extend((length - COOKED_2 as u32 + head.len() as u32).to_le_bytes());
        }
        out.extend(head.into_iter().chain(packet));
        at += 16 + captured as usize;
    }
    out
}

const COOKED_2: usize = 20;

fn head(link: u32, passage: Passage) -> Vec<u8> {
    let Passage {
        link_address,
        interface,
        packet_type,
        ..
    } = passage;
    let address = [2, 0, 0, 0, 0, link_address];
    match link {
        1 => [&[2, 0, 0, 0, 0, 9][..], &address, &[8, 0]].concat(),
        113 => [&[0, packet_type, 0, 1, 0, 6][..], &address, &[0, 0, 8, 0]].concat(),
        276 => [
            &[8, 0, 0, 0, 0, 0, 0, interface, 0, 1, packet_type, 6][..],
            &address,
            &[0, 0],
        ]
        .concat(),
        0 => vec![2, 0, 0, 0],
        _ => Vec::new(),
    }
}

fn read_records(link: u32, passage: impl Fn(Ipv4Addr) -> Passage) -> (Vec<String>, Vec<String>) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("web.pcap");
    std::fs::write(&file, rewritten(CAPTURE, link, passage)).expect("it is written");
    let records = records_of(&file, &[]);
    let joined = joined(&records).into_iter().map(str::to_owned).collect();
    (joined, warnings(&records).map(str::to_owned).collect())
}

pub const RAW_IP: u32 = 101;

#[test]
fn agreement_of_hop_limits_and_link_layers_neither_proves_nor_excludes() {
    for link in [1, 0, RAW_IP] {
        let (joined, warnings) = read_records(link, |_| NEAR);
        assert_eq!(joined, ["10.8.3.2 and 10.8.2.2"], "{link}");
        assert!(
            warnings.iter().any(|text| text.contains("with shifted times")),
            "{link}: {warnings:?}"
        );
    }
}

#[test]
fn addresses_whose_packets_cannot_come_from_one_machine_are_not_joined_however_closely_they_follow() {
    let asking = |other: Passage| move |source: Ipv4Addr| if source == ASKS { other } else { NEAR };
    let windows = Passage {
        hop_limit: 128,
        ..NEAR
    };
    let behind_a_router = Passage {
        hop_limit: 63,
        ..NEAR
    };
    let neighbour = Passage {
        link_address: 2,
        ..NEAR
    };
    let elsewhere = Passage {
        interface: 3,
        ..neighbour
    };
    for (link, other, reason) in [
        (
            1,
            windows,
            Some("begin with a hop limit (TTL) of 128, those of 10.8.2.2 with 64"),
        ),
        (113, windows, Some("begin with a hop limit")),
        (276, windows, Some("begin with a hop limit")),
        (0, windows, Some("begin with a hop limit")),
        (
            101,
            behind_a_router,
            Some("have passed 1 router, those of 10.8.2.2 0 routers"),
        ),
        (1, neighbour, Some("from link-layer address 02:00:00:00:00:02")),
        (276, neighbour, Some("from link-layer address 02:00:00:00:00:02")),
        (276, elsewhere, None),
        (113, neighbour, None),
    ] {
        let (joined, warnings) = read_records(link, asking(other));
        let excluded = warnings
            .iter()
            .find(|text| text.contains("do not count as one host"));
        match reason {
            None => assert_eq!((joined.len(), excluded), (1, None), "{link}"),
            Some(reason) => {
                assert!(joined.is_empty(), "{link}: {joined:?}");
                let text = excluded.expect("it is said");
                assert!(
                    text.contains(reason) && text.contains("--host web=10.8.2.2,10.8.3.2"),
                    "{link}: {text}"
                );
            }
        }
    }
}

/// One card with both addresses, or two cards: the capturing machine sends from one and receives on
/// the other.
#[test]
fn addresses_that_the_capturing_machine_sends_from_are_one_host() {
    let own = |link_address: u8| Passage {
        packet_type: 4,
        interface: link_address,
        link_address,
        ..NEAR
    };
    let card = |second: u8| {
        move |source: Ipv4Addr| match source {
            SERVES => own(1),
            ASKS => own(second),
            _ => Passage {
                link_address: 7,
                ..NEAR
            },
        }
    };
    let mark = "the capture marks packets of both as sent by the machine that captured";
    // Version 1 does not name the card; two cards may mean two merged captures.
    for (link, second, is_marked) in [
        (276, 1, true),
        (276, 3, true),
        (113, 1, true),
        (113, 3, false),
        (1, 1, false),
    ] {
        let (joined, warnings) = read_records(link, card(second));
        assert_eq!(joined, ["10.8.3.2 and 10.8.2.2"], "{link}");
        assert_eq!(
            warnings.iter().any(|text| text.contains(mark)),
            is_marked,
            "{link}: {warnings:?}"
        );
    }
    let (joined, warnings) = read_records(276, |source| {
        if source == SERVES {
            own(1)
        } else {
            Passage { interface: 4, ..NEAR }
        }
    });
    assert!(joined.is_empty(), "{joined:?}");
    let received = "the machine that captured sent the packets of 10.8.2.2 and received those of 10.8.3.2";
    assert!(
        warnings.iter().any(|text| text.contains(received)),
        "{warnings:?}"
    );
}

/// Merged captures of two machines, or containers with separate link-layer addresses (macvlan) on
/// the machine's card.
#[test]
fn one_interface_with_several_link_layer_addresses_is_several_machines() {
    let (joined, warnings) = read_records(276, |source| match source {
        SERVES => Passage {
            packet_type: 4,
            ..NEAR
        },
        ASKS => Passage {
            packet_type: 4,
            link_address: 3,
            ..NEAR
        },
        _ => Passage {
            link_address: 7,
            ..NEAR
        },
    });
    assert!(joined.is_empty(), "{joined:?}");
    assert!(
        warnings
            .iter()
            .any(|text| text.contains("from link-layer address 02:00:00:00:00:03")),
        "{warnings:?}"
    );
}
