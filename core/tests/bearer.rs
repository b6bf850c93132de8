//! The bearer envelope: its vector, the order of its checks, and that no refusal echoes it.

#[path = "support/seeds.rs"]
mod seeds;

use meshward_core::wire::{
    bearer::{Credential, PAYLOAD_LEN, Refusal},
    grammar::{NodeSecretKey, Uuid},
};
use proptest::prelude::*;

const ENVELOPE: &str = "nsk_e2e_AZCouKDAegqKCqCgoKCgowABAgMEBQYHCAkKCwwNDg-AkaKzxNXm9_jp2su8rZ6P";
const PAYLOAD: &str = "AZCouKDAegqKCqCgoKCgowABAgMEBQYHCAkKCwwNDg-AkaKzxNXm9_jp2su8rZ6P";
const KEY: &str = "AAECAwQFBgcICQoLDA0OD4CRorPE1eb3+Onay7ytno8=";

fn vector() -> Credential {
    Credential {
        node: Uuid::parse("0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3").expect("a UUID"),
        key: NodeSecretKey::parse(KEY).expect("a key"),
    }
}

#[test]
fn the_vector_is_read_and_written() {
    assert_eq!(Credential::parse(&format!("Bearer {ENVELOPE}")), Ok(vector()));
    assert_eq!(vector().envelope("e2e").expose(), ENVELOPE);
    assert_eq!(PAYLOAD_LEN, 48);
}

#[test]
fn the_payload_may_hold_hyphens_and_underscores() {
    assert!(PAYLOAD.contains('_') && PAYLOAD.contains('-'));
    for env in ["p", "PROD", "e-2", "é", " "] {
        let header = format!("Bearer nsk_{env}_{PAYLOAD}");
        assert_eq!(Credential::parse(&header), Ok(vector()), "{env}");
    }
}

#[test]
fn each_check_refuses_in_its_turn() {
    let shorter = &PAYLOAD[..60];
    for (header, expected) in [
        (String::new(), Refusal::Scheme),
        ("Bearer".into(), Refusal::Scheme),
        (ENVELOPE.into(), Refusal::Scheme),
        (format!("bearer {ENVELOPE}"), Refusal::Scheme),
        (format!("BEARER {ENVELOPE}"), Refusal::Scheme),
        (format!("Basic {ENVELOPE}"), Refusal::Scheme),
        (format!("Bearer\t{ENVELOPE}"), Refusal::Scheme),
        (format!(" Bearer {ENVELOPE}"), Refusal::Scheme),
        ("Bearer ".into(), Refusal::Envelope),
        (format!("Bearer  {ENVELOPE}"), Refusal::Envelope),
        (format!("Bearer {KEY}"), Refusal::Envelope),
        (format!("Bearer {PAYLOAD}"), Refusal::Envelope),
        (format!("Bearer nsk_{}", &PAYLOAD[..20]), Refusal::Envelope),
        (format!("Bearer nsk__{PAYLOAD}"), Refusal::Envelope),
        (format!("Bearer NSK_e2e_{PAYLOAD}"), Refusal::Envelope),
        (format!("Bearer psb_e2e_{PAYLOAD}"), Refusal::Envelope),
        (format!("Bearer nsk_e2e_{PAYLOAD}="), Refusal::Encoding),
        (format!("Bearer nsk_e2e_{PAYLOAD} "), Refusal::Encoding),
        (format!("Bearer nsk_e2e_{}", PAYLOAD.replace('-', "+")), Refusal::Encoding),
        (format!("Bearer nsk_e2e_{}", PAYLOAD.replace('_', "/")), Refusal::Encoding),
        (format!("Bearer nsk_e2e_{KEY}"), Refusal::Encoding),
        (format!("Bearer nsk_e2e_{}", &PAYLOAD[..61]), Refusal::Encoding),
        (format!("Bearer nsk_e2e_{shorter}B"), Refusal::Encoding),
        (format!("Bearer nsk_e2e_{shorter}AB"), Refusal::Encoding),
        (format!("Bearer nsk_a_bcd_{PAYLOAD}"), Refusal::Length),
        ("Bearer nsk_e2e_".into(), Refusal::Length),
        ("Bearer nsk_e2e_AAAA".into(), Refusal::Length),
        (format!("Bearer nsk_e2e_{shorter}"), Refusal::Length),
        (format!("Bearer nsk_e2e_{PAYLOAD}AA"), Refusal::Length),
        (format!("Bearer nsk_e2e_{PAYLOAD}AAAA"), Refusal::Length),
    ] {
        assert_eq!(Credential::parse(&header), Err(expected), "{header}");
        let told = expected.to_string();
        assert!(!told.contains(&PAYLOAD[..8]) && !told.contains(&KEY[..8]), "{told}");
    }
}

#[test]
fn every_refusal_tells_its_own_check() {
    let all = [
        Refusal::Absent,
        Refusal::Repeated,
        Refusal::Scheme,
        Refusal::Envelope,
        Refusal::Encoding,
        Refusal::Length,
    ];
    let told: std::collections::BTreeSet<String> = all.iter().map(Refusal::to_string).collect();
    assert_eq!(told.len(), all.len());
}

#[test]
fn a_credential_shows_neither_its_key_nor_its_envelope() {
    let shown = format!("{:?} {:?}", vector(), vector().envelope("e2e"));
    for secret in [KEY, &PAYLOAD[24..], "128, 145"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

proptest! {
    #![proptest_config(seeds::seeds_in("bearer"))]

    #[test]
    fn an_envelope_is_read_as_it_was_written(
        node in any::<[u8; 16]>(), key in any::<[u8; 32]>(), env in "[a-z0-9-]{1,8}"
    ) {
        let credential =
            Credential { node: Uuid::from_bytes(node), key: NodeSecretKey::from_bytes(key) };
        let envelope = credential.envelope(&env);
        prop_assert_eq!(Credential::parse(&format!("Bearer {}", envelope.expose())), Ok(credential));
    }

    #[test]
    fn an_envelope_has_one_spelling(text in "nsk_e2e_[A-Da-d_+/=-]{62,66}") {
        if let Ok(credential) = Credential::parse(&format!("Bearer {text}")) {
            let written = credential.envelope("e2e");
            prop_assert_eq!(written.expose(), &text);
        }
    }
}
