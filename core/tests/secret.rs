//! Secrets never show, neither alone nor inside what holds them.

use meshward_core::{
    secret::Secret,
    wire::{
        bearer::Credential,
        control::Bearer,
        grammar::{BootstrapToken, NodeSecretKey, PublicKey, Uuid},
        http::{Body, Headers, Method, Request, Response},
        identity::{Files, KeyFile},
        json::decode_tolerant,
        register::{RegisterDraft, RegisterRequest, RegisterResponse},
    },
};

/// What no output may hold.
const MARKER: &str = "markerabcdefghijklmnop";

fn secret() -> Secret<String> {
    Secret::new(MARKER.into())
}

fn draft() -> RegisterDraft {
    let body = format!(r#"{{"bootstrap_token":"{MARKER}"}}"#);
    decode_tolerant(body.as_bytes()).expect("a draft")
}

fn answer() -> RegisterResponse {
    let body = format!(
        r#"{{"node_id":"n","mesh_ip":"","signing_public_key":"","signing_key_id":"",
        "nsk":"{MARKER}","peer_snapshot":[],"domain_mesh_cidr":""}}"#
    );
    decode_tolerant(body.as_bytes()).expect("an answer")
}

fn request() -> Request {
    Request {
        method: Method::Post,
        path: "/v1/register".into(),
        query: None,
        headers: Headers::new()
            .with("Authorization", MARKER)
            .with("proxy-authorization", MARKER)
            .with("x-shown", "shown"),
        body: Body::Whole(MARKER.into()),
    }
}

#[test]
fn what_holds_a_secret_shows_a_mark_instead() {
    let register = RegisterRequest {
        project_id: String::new(),
        resource_handle: String::new(),
        bootstrap_token: secret(),
        nonce: Uuid::ZERO,
        public_key: PublicKey::from_bytes([1; 32]).expect("not zero"),
        requested_resource_id: None,
    };
    let files = Files {
        identity: None,
        node_secret_key: Some(secret()),
        signing_public_key: None,
        private_key: KeyFile::Sound,
    };
    let token = BootstrapToken::parse(&format!("psb_e_p_node_{MARKER}")).expect("a token");
    for shown in [
        format!("{:?}", secret()),
        format!("{:?}", Some(secret())),
        format!("{register:?}"),
        format!("{:?}", answer()),
        format!("{files:?}"),
        format!("{token:?}"),
        format!("{:#?}", Bearer { bearer: secret() }),
    ] {
        assert!(shown.contains("<secret>") && !shown.contains(MARKER), "{shown}");
    }
}

#[test]
fn messages_show_neither_bodies_nor_credentials() {
    let mut response = Response::json(201, MARKER.into());
    response.headers.push("x-shown", "shown");
    for shown in [format!("{:?}", request()), format!("{response:?}"), format!("{:?}", draft())] {
        assert!(!shown.contains(MARKER), "{shown}");
    }
    assert!(format!("{:?}", request()).contains("shown"));
    assert!(format!("{response:?}").contains("shown"));
}

#[test]
fn a_key_shows_none_of_its_bytes_in_any_spelling() {
    let key = NodeSecretKey::from_bytes([0xA7; 32]);
    let credential = Credential { node: Uuid::ZERO, key: key.clone() };
    for shown in [format!("{key:?}"), format!("{credential:?}"), format!("{:?}", key.to_text())] {
        assert!(shown.contains("<secret>"), "{shown}");
        for spelling in ["167", "a7", "A7", "p6en"] {
            assert!(!shown.contains(spelling), "{shown}");
        }
    }
}

#[test]
fn secrets_are_equal_by_value() {
    assert_eq!(secret(), secret());
    assert_ne!(secret(), Secret::new("other".into()));
    assert_ne!(secret(), Secret::new(format!("{MARKER}x")));
    assert_ne!(NodeSecretKey::from_bytes([1; 32]), NodeSecretKey::from_bytes([2; 32]));
}
