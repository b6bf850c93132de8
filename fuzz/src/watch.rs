//! What watches and spoils: verifications, fault rules and masking, as a decode target and as bodies of requests.

use meshward_core::{
    plane::{faults::rule, mask, verify},
    wire::{
        faults::FaultRule,
        http::Body,
        journal::{Matched, Verify},
        json::{Raw, decode_strict},
    },
};

use crate::decode::round_trip;

/// The fault rule, the verification and its answer; what the plane takes up it has read whole.
pub fn decode_watch(bytes: &[u8]) {
    round_trip::<FaultRule>(bytes);
    round_trip::<Verify>(bytes);
    round_trip::<Matched>(bytes);
    let body = Body::Whole(bytes.to_vec());
    if rule::read(&body).is_ok() {
        let rule: FaultRule = decode_strict(bytes).expect("a rule that is taken is one");
        assert!(rule.path.is_some_and(|path| path.starts_with('/')));
        assert!(rule.times.is_none_or(|times| (1..=rule::TIMES_MAX).contains(&times)));
    }
    if verify::read(&body).is_ok() {
        let verify: Verify = decode_strict(bytes).expect("a condition that is taken is one");
        let goals = [verify.count, verify.at_least, verify.at_most];
        assert_eq!(goals.iter().flatten().count(), 1, "one goal");
    }
    masked(bytes);
}

/// What is masked stays as it is, and JSON that names no token at all is kept as it came.
fn masked(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    let once = mask::body(text).into_owned();
    assert_eq!(mask::body(&once), once);
    if !text.contains("bootstrap_token") && !text.contains("\\u") {
        assert_eq!(once, text);
    }
}

/// A verification that is decided at once, or waits for a second or two.
pub(crate) fn verification(choice: u8) -> Verify {
    let path = ["/v1/health", "/v1/**", "/v1/nodes/*/heartbeat", "nowhere"];
    let wanted = Some(u64::from(choice % 3));
    Verify {
        path: Some(path[usize::from(choice >> 6)].to_owned()),
        count: wanted.filter(|_| choice & 12 == 0),
        at_least: wanted.filter(|_| choice & 12 == 4),
        at_most: wanted.filter(|_| choice & 12 == 8),
        within_ms: (choice & 32 == 32).then_some(1500),
        ..Verify::default()
    }
}

/// A rule for a route or for all.
pub(crate) fn rule(choice: u8) -> FaultRule {
    let path = ["/v1/health", "/v1/**", "/v1/nodes/*/events", "/**"][usize::from(choice >> 6)];
    let rule = FaultRule {
        path: Some(path.to_owned()),
        times: Some(u32::from(choice % 3)),
        ..FaultRule::default()
    };
    match choice >> 2 & 15 {
        0 => FaultRule { status: Some(503), retry_after: Raw::parse("7"), ..rule },
        1 => FaultRule { status: Some(204), delay_ms: Some(5), ..rule },
        2 => FaultRule { drop: Some(true), ..rule },
        3 => FaultRule { never: Some(true), probability: Raw::parse("0.5"), seed: Some(1), ..rule },
        4 => FaultRule { reset: Some("after_headers".to_owned()), ..rule },
        5 => FaultRule { clock_offset_ms: Some(-90_000), ..rule },
        6 => FaultRule { content_type: Some("text/html".to_owned()), ..rule },
        7 => FaultRule { corrupt_signature: Some(true), ..rule },
        kind => FaultRule { stream: Some(STREAMS[usize::from(kind - 8)].to_owned()), ..rule },
    }
}

/// Every way to bend a stream but the one that `corrupt_signature` names.
const STREAMS: [&str; 8] =
    ["bom", "cr", "crlf", "split", "stall", "stale_issued_at", "duplicate", "missing"];
