//! The releases: two tags, any architecture, and a bundle that belongs to its file.

use meshward_core::{
    plane::{Listener, release},
    wire::{
        grammar::base64_text,
        http::{Body, Method, Response},
    },
};
use sha2::{Digest, Sha256};

use crate::desk::{Desk, request, text, verdict};

/// Without any credential.
fn fetch(desk: &mut Desk, method: Method, path: &str) -> Response {
    desk.send(Listener::Main, request(method, path, Body::EMPTY))
}

#[test]
fn both_releases_have_the_same_file_for_every_architecture() {
    let mut desk = Desk::open();
    for tag in ["v9.9.9", "v9.9.8"] {
        for arch in ["amd64", "arm64", "riscv64", "any%20text", "x.sigstore.json.gz"] {
            let answer =
                fetch(&mut desk, Method::Get, &format!("/releases/{tag}/meshward-linux-{arch}"));
            let kind = answer.headers.first("content-type");
            assert_eq!((answer.status, kind), (200, Some("application/octet-stream")), "{arch}");
            assert_eq!(answer.body, release::FILE);
        }
    }
}

#[test]
fn the_bundle_of_one_release_tells_the_digest_of_its_file_and_the_other_is_garbage() {
    let mut desk = Desk::open();
    let asset = "meshward-linux-amd64.sigstore.json";
    let good = fetch(&mut desk, Method::Get, &format!("/releases/v9.9.9/{asset}"));
    assert_eq!(good.headers.first("content-type"), Some("application/json"));
    let digest = base64_text(&Sha256::digest(release::FILE));
    assert!(text(&good).contains(&format!("\"digest\":\"{digest}\"")), "{}", text(&good));
    let bad = fetch(&mut desk, Method::Get, &format!("/releases/v9.9.8/{asset}"));
    let kind = bad.headers.first("content-type");
    assert_eq!((bad.status, kind), (200, Some("application/json")));
    assert_eq!(text(&bad), "garbage not a bundle");
}

#[test]
fn another_tag_or_asset_is_not_found_and_another_method_not_allowed() {
    let mut desk = Desk::open();
    for path in [
        "/releases/v9.9.7/meshward-linux-amd64",
        "/releases/9.9.9/meshward-linux-amd64",
        "/releases/V9.9.9/meshward-linux-amd64",
        "/releases/latest/meshward-linux-amd64",
        "/releases/v9.9.9/meshward-darwin-arm64",
        "/releases/v9.9.9/Meshward-linux-amd64",
        "/releases/v9.9.9/checksums.txt",
        "/releases/v9.9.8/linux-amd64",
        "/releases/v9.9.9",
        "/releases/v9.9.9/",
        "/releases/v9.9.9/meshward-linux-amd64/",
        "/releases/v9.9.9/meshward-linux-%2Famd64",
    ] {
        let answer = fetch(&mut desk, Method::Get, path);
        assert_eq!(verdict(&answer), (404, String::new()), "{path}");
        let kind = answer.headers.first("content-type");
        assert_eq!(kind, Some("application/problem+json"), "{path}");
    }
    let posted = fetch(&mut desk, Method::Post, "/releases/v9.9.9/meshward-linux-amd64");
    assert_eq!((posted.status, posted.headers.first("allow")), (405, Some("GET, HEAD")));
}

#[test]
fn head_tells_the_length_of_an_asset_and_sends_none_of_it() {
    let mut desk = Desk::open();
    let answer = fetch(&mut desk, Method::Head, "/releases/v9.9.9/meshward-linux-amd64");
    let length = release::FILE.len().to_string();
    assert_eq!((answer.status, answer.body.len()), (200, 0));
    assert_eq!(answer.headers.first("content-length"), Some(length.as_str()));
}
