//! The bearer envelope, both directions.

use meshward_core::wire::{
    bearer::{Credential, Refusal},
    grammar::{NodeSecretKey, Uuid},
};
use proptest::prelude::*;

use crate::support::seeds_in;

const PAYLOAD: &str = "AZCouKDAegqKCqCgoKCgowABAgMEBQYHCAkKCwwNDg-AkaKzxNXm9_jp2su8rZ6P";
const NODE: &str = "0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3";
const KEY: &str = "AAECAwQFBgcICQoLDA0OD4CRorPE1eb3+Onay7ytno8=";

fn credential() -> Credential {
    Credential {
        node: Uuid::parse(NODE).expect("a UUID"),
        key: NodeSecretKey::parse(KEY).expect("a key"),
    }
}

fn refusal(header: &str) -> Refusal {
    Credential::parse(header).expect_err("no credential")
}

#[test]
fn the_vector_of_the_specification_is_read_and_written() {
    assert_eq!(credential().envelope("e2e").expose(), &format!("nsk_e2e_{PAYLOAD}"));
    assert_eq!(Credential::parse(&format!("Bearer nsk_e2e_{PAYLOAD}")), Ok(credential()));
}

#[test]
fn the_env_is_not_checked_but_must_not_be_empty() {
    for env in ["meshward", "e2e", "-", "é", "NSK"] {
        assert_eq!(Credential::parse(&format!("Bearer nsk_{env}_{PAYLOAD}")), Ok(credential()));
    }
    assert_eq!(refusal(&format!("Bearer nsk__{PAYLOAD}")), Refusal::Envelope);
}

#[test]
fn only_the_first_two_underscores_split() {
    assert!(PAYLOAD.contains('_') && PAYLOAD.contains('-'));
    // With an underscore in the env, the payload begins too early.
    assert_eq!(refusal(&format!("Bearer nsk_e2e_xyz_{PAYLOAD}")), Refusal::Length);
}

#[test]
fn another_scheme_is_refused() {
    for header in [
        "",
        "Bearer",
        "bearer nsk_e2e_",
        "BEARER nsk_e2e_",
        "Basic bnNr",
        "Bearer\tnsk_e2e_",
        "nsk_e2e_",
        "Token nsk_e2e_",
        " Bearer nsk_e2e_",
    ] {
        assert_eq!(
            refusal(&format!("{header}{}", if header.ends_with('_') { PAYLOAD } else { "" })),
            Refusal::Scheme,
            "{header}"
        );
    }
    assert_eq!(refusal(&format!("Bearer  nsk_e2e_{PAYLOAD}")), Refusal::Envelope);
}

#[test]
fn what_is_no_envelope_is_refused() {
    for envelope in [
        "",
        " ",
        KEY,
        "nsk",
        "nsk_e2e",
        "nsk-e2e-x",
        PAYLOAD,
        "NSK_e2e_AA",
        "xnsk_e2e_AA",
        "psb_prod_abc_node_aaaaaaaaaaaaaaaaaaaa",
    ] {
        assert_eq!(refusal(&format!("Bearer {envelope}")), Refusal::Envelope, "{envelope}");
    }
}

#[test]
fn a_padded_payload_or_one_of_another_alphabet_is_refused() {
    let standard = PAYLOAD.replace('-', "+").replace('_', "/");
    for payload in [
        format!("{PAYLOAD}="),
        format!("{PAYLOAD}=="),
        format!("{PAYLOAD} "),
        format!(" {PAYLOAD}"),
        format!("{PAYLOAD}\n"),
        standard,
        KEY.to_owned(),
        "A".to_owned(),
        "é".to_owned(),
    ] {
        assert_eq!(refusal(&format!("Bearer nsk_e2e_{payload}")), Refusal::Encoding, "{payload}");
    }
}

#[test]
fn a_payload_of_another_length_is_refused() {
    for payload in [
        String::new(),
        "AA".into(),
        PAYLOAD[..4].into(),
        PAYLOAD[..60].into(),
        format!("{PAYLOAD}AAAA"),
        PAYLOAD.repeat(2),
    ] {
        assert_eq!(refusal(&format!("Bearer nsk_e2e_{payload}")), Refusal::Length, "{payload}");
    }
}

#[test]
fn another_node_or_key_is_another_credential() {
    let other_key = Credential { key: NodeSecretKey::from_bytes([7; 32]), ..credential() };
    let other_node = Credential { node: Uuid::ZERO, ..credential() };
    for other in [other_key, other_node] {
        let read =
            Credential::parse(&format!("Bearer {}", other.envelope("e2e").expose())).unwrap();
        assert_eq!(read, other);
        assert_ne!(read, credential());
    }
}

#[test]
fn no_refusal_and_no_printed_credential_shows_the_key() {
    let shown = format!("{:?} {:?}", credential(), credential().envelope("e2e"));
    assert!(
        !shown.contains(&PAYLOAD[24..]) && !shown.contains(&KEY[..20]) && shown.contains(NODE),
        "{shown}"
    );
    for header in [
        format!("Basic {KEY}"),
        format!("Bearer {KEY}"),
        format!("Bearer nsk_e2e_{KEY}"),
        format!("Bearer nsk_e2e_{PAYLOAD}AAAA"),
    ] {
        let told = format!("{0} {0:?}", refusal(&header));
        assert!(!told.contains(&KEY[..8]) && !told.contains(&PAYLOAD[..8]), "{told}");
    }
}

proptest! {
    #![proptest_config(seeds_in("bearer"))]

    #[test]
    fn every_credential_comes_back(node in any::<[u8; 16]>(), key in any::<[u8; 32]>(), env in "[^_]{1,12}") {
        let sent = Credential { node: Uuid::from_bytes(node), key: NodeSecretKey::from_bytes(key) };
        let header = format!("Bearer {}", sent.envelope(&env).expose());
        prop_assert_eq!(Credential::parse(&header), Ok(sent));
    }

    #[test]
    fn no_header_makes_the_reader_panic(header in any::<String>(), payload in "[A-Za-z0-9_-]{0,80}") {
        let _ = Credential::parse(&header);
        let read = Credential::parse(&format!("Bearer nsk_e_{payload}"));
        prop_assert_eq!(read.is_ok(), payload.len() == 64);
    }
}
