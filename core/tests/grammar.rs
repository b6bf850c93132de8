//! Texts with a grammar, each against the pattern of the specification as a second reader.

#[path = "support/seeds.rs"]
mod seeds;

use core::net::SocketAddr;

use meshward_core::wire::{
    grammar::{
        BootstrapToken, Checksum, Malformed, Name, NodeSecretKey, PeerAddr, PublicKey, ReportKey,
        SecretKey, TokenKind, Uuid, base64_bytes, base64_text,
    },
    json::{decode_strict, encode},
};
use proptest::prelude::*;
use regex_lite::Regex;

const TOKEN: &str = "^psb_[a-z]+_[a-z2-7]+_(node|bridge)_[a-z2-7]{20,}$";
const PUBLIC_KEY: &str = "^[A-Za-z0-9+/]{43}=$";
const REPORT_KEY: &str = "^[a-z][a-z0-9._-]{0,127}$";
const SECRET_KEY: &str = "^[a-z][a-z0-9_-]{0,62}$";
const UUID: &str = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$";

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern")
}

#[test]
fn report_keys_end_at_128_and_secret_keys_at_63_characters() {
    let key = |length: usize| "k".repeat(length);
    assert_eq!(ReportKey::parse(&key(128)).map(|key| key.as_str().len()), Ok(128));
    assert_eq!(ReportKey::parse(&key(129)), Err(Malformed::ReportKey));
    assert_eq!(SecretKey::parse(&key(63)).map(|key| key.as_str().len()), Ok(63));
    assert_eq!(SecretKey::parse(&key(64)), Err(Malformed::SecretKey));
    assert!(ReportKey::parse("a.b").is_ok());
    assert!(SecretKey::parse("a.b").is_err());
    for text in ["", "A", "1a", "_a", "a/b", "a b", "é", "aé", "a\n", "a\0"] {
        assert!(ReportKey::parse(text).is_err() && SecretKey::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn a_bootstrap_token_tells_its_kind() {
    let random = "abcdefghijklmnopqrst";
    for (kind, expected) in [("node", TokenKind::Node), ("bridge", TokenKind::Bridge)] {
        let token = BootstrapToken::parse(&format!("psb_e_2_{kind}_{random}")).expect(kind);
        assert_eq!(token.kind, expected);
        assert!(token.mentions("ghij") && !token.mentions(kind));
        assert!(!format!("{token:?}").contains(random));
    }
}

#[test]
fn a_token_outside_the_pattern_is_refused() {
    let random = "abcdefghijklmnopqrst";
    for text in [
        String::new(),
        "psb".into(),
        format!("psb_e_p_node_{}", &random[1..]),
        format!("PSB_e_p_node_{random}"),
        format!("psb__p_node_{random}"),
        format!("psb_e__node_{random}"),
        format!("psb_e2_p_node_{random}"),
        format!("psb_e_p8_node_{random}"),
        format!("psb_e_p1_node_{random}"),
        format!("psb_e_p_user_{random}"),
        format!("psb_e_p_Node_{random}"),
        format!("psb_e_p_node_{random}8"),
        format!("psb_e_p_node_{random}A"),
        format!("psb_e_p_node_{random}_x"),
        format!("psb_e_p_node_{random}\n"),
        format!(" psb_e_p_node_{random}"),
        format!("x_psb_e_p_node_{random}"),
    ] {
        assert_eq!(BootstrapToken::parse(&text), Err(Malformed::Token), "{text:?}");
        assert!(!pattern(TOKEN).is_match(&text), "{text:?}");
    }
}

#[test]
fn a_public_key_is_canonical_and_not_all_zero() {
    let key = PublicKey::from_bytes([1; 32]).expect("not zero");
    assert_eq!(key.to_string(), "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=");
    assert_eq!(PublicKey::parse(&key.to_string()), Ok(key));
    assert_eq!(PublicKey::from_bytes([0; 32]), None);
    for text in [
        "",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE",
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQF=",
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH=",
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB",
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ==",
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n",
        " AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
        "AQEBAQEBAQEBAQEBAQEBAQEB\nQEBAQEBAQEBAQEBAQE=",
        "_-EBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
        "=AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE",
        "0101010101010101010101010101010101010101010101010101010101010101",
    ] {
        assert_eq!(PublicKey::parse(text), Err(Malformed::PublicKey), "{text:?}");
    }
}

#[test]
fn a_checksum_is_lower_case_hex_or_base64() {
    let digest = Checksum::from_bytes([0xab; 32]);
    assert_eq!(Checksum::parse(&"ab".repeat(32)), Ok(digest));
    assert_eq!(Checksum::parse(&digest.to_string()), Ok(digest));
    assert_eq!(Checksum::parse(&"0".repeat(64)), Ok(Checksum::from_bytes([0; 32])));
    let counting: String = (0..32).map(|byte| format!("{byte:02x}")).collect();
    let bytes = core::array::from_fn(|at| u8::try_from(at).expect("small"));
    assert_eq!(Checksum::parse(&counting), Ok(Checksum::from_bytes(bytes)));
    for text in [
        String::new(),
        "AB".repeat(32),
        "ag".repeat(32),
        "a".repeat(63),
        "a".repeat(65),
        format!("0x{}", "a".repeat(62)),
        "é".repeat(32),
        digest.to_string().trim_end_matches('=').into(),
        format!("sha256:{}", "a".repeat(64)),
    ] {
        assert_eq!(Checksum::parse(&text), Err(Malformed::Checksum), "{text:?}");
    }
}

#[test]
fn a_node_secret_key_shows_only_where_asked() {
    let key = NodeSecretKey::from_bytes([7; 32]);
    let text = key.to_text();
    assert_eq!(text.expose(), "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
    assert_eq!(NodeSecretKey::parse(text.expose()), Ok(key.clone()));
    assert!(!format!("{key:?}").contains('7'));
    for broken in ["", "BwcH", "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwd="] {
        assert_eq!(NodeSecretKey::parse(broken), Err(Malformed::Base64Key));
    }
}

#[test]
fn base64_is_canonical_only() {
    for (text, bytes) in
        [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")]
    {
        assert_eq!(base64_bytes(text).as_deref(), Some(bytes.as_bytes()));
        assert_eq!(base64_text(bytes.as_bytes()), text);
    }
    for text in [
        "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm9v=", "Z", "=", "====", "Zm9v\n", "Zm 9v", "Zm-_",
        "Zg==Zg==", "é",
    ] {
        assert_eq!(base64_bytes(text), None, "{text:?}");
    }
}

#[test]
fn an_address_is_an_ip_literal_and_a_plain_port() {
    for (text, shown) in [
        ("203.0.113.7:51820", "203.0.113.7:51820"),
        ("0.0.0.0:0", "0.0.0.0:0"),
        ("255.255.255.255:65535", "255.255.255.255:65535"),
        ("[2001:DB8:0::7]:1", "[2001:db8::7]:1"),
        ("[::]:80", "[::]:80"),
        ("[::ffff:192.0.2.1]:80", "192.0.2.1:80"),
        ("[::ffff:c000:201]:80", "192.0.2.1:80"),
    ] {
        let addr = PeerAddr::parse(text).expect(text);
        assert_eq!(addr.to_string(), shown);
        let plain: SocketAddr = shown.parse().expect(shown);
        assert_eq!((addr.ip(), addr.port()), (plain.ip(), plain.port()));
    }
    for text in [
        "",
        ":80",
        "203.0.113.7",
        "203.0.113.7:",
        "203.0.113.7:080",
        "203.0.113.7:00",
        "203.0.113.7:+80",
        "203.0.113.7:-1",
        "203.0.113.7:65536",
        "203.0.113.7:8 0",
        "203.0.113.7:80 ",
        " 203.0.113.7:80",
        "203.0.113.7:0x50",
        "203.0.113.07:80",
        "203.0.113:80",
        "203.0.113.256:80",
        "3405803783:80",
        "localhost:80",
        "example.com:80",
        "::1:80",
        "[::1]",
        "[::1]80",
        "::1",
        "[203.0.113.7]:80",
        "[fe80::1%1]:80",
        "[fe80::1%eth0]:80",
        "http://203.0.113.7:80",
        "203.0.113.7:80/",
        "203.0.113.7:٣",
    ] {
        assert_eq!(PeerAddr::parse(text), Err(Malformed::PeerAddr), "{text:?}");
    }
}

#[test]
fn a_uuid_is_read_in_either_case_and_written_in_lower_case() {
    let text = "0190A8B8-a0c0-7a0A-8a0a-a0a0a0a0a0a3";
    let uuid = Uuid::parse(text).expect(text);
    assert_eq!(uuid.to_string(), text.to_lowercase());
    assert_eq!(format!("{uuid:?}"), uuid.to_string());
    assert_eq!(Uuid::parse_canonical(text), Err(Malformed::Uuid));
    assert_eq!(Uuid::parse_canonical(&text.to_lowercase()), Ok(uuid));
    assert_eq!(uuid.bytes()[..4], [0x01, 0x90, 0xa8, 0xb8]);
    assert_eq!(Uuid::ZERO.to_string(), "00000000-0000-0000-0000-000000000000");
    for broken in [
        "",
        "0190a8b8a0c07a0a8a0aa0a0a0a0a0a3",
        "{0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3}",
        "urn:uuid:0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3",
        "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a",
        "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a33",
        "0190a8b8-a0c0-7a0a-8a0aa-0a0a0a0a0a3",
        "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0ag",
        "0190a8b8-a0c0-7a0a-8a0a_a0a0a0a0a0a3",
        "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0é",
        "+190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3",
    ] {
        assert_eq!(Uuid::parse(broken), Err(Malformed::Uuid), "{broken}");
    }
}

#[test]
fn a_drawn_uuid_is_of_version_4() {
    for byte in [0x00, 0xff, 0x5a] {
        let text = Uuid::drawn([byte; 16]).to_string();
        assert_eq!(text.as_bytes()[14], b'4');
        assert!(matches!(text.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{text}");
    }
    assert_ne!(Uuid::drawn([1; 16]), Uuid::drawn([2; 16]));
}

#[test]
fn a_name_is_any_text_without_nul() {
    let name: Name = decode_strict(r#""é / x""#.as_bytes()).expect("a name");
    assert_eq!(name, Name::from("é / x"));
    assert_eq!(encode(&name), r#""é / x""#.as_bytes());
    let fault = decode_strict::<Name>(br#""canary\u0000""#).expect_err("NUL").to_string();
    assert_eq!(fault, "must not hold NUL");
    assert!(decode_strict::<Name>(b"7").is_err());
    assert!(Name::default().is_empty() && !name.is_empty());
}

proptest! {
    #![proptest_config(seeds::seeds_in("grammar"))]

    #[test]
    fn tokens_agree_with_the_pattern(
        text in "(psb|Psb)_[a-z2]{0,3}_[a-z1-8]{0,3}_(node|bridge|x)(_[a-z2-8]{18,22}){1,2}"
    ) {
        prop_assert_eq!(BootstrapToken::parse(&text).is_ok(), pattern(TOKEN).is_match(&text));
    }

    #[test]
    fn keys_agree_with_their_patterns(text in "[a-cA1][a-c0-9._/é-]{0,4}([a-z]{55,130})?") {
        prop_assert_eq!(ReportKey::parse(&text).is_ok(), pattern(REPORT_KEY).is_match(&text));
        prop_assert_eq!(SecretKey::parse(&text).is_ok(), pattern(SECRET_KEY).is_match(&text));
    }

    #[test]
    fn uuids_agree_with_their_pattern(text in "[0-9a-gA-F]{7,8}(-[0-9a-f]{4}){2,4}-[0-9A-F]{11,12}") {
        prop_assert_eq!(Uuid::parse(&text).is_ok(), pattern(UUID).is_match(&text));
    }

    #[test]
    fn a_uuid_survives_its_text(bytes in any::<[u8; 16]>()) {
        let uuid = Uuid::from_bytes(bytes);
        prop_assert_eq!(Uuid::parse_canonical(&uuid.to_string()), Ok(uuid));
    }

    #[test]
    fn a_public_key_is_what_the_pattern_takes_and_writes_again(text in "[A-Za-z0-9+/_]{42,43}=?") {
        match PublicKey::parse(&text) {
            Ok(key) => {
                prop_assert!(pattern(PUBLIC_KEY).is_match(&text));
                prop_assert_eq!(key.to_string(), text);
            }
            Err(_) => {
                let is_canonical = base64_bytes(&text).is_some_and(|bytes| bytes.len() == 32);
                prop_assert!(!(is_canonical && pattern(PUBLIC_KEY).is_match(&text)));
            }
        }
    }

    #[test]
    fn a_key_survives_its_text(bytes in any::<[u8; 32]>()) {
        let checksum = Checksum::from_bytes(bytes);
        prop_assert!(pattern(PUBLIC_KEY).is_match(&checksum.to_string()));
        prop_assert_eq!(Checksum::parse(&checksum.to_string()), Ok(checksum));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        prop_assert_eq!(Checksum::parse(&hex), Ok(checksum));
    }

    #[test]
    fn base64_has_one_spelling(text in "[A-Za-d0-3+/=]{0,8}") {
        if let Some(bytes) = base64_bytes(&text) {
            prop_assert_eq!(base64_text(&bytes), text);
        }
    }

    #[test]
    fn an_address_survives_its_text(addr in any::<SocketAddr>()) {
        prop_assume!(!addr.to_string().contains('%'));
        let read = PeerAddr::parse(&addr.to_string()).expect("an address");
        prop_assert_eq!(read.ip(), addr.ip().to_canonical());
        prop_assert_eq!(PeerAddr::parse(&read.to_string()), Ok(read));
    }
}
