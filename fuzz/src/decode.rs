//! Bytes to types and back: a decoder never panics, and what it took is written so that it is read as the same.

use std::fmt::Debug;

use meshward_core::{
    plane::{ingest, site},
    secret::Secret,
    wire::{
        bearer::Credential,
        call::Sink,
        event::{ConfigureEvents, Envelope, InjectEvent},
        execution::{Callback, CallbackResponse, Execution},
        grammar::{Checksum, PublicKey, Uuid},
        heartbeat::{
            ConfigureHeartbeat, HeartbeatDraft, HeartbeatRequest, HeartbeatResponse, NatSummary,
        },
        http::Body,
        identity::IdentityFile,
        ingest::{AuditEvent, IngestReceipt, LogLine, MetricSample, RECORDS_MAX},
        json::{Raw, decode_strict, decode_tolerant, encode},
        register::{RegisterDraft, RegisterRequest, RegisterResponse},
        report::{ReportRequest, ReportResponse},
        rotation::{KeyRotateDraft, KeyRotateRequest, Receipt},
        secret::{CIPHERTEXT_MAX, ConfigureSecrets, open, seal},
        session::Activity,
        snapshot::Snapshot,
        timestamp::Timestamp,
    },
};
use serde::{Deserialize, Serialize};

/// Reads both ways; what was read comes back from its own encoding, and strict implies tolerant.
pub(crate) fn round_trip<T>(bytes: &[u8])
where
    T: for<'t> Deserialize<'t> + Serialize + PartialEq + Debug,
{
    let tolerant = decode_tolerant::<T>(bytes);
    if let Ok(strict) = decode_strict::<T>(bytes) {
        assert_eq!(Ok(&strict), tolerant.as_ref(), "strict and tolerant readers disagree");
    }
    if let Ok(value) = tolerant {
        let text = encode(&value);
        assert_eq!(Ok(value), decode_strict::<T>(&text), "{}", String::from_utf8_lossy(&text));
    }
}

/// An `Authorization` header: what parses is written back into one that claims the same.
pub fn bearer(bytes: &[u8]) {
    let Ok(header) = core::str::from_utf8(bytes) else { return };
    let Ok(credential) = Credential::parse(header) else { return };
    let envelope = credential.envelope("meshward");
    let again = format!("Bearer {}", envelope.expose());
    assert_eq!(Ok(&credential), Credential::parse(&again).as_ref());
    let payload = |text: &str| text.splitn(3, '_').nth(2).map(str::to_owned);
    assert_eq!(payload(header), payload(&again), "two spellings of one payload");
}

/// The registration request as the plane reads it, and the answer as the agent reads it.
pub fn decode_register(bytes: &[u8]) {
    round_trip::<RegisterResponse>(bytes);
    round_trip::<IdentityFile>(bytes);
    let Ok(draft) = decode_strict::<RegisterDraft>(bytes) else { return };
    let Some(request) = registration(&draft) else { return };
    let again: RegisterDraft =
        decode_strict(&encode(&request)).expect("the plane reads what the agent writes");
    assert_eq!(Some(request), registration(&again));
}

/// The draft as the request that an agent would have sent, where there is one.
fn registration(draft: &RegisterDraft) -> Option<RegisterRequest> {
    Some(RegisterRequest {
        project_id: draft.project_id.text().ok()??,
        resource_handle: draft.resource_handle.text().ok()??,
        bootstrap_token: Secret::new(draft.bootstrap_token.text().ok()??),
        nonce: Uuid::parse(&draft.nonce.text().ok()??).ok()?,
        public_key: PublicKey::parse(&draft.public_key.text().ok()??).ok()?,
        requested_resource_id: draft.requested_resource_id.text().ok()?,
    })
}

/// The heartbeat, its answer and the body that configures the answer.
pub fn decode_heartbeat(bytes: &[u8]) {
    round_trip::<HeartbeatResponse>(bytes);
    round_trip::<ConfigureHeartbeat>(bytes);
    let Ok(draft) = decode_strict::<HeartbeatDraft>(bytes) else { return };
    let (Some(client_now), Ok(binary_checksum)) =
        (draft.client_now, Checksum::parse(&draft.binary_checksum))
    else {
        return;
    };
    let request = HeartbeatRequest {
        client_now,
        binary_checksum,
        binary_version: draft.binary_version.clone(),
        nat_summary: NatSummary::default(),
    };
    let again: HeartbeatDraft =
        decode_strict(&encode(&request)).expect("the plane reads what the agent writes");
    assert_eq!(again.client_now, Some(client_now));
    assert_eq!(Checksum::parse(&again.binary_checksum), Ok(binary_checksum));
    assert_eq!(again.binary_version, draft.binary_version);
    assert!(again.nat_summary.is_some_and(|summary| summary.text() == "{}"));
}

/// The rotation request and its receipt.
pub fn decode_rotation(bytes: &[u8]) {
    round_trip::<Receipt>(bytes);
    let Ok(draft) = decode_strict::<KeyRotateDraft>(bytes) else { return };
    let Ok(new_public_key) = PublicKey::parse(&draft.new_public_key) else { return };
    let text = encode(&KeyRotateRequest { new_public_key });
    assert_eq!(Ok(draft), decode_strict(&text), "one key has one spelling");
}

/// The execution callback, its answer and the entry on the pull.
pub fn decode_callback(bytes: &[u8]) {
    round_trip::<Callback>(bytes);
    round_trip::<CallbackResponse>(bytes);
    round_trip::<Execution>(bytes);
}

/// An event as it is injected and as it is sent, and the mode of the stream.
pub fn decode_event(bytes: &[u8]) {
    round_trip::<InjectEvent>(bytes);
    round_trip::<ConfigureEvents>(bytes);
    let Ok(seen) = decode_tolerant::<Envelope>(bytes) else { return };
    let text = seen.text();
    assert!(!text.contains(&b'\n'), "an envelope is one line");
    let again: Envelope = decode_strict(&text).expect("an envelope is read back");
    assert_eq!(seen.event.signed_bytes(), again.event.signed_bytes(), "one event, two forms");
    assert_eq!(seen.signature, again.signature);
    let payload = |envelope: &Envelope| envelope.event.payload.as_ref().map(value);
    assert_eq!(payload(&seen), payload(&again), "another payload");
}

/// The value of a raw text, where the usual decoder reads it.
fn value(raw: &Raw) -> Option<serde_json::Value> {
    serde_json::from_str(raw.text()).ok()
}

/// Reads one record, which borrows from its text; tells whether there is one.
macro_rules! is_record {
    ($type:ident, $bytes:expr) => {
        decode_strict::<$type<'_>>($bytes).is_ok_and(|record| {
            let text = encode(&record);
            assert!(!text.contains(&b'\n'), "a record is one line");
            assert_eq!(decode_strict::<$type<'_>>(&text).as_ref(), Ok(&record));
            assert_eq!(decode_tolerant::<$type<'_>>($bytes).as_ref(), Ok(&record));
            true
        })
    };
}

/// The records of a batch: what is read is written and read as the same, and a batch is as many as its lines.
pub fn decode_ingest(bytes: &[u8]) {
    round_trip::<IngestReceipt>(bytes);
    let one = [
        is_record!(MetricSample, bytes),
        is_record!(LogLine, bytes),
        is_record!(AuditEvent, bytes),
    ];
    assert!(one.iter().filter(|good| **good).count() <= 1, "no text is two kinds of record");
    let body = Body::Whole(bytes.to_vec());
    let read = [Sink::Metrics, Sink::Logs, Sink::Audit].map(|sink| ingest::read(sink, &body));
    if !bytes.contains(&b'\n') {
        let [_, log, audit] = &read;
        assert_eq!((log.is_ok(), audit.is_ok()), (one[1], one[2]), "one line is one record");
    }
    let array = [b"[", bytes, b"]"].concat();
    let alone = ingest::read(Sink::Metrics, &Body::Whole(array)) == Ok(1);
    assert!(alone || !one[0], "a sample is a batch of one");
    for count in read.into_iter().flatten() {
        assert!((1..=RECORDS_MAX).contains(&count), "{count} records were taken");
    }
}

/// The row of session activity; what is set of it has its rules checked by the plane.
pub fn decode_session(bytes: &[u8]) {
    round_trip::<Activity>(bytes);
}

/// The report and its answer.
pub fn decode_report(bytes: &[u8]) {
    round_trip::<ReportRequest>(bytes);
    round_trip::<ReportResponse>(bytes);
}

/// The envelope of a secret, opened by chance by nobody, and the body that configures the secrets.
pub fn decode_secret(bytes: &[u8]) {
    round_trip::<ConfigureSecrets>(bytes);
    let key = site::node_secret_key();
    let Some((nonce, value)) = bytes.split_first_chunk() else {
        assert!(open(&key, bytes).is_err(), "an envelope without a nonce");
        return;
    };
    if let Ok(value) = open(&key, bytes) {
        let again = seal(&key, *nonce, value.expose());
        assert_eq!(again.as_deref(), Ok(bytes), "one value and nonce have one envelope");
    }
    match seal(&key, *nonce, value) {
        Ok(sealed) => assert!(open(&key, &sealed).is_ok_and(|opened| opened.expose() == value)),
        Err(_) => assert!(value.len() > CIPHERTEXT_MAX, "a value that fits is sealed"),
    }
}

/// The desired-state snapshot.
pub fn decode_snapshot(bytes: &[u8]) {
    round_trip::<Snapshot>(bytes);
}

/// A timestamp is the same instant after it was written and read again.
pub fn timestamp(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let Ok(at) = Timestamp::parse(text) else { return };
    let shown = at.to_string();
    assert_eq!(Timestamp::parse(&shown), Ok(at), "{text} was written as {shown}");
    assert!(shown.len() <= text.len().max(20), "{shown} is longer than {text}");
}
