//! What programs on the node send, and what the disk holds of it.

use meshward_core::{
    agent::local::{
        Ask, CONTENT_TYPE_MAX, REPORT_BODY_MAX, RUN_BODY_MAX, read_order, read_report, route,
    },
    wire::{
        grammar::ReportKey,
        http::{Body, Headers, Method, Request},
        kept::{KeptReport, file_key, file_name},
        positions::Positions,
        report::VALUE_MAX,
    },
};

const METHODS: [Method; 6] =
    [Method::Get, Method::Head, Method::Post, Method::Put, Method::Delete, Method::Other];

/// The same bytes as the body of a write, the content of a kept file, a key, a header and a path.
pub fn decode_local(bytes: &[u8]) {
    write(bytes, None);
    order(bytes);
    kept(bytes);
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    write(br#"{"content_type":"a","payload":1}"#, Some(text));
    let name = file_name(text);
    assert!(name.len() <= 200, "a name has room for what is put around it");
    if !name.starts_with("%-") {
        assert_eq!(file_key(&name).as_deref(), Some(text), "a name leads back to its key");
    }
    assert!(text.is_empty() || !file_name(text).starts_with(['.', '/']));
    if let Some(key) = file_key(text) {
        assert_eq!(file_name(&key), text, "a key has one name");
    }
    for method in METHODS {
        for path in [text.to_owned(), format!("/v1/state/{text}"), format!("/v1/{text}")] {
            let Ok(ask) = route(method, &path) else { continue };
            let most = match ask {
                Ask::PutReport(_) => REPORT_BODY_MAX,
                Ask::RunAction => RUN_BODY_MAX,
                Ask::DeleteReport(_)
                | Ask::Metrics
                | Ask::Read(_)
                | Ask::ReloadHooks
                | Ask::Secret(_)
                | Ask::Watch => 0,
            };
            assert!([0, most].contains(&ask.body_max()));
        }
    }
}

fn write(body: &[u8], if_match: Option<&str>) {
    let headers = match if_match {
        Some(version) => Headers::new().with("if-match", version),
        None => Headers::new(),
    };
    let (path, body) = ("/v1/state/report/a".to_owned(), Body::Whole(body.to_vec()));
    let request = Request { method: Method::Put, path, query: None, headers, body };
    let Ok((key, draft, _)) = read_report("a", &request) else { return };
    assert_eq!(key.as_str(), "a");
    assert!(!draft.content_type.is_empty() && draft.content_type.len() <= CONTENT_TYPE_MAX);
    assert!(draft.payload.text().len() <= VALUE_MAX);
    assert_eq!(draft.payload.compact(), draft.payload, "what is compact stays as it is");
}

fn order(bytes: &[u8]) {
    let (method, path) = (Method::Post, "/v1/actions/run".to_owned());
    let body = Body::Whole(bytes.to_vec());
    let request = Request { method, path, query: None, headers: Headers::new(), body };
    match read_order((&["a".to_owned()], true), 7, &request) {
        Ok(order) => assert!(order.user == 7 && !order.action.is_empty()),
        Err(refused) => assert_eq!(refused.status, 400),
    }
}

fn kept(bytes: &[u8]) {
    if let Ok(positions) = Positions::decode(bytes) {
        assert_eq!(Positions::decode(&positions.encode()), Ok(positions), "as it is written");
    }
    let key = ReportKey::parse("a").expect("a key");
    let Ok(report) = KeptReport::decode(&key, bytes) else { return };
    assert_eq!(
        KeptReport::decode(&key, &report.encode()),
        Ok(report),
        "it is read as it is written"
    );
}
