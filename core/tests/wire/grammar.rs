//! Texts with a grammar, beside the patterns of the specification.

use meshward_core::wire::grammar::{
    BootstrapToken, Checksum, Malformed, NodeSecretKey, PeerAddr, PublicKey, ReportKey, SecretKey,
    TokenKind, Uuid, base64_bytes, base64_text,
};
use proptest::{prelude::*, sample::select};
use regex_lite::Regex;

use crate::support::seeds_in;

/// Base64 of 32 bytes leaves two bits of its last character unused; they are zero.
const BASE64_KEY: &str = "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$";
const CHECKSUM: &str = "^([0-9a-f]{64}|[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$";
const REPORT_KEY: &str = "^[a-z][a-z0-9._-]{0,127}$";
const SECRET_KEY: &str = "^[a-z][a-z0-9_-]{0,62}$";
const TOKEN: &str = "^psb_[a-z]+_[a-z2-7]+_(node|bridge)_[a-z2-7]{20,}$";
const UUID: &str = "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$";

const KEY: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const RANDOM: &str = "abcdefghijklmnopqrst";

/// Texts of a pattern, and texts that a small change takes out of it or leaves in it.
fn near(pattern: &'static str) -> impl Strategy<Value = String> {
    let odd = select(
        &["", "_", "-", ".", "=", " ", "\n", "\0", "A", "z", "8", "1", "é", "_x", "+", "/", "~"][..],
    );
    (pattern, any::<usize>(), 0_usize..2, odd, 0_usize..3).prop_map(
        |(text, at, length, odd, changed)| {
            let characters: Vec<char> = text.chars().collect();
            if changed == 0 || characters.is_empty() {
                return text;
            }
            let at = at % characters.len();
            let end = (at + length).min(characters.len());
            characters[..at]
                .iter()
                .chain(&odd.chars().collect::<Vec<_>>())
                .chain(&characters[end..])
                .collect()
        },
    )
}

/// Says the same as the pattern; `$` of the pattern means the very end.
fn judged(pattern: &str, text: &str, accepted: bool) {
    assert_eq!(
        Regex::new(pattern).expect("a pattern").is_match(text),
        accepted,
        "{pattern} {text:?}"
    );
}

proptest! {
    #![proptest_config(seeds_in("grammar"))]

    #[test]
    fn a_public_key_is_what_its_pattern_says(text in near("[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048B]=")) {
        let parsed = PublicKey::parse(&text);
        judged(BASE64_KEY, &text, parsed.is_ok());
        judged(BASE64_KEY, &text, NodeSecretKey::parse(&text).is_ok());
        if let Ok(key) = parsed {
            prop_assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn a_checksum_is_what_its_patterns_say(
        text in prop_oneof![near("[0-9a-f]{63,65}"), near("[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]="), near("[0-9a-fA-F]{64}")],
    ) {
        let parsed = Checksum::parse(&text);
        judged(CHECKSUM, &text, parsed.is_ok());
        if let Ok(checksum) = parsed {
            prop_assert_eq!(Checksum::parse(&checksum.to_string()), Ok(checksum));
        }
    }

    #[test]
    fn a_bootstrap_token_is_what_its_pattern_says(
        text in near("psb_[a-z]{0,4}_[a-z2-7]{0,6}_(node|bridge|nodes|)_[a-z2-7]{18,22}"),
    ) {
        judged(TOKEN, &text, BootstrapToken::parse(&text).is_ok());
    }

    #[test]
    fn a_report_key_is_what_its_pattern_says(text in prop_oneof![near("[a-z][a-z0-9._-]{0,5}"), near("[a-z][a-z0-9._-]{125,129}")]) {
        judged(REPORT_KEY, &text, ReportKey::parse(&text).is_ok());
    }

    #[test]
    fn a_secret_key_is_what_its_pattern_says(text in prop_oneof![near("[a-z][a-z0-9_-]{0,5}"), near("[a-z][a-z0-9_-]{60,64}")]) {
        judged(SECRET_KEY, &text, SecretKey::parse(&text).is_ok());
    }

    #[test]
    fn a_uuid_is_what_its_pattern_says(text in near("[0-9A-Fa-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")) {
        let parsed = Uuid::parse(&text);
        judged(UUID, &text, parsed.is_ok());
        if let Ok(uuid) = parsed {
            prop_assert_eq!(uuid.to_string(), text.to_ascii_lowercase());
            prop_assert_eq!(Uuid::parse_canonical(&text).is_ok(), text == text.to_ascii_lowercase());
        }
    }

    #[test]
    fn no_text_at_all_makes_a_parser_panic(text in any::<String>()) {
        judged(BASE64_KEY, &text, PublicKey::parse(&text).is_ok());
        judged(CHECKSUM, &text, Checksum::parse(&text).is_ok());
        judged(TOKEN, &text, BootstrapToken::parse(&text).is_ok());
        judged(REPORT_KEY, &text, ReportKey::parse(&text).is_ok());
        judged(SECRET_KEY, &text, SecretKey::parse(&text).is_ok());
        judged(UUID, &text, Uuid::parse(&text).is_ok());
        let _ = PeerAddr::parse(&text);
        let _ = base64_bytes(&text);
    }

    #[test]
    fn base64_of_any_bytes_is_read_back_and_no_other_spelling_is(
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
        cut in 0_usize..120,
    ) {
        let text = base64_text(&bytes);
        prop_assert_eq!(base64_bytes(&text), Some(bytes));
        let cut = cut.min(text.len());
        let spaced = format!("{}\n{}", &text[..cut], &text[cut..]);
        prop_assert_eq!(base64_bytes(&spaced), None);
        if let Some(bytes) = base64_bytes(&text[..cut]) {
            prop_assert_eq!(base64_text(&bytes), &text[..cut]);
        }
    }
}

#[test]
fn the_all_zero_public_key_is_refused_and_the_all_zero_secret_key_is_not() {
    let zero = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    assert_eq!(PublicKey::parse(zero), Err(Malformed::PublicKey));
    assert_eq!(PublicKey::from_bytes([0; 32]), None);
    assert!(NodeSecretKey::parse(zero).is_ok());
    assert!(Checksum::parse(zero).is_ok());
}

#[test]
fn trailing_bits_and_other_alphabets_are_refused() {
    assert!(PublicKey::parse(KEY).is_ok());
    for text in [
        KEY.replace("yA=", "yB="),
        KEY.replace("yA=", "yD="),
        KEY.replace('=', ""),
        KEY.replace('=', "=="),
        format!("{KEY}\n"),
        format!(" {KEY}"),
        KEY.replace("AQI", "A-I"),
        KEY.replace("AQI", "A_I"),
    ] {
        assert_eq!(PublicKey::parse(&text), Err(Malformed::PublicKey), "{text}");
        assert_eq!(NodeSecretKey::parse(&text), Err(Malformed::Base64Key), "{text}");
        assert_eq!(Checksum::parse(&text), Err(Malformed::Checksum), "{text}");
    }
    for (text, bytes) in [
        ("", Some(vec![])),
        ("QQ==", Some(vec![65])),
        ("QUI=", Some(vec![65, 66])),
        ("QUJD", Some(vec![65, 66, 67])),
    ] {
        assert_eq!(base64_bytes(text), bytes);
    }
    for text in [
        "QR==", "QUJ=", "QQ", "QQ=", "QQ===", "QQ==\n", " QQ==", "QQ= =", "Q", "====", "QQ==QQ==",
        "QUI-", "QUI_",
    ] {
        assert_eq!(base64_bytes(text), None, "{text}");
    }
}

#[test]
fn a_checksum_is_read_as_hex_or_base64_and_written_as_base64() {
    let base64 = "ASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8=";
    assert_eq!(Checksum::parse(HEX), Checksum::parse(base64));
    assert_eq!(Checksum::parse(HEX).unwrap().to_string(), base64);
    for text in [
        HEX.to_uppercase(),
        HEX[1..].to_owned(),
        format!("{HEX}0"),
        format!("{}g", &HEX[1..]),
        String::new(),
    ] {
        assert_eq!(Checksum::parse(&text), Err(Malformed::Checksum), "{text}");
    }
}

#[test]
fn a_token_tells_its_kind_and_its_random_segment() {
    let parsed = |kind: &str, random: &str| {
        BootstrapToken::parse(&format!("psb_prod_abc27_{kind}_{random}"))
    };
    assert_eq!(parsed("node", RANDOM).unwrap().kind, TokenKind::Node);
    assert_eq!(parsed("bridge", RANDOM).unwrap().kind, TokenKind::Bridge);
    for word in ["consumed", "expired", "revoked"] {
        assert!(parsed("node", &format!("{word}aaaaaaaaaaaaaaaa")).unwrap().mentions(word));
        assert!(!parsed("node", RANDOM).unwrap().mentions(word));
        let elsewhere = BootstrapToken::parse(&format!("psb_{word}_{word}_node_{RANDOM}")).unwrap();
        assert!(!elsewhere.mentions(word));
    }
    assert_eq!(parsed("node", &RANDOM[1..]).unwrap_err(), Malformed::Token);
    assert_eq!(parsed("Node", RANDOM).unwrap_err(), Malformed::Token);
}

#[test]
fn a_drawn_uuid_is_of_version_4() {
    for bytes in [[0x00; 16], [0xff; 16]] {
        let text = Uuid::drawn(bytes).to_string();
        let pattern =
            Regex::new("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
                .unwrap();
        assert!(pattern.is_match(&text), "{text}");
    }
    assert_eq!(Uuid::ZERO.to_string(), "00000000-0000-0000-0000-000000000000");
    assert_eq!(Uuid::parse("00000000-0000-0000-0000-000000000000"), Ok(Uuid::ZERO));
    for text in [
        "{0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0}",
        "0190a8b8a0c07a0a8a0aa0a0a0a0a0a0",
        "urn:uuid:0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a0",
    ] {
        assert_eq!(Uuid::parse(text), Err(Malformed::Uuid));
    }
}

#[test]
fn an_address_is_an_ip_literal_and_a_plain_port() {
    for (text, written) in [
        ("203.0.113.1:51820", "203.0.113.1:51820"),
        ("10.0.0.1:0", "10.0.0.1:0"),
        ("10.0.0.1:65535", "10.0.0.1:65535"),
        ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("[::1]:1", "[::1]:1"),
        ("[2001:DB8:0:0::1]:443", "[2001:db8::1]:443"),
        ("[::ffff:127.0.0.1]:1", "127.0.0.1:1"),
        ("[::ffff:203.0.113.9]:443", "203.0.113.9:443"),
        ("[::ffff:7f00:1]:9", "127.0.0.1:9"),
        ("224.0.0.1:5", "224.0.0.1:5"),
    ] {
        assert_eq!(PeerAddr::parse(text).unwrap().to_string(), written, "{text}");
    }
    for text in [
        "",
        ":",
        "1.2.3.4",
        "1.2.3.4:",
        ":80",
        "1.2.3.4:00005",
        "1.2.3.4:080",
        "1.2.3.4:00",
        "1.2.3.4:+80",
        "1.2.3.4:-1",
        "1.2.3.4:65536",
        "1.2.3.4:99999999999",
        "1.2.3.4: 80",
        " 1.2.3.4:80",
        "1.2.3.4:80 ",
        "1.2.3.4:80\n",
        "1.2.3.4:8a",
        "1.2.3:80",
        "1.2.3.4.5:80",
        "01.2.3.4:80",
        "1.2.3.256:80",
        "0x1.2.3.4:80",
        "localhost:80",
        "node.example:80",
        "::1:80",
        "[::1]",
        "[::1]80",
        "[::1]:",
        "[fe80::1%eth0]:80",
        "[fe80::1%1]:80",
        "[1.2.3.4]:80",
        "[:::]:80",
        "[::1]:080",
        "http://1.2.3.4:80",
        "1.2.3.4:80/",
        "1.2.3.4:٨٠",
    ] {
        assert_eq!(PeerAddr::parse(text), Err(Malformed::PeerAddr), "{text}");
    }
    let mapped = PeerAddr::parse("[::ffff:169.254.1.1]:7").unwrap();
    assert!(matches!(mapped.ip(), core::net::IpAddr::V4(ip) if ip.is_link_local()));
    assert_eq!(mapped.port(), 7);
}

#[test]
fn names_have_their_own_lengths_and_characters() {
    assert!(ReportKey::parse(&"a".repeat(128)).is_ok());
    assert!(ReportKey::parse(&"a".repeat(129)).is_err());
    assert!(SecretKey::parse(&"a".repeat(63)).is_ok());
    assert!(SecretKey::parse(&"a".repeat(64)).is_err());
    assert_eq!(ReportKey::parse("status.user-access_1").unwrap().as_str(), "status.user-access_1");
    assert!(SecretKey::parse("db.password").is_err());
    for text in ["", "A", "1a", "-a", "_a", ".a", "a/b", "a b", "a%2fb", "aé", "a\0"] {
        assert_eq!(ReportKey::parse(text), Err(Malformed::ReportKey));
        assert_eq!(SecretKey::parse(text), Err(Malformed::SecretKey));
    }
}

#[test]
fn a_refusal_tells_the_grammar_and_not_the_text() {
    for fault in [
        PublicKey::parse("CANARY").unwrap_err(),
        Checksum::parse("CANARY").unwrap_err(),
        Uuid::parse("CANARY").unwrap_err(),
        BootstrapToken::parse("psb_CANARY").unwrap_err(),
        NodeSecretKey::parse("CANARY").unwrap_err(),
        ReportKey::parse("CANARY").unwrap_err(),
        SecretKey::parse("CANARY").unwrap_err(),
        PeerAddr::parse("CANARY").unwrap_err(),
    ] {
        let told = format!("{fault} {fault:?}");
        assert!(told.starts_with("must ") && !told.contains("CANARY"), "{told}");
    }
}
