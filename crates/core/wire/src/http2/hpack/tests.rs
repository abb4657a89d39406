//! The examples of RFC 7541 appendix C, and tables joined in the middle.

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let hex: String = hex.split_whitespace().collect();
    let pairs = hex.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex"))
        .collect()
}

fn decode(table: &mut Hpack, hex: &str) -> Head {
    let mut head = Head::default();
    table.decode(&bytes(hex), &mut head).expect("a header block");
    head
}

#[test]
fn numbers_of_c_1() {
    for (hex, prefix, number) in [("0a", 5, 10), ("1f9a0a", 5, 1337), ("2a", 8, 42)] {
        assert_eq!(integer(&mut &bytes(hex)[..], prefix), Ok(number));
    }
    integer(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01][..], 7).expect_err("too large");
    integer(&mut &[0xFF, 0x80][..], 7).expect_err("cut");
}

#[test]
fn requests_of_c_3_and_c_4() {
    let plain = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    let huffman = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    for blocks in [plain, huffman] {
        let mut table = Hpack::new(true);
        let expected = [("/", 57), ("/", 110), ("/index.html", 164)];
        for (block, (path, size)) in blocks.into_iter().zip(expected) {
            let head = decode(&mut table, block);
            assert_eq!(
                (head.method.as_slice(), head.path.as_slice()),
                (&b"GET"[..], path.as_bytes())
            );
            assert_eq!(table.size, size, "{block}");
        }
    }
}

#[test]
fn responses_of_c_5_and_c_6_evict() {
    let plain = [
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120
         474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "4803 3330 37c1 c0bf",
        "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970
         7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61
         6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
    ];
    let huffman = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718
         63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ffc1 c0bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7
         b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];
    for blocks in [plain, huffman] {
        let mut table = Hpack::new(true);
        table.resize(256);
        for (block, (status, size)) in blocks.into_iter().zip([(302, 222), (307, 222), (200, 215)]) {
            assert_eq!(decode(&mut table, block).status, Some(status));
            assert_eq!(table.size, size, "{block}");
        }
    }
}

#[test]
fn an_unknown_index_is_an_error_only_if_the_table_is_known() {
    let mut known = Hpack::new(true);
    known
        .decode(&[0xBE], &mut Head::default())
        .expect_err("index 62 of an empty table");
    let mut joined = Hpack::new(false);
    assert!(decode(&mut joined, "82be").path.is_empty());
    // Entries inserted from here on are found, as the newest is the first.
    assert_eq!(decode(&mut joined, "44022f61").path, b"/a");
    assert_eq!(decode(&mut joined, "be").path, b"/a");
    joined.lose();
    assert!(decode(&mut joined, "be").path.is_empty());
}

#[test]
fn texts_that_are_no_huffman_code_are_refused() {
    let mut out = Vec::new();
    for wrong in [&[0xFF, 0xFF, 0xFF, 0xFF][..], &[0x00], &[0xFF]] {
        assert_eq!(huffman::decode(wrong, &mut out), None, "{wrong:?}");
    }
    assert_eq!(huffman::decode(&[], &mut out), Some(()));
}

#[test]
fn a_table_is_bounded() {
    let mut table = Hpack::new(true);
    table.resize(1 << 27);
    assert!(!table.complete);
    let block = [&[0x40, 1, b'n', 100][..], &[b'v'; 100]].concat();
    for _ in 0..2000 {
        table.decode(&block, &mut Head::default()).expect("a field");
    }
    assert!(table.size <= MAX_TABLE);
}
