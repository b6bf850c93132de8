//! What holds a secret prints none of it.

use meshward_core::{
    agent::facts::{Gathered, TokenFile, TokenSources},
    secret::Secret,
    wire::{
        execution::{CallbackResponse, Status},
        grammar::{BootstrapToken, Name, NodeSecretKey, PublicKey, Uuid},
        http::{Body, Headers, Method, Request, Response},
        identity::{Files, Found, Identity, KeyFile},
        json::{Raw, decode_tolerant},
        register::{RegisterDraft, RegisterRequest, RegisterResponse},
    },
};

const MARKER: &str = "canarysecretvaluetwo";

/// Base64 of 32 bytes that begins with the same letters.
const KEY: &str = "canarysecretvaluetwoAAAAAAAAAAAAAAAAAAAAAAA=";

fn mute(value: &impl core::fmt::Debug) -> String {
    let shown = format!("{value:?} {value:#?}");
    assert!(!shown.contains(MARKER), "{shown}");
    // Neither as numbers: a derived print of a byte array would show them.
    assert!(!shown.contains("113, 169, 218"), "{shown}");
    shown
}

fn secret() -> Secret<String> {
    Secret::new(MARKER.to_owned())
}

fn answer() -> RegisterResponse {
    RegisterResponse {
        node_id: Name("0190a8b8-a0c0-7a0a-8a0a-a0a0a0a0a0a3".into()),
        mesh_ip: "10.99.0.1".into(),
        signing_public_key: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".into(),
        signing_key_id: String::new(),
        nsk: Secret::new(KEY.into()),
        peer_snapshot: Vec::new(),
        domain_mesh_cidr: String::new(),
    }
}

#[test]
fn a_secret_is_a_mark() {
    assert_eq!(format!("{:?}", secret()), "<secret>");
    assert_eq!(secret().expose(), MARKER);
    assert_eq!(secret(), secret());
    assert_ne!(secret(), Secret::new(String::new()));
    assert_ne!(secret(), Secret::new(format!("{MARKER}x")));
}

#[test]
fn keys_and_tokens_do_not_show() {
    let key = NodeSecretKey::parse(KEY).unwrap();
    assert!(mute(&key).contains("<secret>"));
    mute(&key.to_text());
    let token = BootstrapToken::parse(&format!("psb_prod_abc_node_{MARKER}")).unwrap();
    assert!(mute(&token).contains("Node"));
}

#[test]
fn a_registration_does_not_show_what_it_carries() {
    let request = RegisterRequest {
        project_id: "p".into(),
        resource_handle: "h".into(),
        bootstrap_token: secret(),
        nonce: Uuid::ZERO,
        public_key: PublicKey::from_bytes([1; 32]).unwrap(),
        requested_resource_id: None,
    };
    assert!(mute(&request).contains("resource_handle"));
    let draft: RegisterDraft =
        decode_tolerant(format!(r#"{{"bootstrap_token":"{MARKER}"}}"#).as_bytes()).unwrap();
    assert_eq!(draft.bootstrap_token.text(), Ok(Some(MARKER.into())));
    mute(&draft);
    mute(&answer());
}

#[test]
fn an_identity_does_not_show_its_key() {
    let identity = Identity::registered(answer()).unwrap();
    assert!(mute(&identity).contains("10.99.0.1"));
    mute(&identity.credential());
    mute(&identity.credential().envelope("meshward"));
    let files = Files {
        identity: Found::Content(identity.file.encode()),
        node_secret_key: Found::Content(Secret::new(KEY.into())),
        signing_public_key: Found::Content("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".into()),
        private_key: KeyFile::Sound,
    };
    mute(&files);
    let broken = Files { node_secret_key: Found::Content(secret()), ..files };
    let corrupt = Identity::load(&broken).unwrap_err();
    assert!(!mute(&corrupt).contains(MARKER) && !corrupt.to_string().contains(MARKER));
}

#[test]
fn the_sources_of_a_token_do_not_show_it() {
    let token = TokenSources {
        value: Some(secret()),
        file: TokenFile::Text(secret()),
        environment: Some(secret()),
        metadata: Some(secret()),
        tried: vec!["token_value".into()],
    };
    let gathered = Gathered {
        token,
        project_id: "".into(),
        resource_handle: "".into(),
        requested_resource_id: "".into(),
        nonce: Ok(Uuid::ZERO),
    };
    assert!(mute(&gathered).contains("token_value"));
}

#[test]
fn a_request_shows_neither_credential_nor_body_nor_query() {
    let request = Request {
        method: Method::Put,
        path: "/exec-output/e1".into(),
        query: Some(format!("token={MARKER}&{MARKER}&version={MARKER}=x&empty=")),
        headers: Headers::new()
            .with("Authorization", &format!("Bearer nsk_e2e_{MARKER}"))
            .with("Proxy-Authorization", MARKER)
            // A control plane may echo what it was sent in any field.
            .with("X-Correlation-Id", MARKER)
            .with("Content-Type", "visible"),
        body: Body::Whole(MARKER.into()),
    };
    let shown = mute(&request);
    for part in [
        "PUT",
        "/exec-output/e1",
        "?token=***&***&version=***&empty=***",
        "visible",
        "20 bytes",
        "\"authorization\": \"<hidden>\"",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
}

#[test]
fn a_response_shows_no_body() {
    let response = Response::json(201, format!(r#"{{"nsk":"{MARKER}"}}"#).into_bytes());
    assert!(mute(&response).contains("application/json"));
    mute(&Body::Whole(MARKER.into()));
    mute(&Raw::parse(&format!("\"{MARKER}\"")).unwrap());
}

#[test]
fn an_upload_url_does_not_show_its_token() {
    let response = CallbackResponse {
        status: Status::Started,
        output_upload_url: Some(format!("http://h/exec-output/e?token={MARKER}")),
    };
    assert!(mute(&response).contains("output_upload_url: Some"));
    let bare = CallbackResponse { output_upload_url: None, ..response };
    assert!(mute(&bare).contains("output_upload_url: None"));
}
