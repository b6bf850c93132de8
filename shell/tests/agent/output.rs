//! What hooks print, through the whole way: inline, by upload, or cut, exactly as told.

use std::fs;

use meshward_core::wire::{execution::INLINE_OUTPUT_MAX, grammar::base64_bytes};
use meshward_fixture::Running;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::{
    hooks::{folder, order, outcome, put, scene},
    node::{Node, counter, post, until},
};

const TRUNCATED: &[u8] = b"\n...[truncated]";

/// The default of `actions.max_output_bytes`.
const OUTPUT_MAX: usize = 1 << 20;

/// Prints the file beside the hooks that its parameter names.
const PRINTS: &str = "#!/bin/sh\nexec cat \"../printed/$AGENT_PARAM_FILE\"\n";

/// Bytes that no part of the way may take for text: every value, NUL and invalid UTF-8 among them.
fn noise(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at.wrapping_mul(31) ^ (at >> 8)) as u8).collect()
}

fn printing(node: &Node, rows: &[(&str, Vec<u8>)]) {
    fs::create_dir(node.path("printed")).unwrap();
    for (name, bytes) in rows {
        fs::write(node.path("printed").join(name), bytes).unwrap();
    }
    folder(node);
    put(node, "print", PRINTS);
}

fn uploaded(plane: &Running, id: &str) -> Vec<u8> {
    plane.request(crate::node::read(&format!("/test/exec-output/{id}"))).body
}

fn inline(callback: &Value) -> Vec<u8> {
    base64_bytes(callback["output"]["inline"].as_str().unwrap()).unwrap()
}

fn cut(bytes: &[u8], limit: usize) -> Vec<u8> {
    [&bytes[..limit - TRUNCATED.len()], TRUNCATED].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn output_of_every_size_arrives_as_it_was_printed_or_cut_as_told() {
    let Some((plane, node)) = scene().await else { return };
    let sizes = [0, 1, INLINE_OUTPUT_MAX - 1, INLINE_OUTPUT_MAX, INLINE_OUTPUT_MAX + 1];
    let sizes = sizes.into_iter().chain([OUTPUT_MAX, OUTPUT_MAX + 1]);
    let rows: Vec<_> = sizes.map(|size| (size.to_string(), noise(size))).collect();
    let named: Vec<_> = rows.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    printing(&node, &named);
    let _agent = node.start();
    for (name, bytes) in &rows {
        let id = format!("print-{name}");
        order(&plane, &id, "print", &json!({"file": name}));
        let callback = outcome(&plane, &id).await;
        assert_eq!((&callback["status"], &callback["exit_code"]), (&json!("succeeded"), &json!(0)));
        let expected =
            if bytes.len() > OUTPUT_MAX { cut(bytes, OUTPUT_MAX) } else { bytes.clone() };
        match bytes.len() {
            0 => assert!(callback.get("output").is_none(), "{callback}"),
            1..=INLINE_OUTPUT_MAX => assert!(inline(&callback) == expected, "{name} bytes"),
            _ => {
                assert_eq!(callback["output"]["object_key"], format!("exec-output/{id}"));
                let digest = Sha256::digest(&expected);
                let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(callback["output"]["sha256"], digest, "{name} bytes");
                assert!(uploaded(&plane, &id) == expected, "{name} bytes");
            }
        }
    }
    assert_eq!(counter(&plane, "execution_upload_count"), 3);
    assert!(!node.log().contains("token=exec-upload"), "the upload URL stands in the log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn output_whose_upload_fails_goes_inline_as_far_as_it_fits() {
    let Some((plane, node)) = scene().await else { return };
    let bytes = noise(INLINE_OUTPUT_MAX + 1);
    printing(&node, &[("long", bytes.clone())]);
    let _agent = node.start();
    let spoil = json!({"method": "PUT", "path": "/exec-output/**", "status": 503, "times": 1});
    post(&plane, "/test/faults", &spoil);
    order(&plane, "spoilt", "print", &json!({"file": "long"}));
    let callback = outcome(&plane, "spoilt").await;
    assert!(inline(&callback) == cut(&bytes, INLINE_OUTPUT_MAX));
    let told = "the output of execution \"spoilt\" goes inline, cut to what fits there: it was answered 503";
    until("it is told", || node.log().contains(told)).await;
    assert_eq!(counter(&plane, "execution_upload_count"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn both_streams_are_joined_and_an_end_by_a_signal_is_told() {
    let Some((plane, node)) = scene().await else { return };
    folder(&node);
    put(&node, "dies", "#!/bin/sh\nprintf out; printf err >&2; kill -KILL $$\n");
    let _agent = node.start();
    order(&plane, "dies", "dies", &json!({}));
    let callback = outcome(&plane, "dies").await;
    assert_eq!(inline(&callback), b"out\nerr");
    assert_eq!(callback["status"], "failed");
    assert_eq!(
        (&callback["exit_code"], &callback["error"]),
        (&json!(137), &json!("ended by signal 9"))
    );
}
