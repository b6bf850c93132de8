//! Capability manifests: every row of the checks, their order, and the comparison against a list of members.

use std::collections::{BTreeMap, BTreeSet};

use meshward_core::{
    plane::capabilities::{Capabilities, Effect, Input, Read},
    step::Step,
    time::Now,
    wire::{
        capabilities::{CapabilityManifestRequest, CapabilityManifestResponse, DeclaredHook},
        grammar::{Checksum, Fingerprint},
        http::{Body, Method},
        timestamp::Timestamp,
    },
};
use proptest::{collection::vec, option, prelude::*, sample::subsequence};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use crate::{
    desk::{Desk, node, text, verdict},
    support,
};

/// The members of a manifest by name, as a reader of the contract would compare them.
type Members = BTreeMap<&'static str, String>;

/// Every manifest accepted so far, and the members that the first one came with.
#[derive(Clone, Debug, Default)]
struct Remembered {
    manifests: Vec<Members>,
    first: BTreeSet<&'static str>,
}

fn members(manifest: &CapabilityManifestRequest) -> Members {
    let hooks: BTreeSet<String> =
        manifest.declared_hooks.iter().map(|hook| format!("{hook:?}")).collect();
    let mut members = Members::from([
        ("binary_version", manifest.binary_version.clone()),
        ("binary_checksum", manifest.binary_checksum.to_string()),
    ]);
    if let Some(fingerprint) = &manifest.ssh_host_key_fingerprint {
        members.insert("ssh_host_key_fingerprint", fingerprint.to_string());
    }
    if !hooks.is_empty() {
        members.insert("declared_hooks", format!("{hooks:?}"));
    }
    members
}

impl Remembered {
    /// The members in which the last manifest differs from the one before it, and whether its host key was replaced.
    fn last_change(&self) -> (Vec<String>, bool) {
        let mut latest = self.manifests.iter().rev();
        let after = latest.next().expect("a manifest was reported");
        let Some(before) = latest.next() else {
            return (self.first.iter().copied().map(str::to_owned).collect(), false);
        };
        let names: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
        let changed = names.into_iter().filter(|name| before.get(name) != after.get(name));
        let key = |members: &Members| members.get("ssh_host_key_fingerprint").cloned();
        let replaced = matches!((key(before), key(after)), (Some(old), Some(new)) if old != new);
        (changed.map(str::to_owned).collect(), replaced)
    }
}

fn checksums() -> impl Strategy<Value = Checksum> {
    (0..3u8).prop_map(|seed| Checksum::from_bytes([seed; 32]))
}

fn hooks() -> impl Strategy<Value = Vec<DeclaredHook>> {
    let names = subsequence(vec!["backup", "restart", "rotate"], 0..=3).prop_shuffle();
    (names, vec(checksums(), 3)).prop_map(|(names, checksums)| {
        let hook =
            |(name, checksum): (&str, Checksum)| DeclaredHook { name: name.into(), checksum };
        names.into_iter().zip(checksums).map(hook).collect()
    })
}

fn manifests() -> impl Strategy<Value = CapabilityManifestRequest> {
    let keys = (0..3u8).prop_map(|seed| format!("SHA256:{seed}abc"));
    let key = |text: String| Fingerprint::parse(&text).expect("a fingerprint");
    ("[12]", checksums(), option::of(keys.prop_map(key)), hooks()).prop_map(
        |(binary_version, binary_checksum, ssh_host_key_fingerprint, declared_hooks)| {
            CapabilityManifestRequest {
                binary_version,
                binary_checksum,
                ssh_host_key_fingerprint,
                declared_hooks,
            }
        },
    )
}

/// Manifests as they are read, the members that are empty left out or not.
fn reads() -> impl Strategy<Value = Read> {
    (manifests(), any::<[bool; 2]>()).prop_map(|(manifest, [key, hooks])| {
        let mut present: BTreeSet<&str> = members(&manifest).into_keys().collect();
        present.extend(key.then_some("ssh_host_key_fingerprint"));
        present.extend(hooks.then_some("declared_hooks"));
        Read { manifest, present: present.into_iter().collect() }
    })
}

struct Model;

impl ReferenceStateMachine for Model {
    type State = Remembered;
    type Transition = Read;

    fn init_state() -> BoxedStrategy<Remembered> {
        Just(Remembered::default()).boxed()
    }

    fn transitions(_: &Remembered) -> BoxedStrategy<Read> {
        reads().boxed()
    }

    fn apply(mut state: Remembered, read: &Read) -> Remembered {
        if state.manifests.is_empty() {
            state.first.extend(&read.present);
        }
        state.manifests.push(members(&read.manifest));
        state
    }
}

struct Machine;

impl StateMachineTest for Machine {
    type SystemUnderTest = Capabilities;
    type Reference = Model;

    fn init_test(_: &Remembered) -> Capabilities {
        Capabilities::default()
    }

    fn apply(capabilities: Capabilities, model: &Remembered, read: Read) -> Capabilities {
        let step = capabilities.step(Now::default(), Input::Reported(read));
        let (fields_changed, host_key_changed) = model.last_change();
        let accepted_at = Timestamp::from(Now::default().wall);
        let answer = CapabilityManifestResponse { accepted_at, fields_changed, host_key_changed };
        assert_eq!(step.effects, [Effect::Answer(answer)]);
        step.state
    }
}

prop_state_machine! {
    #![proptest_config(support::seeds_in("capabilities"))]
    #[test]
    fn every_manifest_is_compared_with_the_one_before_it_member_by_member(
        sequential 1..40 => Machine
    );
}

proptest! {
    #![proptest_config(support::seeds_in("capabilities"))]
    #[test]
    fn the_same_manifests_give_the_same_answers_and_one_that_is_sent_again_changes_nothing(
        reads in vec(reads(), 1..20),
    ) {
        let inputs: Vec<Input> = reads.into_iter().map(Input::Reported).collect();
        support::replays(&Capabilities::default(), &inputs, |state, input| state.step(Now::default(), input));
        let last = inputs.last().expect("at least one").clone();
        let end = inputs.into_iter().fold(Capabilities::default(), |state, input| {
            state.step(Now::default(), input).state
        });
        let Step { state, effects } = end.clone().step(Now::default(), last);
        prop_assert_eq!(state, end);
        let [Effect::Answer(answer)] = effects.as_slice() else { panic!("one answer: {effects:?}") };
        prop_assert_eq!((answer.fields_changed.len(), answer.host_key_changed), (0, false));
    }
}

const DIGEST: &str = "\"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\"";
const KEY: &str = "\"SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU\"";
const MALFORMED: &str = "malformed_capabilities_request";

/// A sound manifest with some members replaced, each by its JSON text; an empty text leaves the member out.
fn body(changes: &[(&str, &str)]) -> String {
    let hook = format!("[{}]", hook("\"backup\"", DIGEST));
    let mut members = vec![
        ("binary_version", "\"1.4.0\"".to_owned()),
        ("binary_checksum", DIGEST.to_owned()),
        ("ssh_host_key_fingerprint", KEY.to_owned()),
        ("declared_hooks", hook),
    ];
    for (name, text) in changes {
        members.retain(|(known, _)| known != name);
        members.push((name, (*text).to_owned()));
    }
    let members = members.iter().filter(|(_, text)| !text.is_empty());
    let texts: Vec<String> = members.map(|(name, text)| format!("\"{name}\":{text}")).collect();
    format!("{{{}}}", texts.join(","))
}

fn hook(name: &str, checksum: &str) -> String {
    format!("{{\"name\":{name},\"checksum\":{checksum}}}")
}

/// So many hooks, each of its own name.
fn many(count: usize) -> String {
    let hooks: Vec<String> = (0..count).map(|at| hook(&format!("\"hook {at}\""), DIGEST)).collect();
    format!("[{}]", hooks.join(","))
}

fn put(desk: &mut Desk, body: &str) -> (u16, String) {
    let response = desk.ask(Method::Put, &node("capabilities"), body);
    match response.status {
        200 => (200, text(&response)),
        _ => verdict(&response),
    }
}

fn all_earn(desk: &mut Desk, rows: &[(String, &str)]) {
    for (text, code) in rows {
        assert_eq!(put(desk, text), (400, (*code).to_owned()), "{text}");
    }
}

#[test]
fn what_is_no_manifest_is_malformed() {
    let deep = format!("{{\"x\":{}1{}}}", "[".repeat(64), "]".repeat(64));
    let nul = format!("[{}]", hook("\"a\\u0000\"", DIGEST));
    let bodies = [
        String::new(),
        "{".into(),
        "null".into(),
        "[]".into(),
        "\"x\"".into(),
        format!("{} {{}}", body(&[])),
        deep,
        body(&[("builtin_actions", "[]")]),
        body(&[("Binary_version", "\"1\"")]),
        r#"{"binary_version":"1","binary_version":"1"}"#.into(),
        body(&[("binary_version", "1")]),
        body(&[("binary_checksum", "[]")]),
        body(&[("ssh_host_key_fingerprint", "{}")]),
        body(&[("declared_hooks", "{}")]),
        body(&[("declared_hooks", "[null]")]),
        body(&[("declared_hooks", "[[\"a\",\"b\"]]")]),
        body(&[("declared_hooks", "[{\"name\":\"a\",\"path\":\"b\"}]")]),
        body(&[("declared_hooks", &nul)]),
    ];
    let mut desk = Desk::open();
    all_earn(&mut desk, &bodies.map(|body| (body, MALFORMED)));
    assert_eq!(desk.count("capabilities_count"), 0);
}

#[test]
fn every_row_of_the_manifest_checks_earns_its_code() {
    const VERSION: &str = "binary_version_empty";
    const CHECKSUM: &str = "binary_checksum_invalid";
    const KEY_INVALID: &str = "ssh_host_key_fingerprint_invalid";
    const HOOK: &str = "declared_hook_invalid";
    let hex = format!("\"{}\"", "0f".repeat(32));
    let short = "\"AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHw==\"";
    let (bits, unpadded) = (DIGEST.replace("yA=", "yB="), DIGEST.replace('=', ""));
    let url = "\"__________________________________________8=\"";
    let one = |name: &str, checksum: &str| format!("[{}]", hook(name, checksum));
    let twice = format!("[{0},{0}]", hook("\"a\"", DIGEST));
    let row = |member, text: &str, code| (body(&[(member, text)]), code);
    let rows = [
        row("binary_version", "", VERSION),
        row("binary_version", "null", VERSION),
        row("binary_version", "\"\"", VERSION),
        row("binary_version", "\" \\t\\n\"", VERSION),
        ("{}".into(), VERSION),
        row("binary_checksum", "", CHECKSUM),
        row("binary_checksum", "null", CHECKSUM),
        row("binary_checksum", &hex, CHECKSUM),
        row("binary_checksum", short, CHECKSUM),
        row("binary_checksum", &bits, CHECKSUM),
        row("binary_checksum", &unpadded, CHECKSUM),
        row("binary_checksum", url, CHECKSUM),
        row("ssh_host_key_fingerprint", "\"MD5:aa:bb\"", KEY_INVALID),
        row("ssh_host_key_fingerprint", "\"SHA256:\"", KEY_INVALID),
        row("ssh_host_key_fingerprint", "\"SHA256:a===\"", KEY_INVALID),
        row("ssh_host_key_fingerprint", "\"SHA256:a b\"", KEY_INVALID),
        row("declared_hooks", &many(129), "declared_hooks_too_many"),
        row("declared_hooks", "[{}]", HOOK),
        row("declared_hooks", &one("\"\"", DIGEST), HOOK),
        row("declared_hooks", &one("\" \\n\"", DIGEST), HOOK),
        row("declared_hooks", &one("\"a\"", &hex), HOOK),
        row("declared_hooks", &one("\"a\"", "null"), HOOK),
        row("declared_hooks", &twice, "declared_hook_duplicate"),
    ];
    let mut desk = Desk::open();
    all_earn(&mut desk, &rows);
    assert_eq!(desk.count("capabilities_count"), 0);
}

#[test]
fn a_body_over_16_mib_is_413_without_code_and_a_cut_one_malformed() {
    let mut desk = Desk::open();
    let oversized = desk.ask_with(Method::Put, &node("capabilities"), Body::Oversized);
    assert_eq!(verdict(&oversized), (413, String::new()));
    let cut = desk.ask_with(Method::Put, &node("capabilities"), Body::Unreadable);
    assert_eq!(verdict(&cut), (400, MALFORMED.into()));
    let captured = desk.ask(Method::Get, "/test/last-request/capabilities", "");
    assert_eq!(captured.status, 404, "neither was read to its end");
}

/// Breaks one check after the other, last one first: the earliest broken check always decides.
#[test]
fn the_first_manifest_check_that_fails_decides() {
    let mut desk = Desk::open();
    let twice = format!("[{0},{0}]", hook("\"a\"", DIGEST));
    let blank = format!("[{0},{0},{1}]", hook("\"\"", DIGEST), hook("\"\"", "\"x\""));
    let many = format!("[{0}{1}]", "{},".repeat(128), "{}");
    let steps: [(&str, &str, &str); 7] = [
        ("declared_hooks", &twice, "declared_hook_duplicate"),
        ("declared_hooks", &blank, "declared_hook_invalid"),
        ("declared_hooks", &many, "declared_hooks_too_many"),
        ("ssh_host_key_fingerprint", "\"MD5\"", "ssh_host_key_fingerprint_invalid"),
        ("binary_checksum", "\"\"", "binary_checksum_invalid"),
        ("binary_version", "\" \"", "binary_version_empty"),
        ("hostname", "\"x\"", MALFORMED),
    ];
    let mut changes = Vec::new();
    for (member, text, code) in steps {
        changes.push((member, text));
        assert_eq!(put(&mut desk, &body(&changes)), (400, code.to_owned()), "{member}");
    }
}

#[test]
fn hooks_are_checked_in_array_order_and_the_first_that_fails_decides() {
    let (good, bad) = (hook("\"a\"", DIGEST), hook("\"b\"", "\"hex\""));
    let again = hook("\"a\"", "\"hex\"");
    let rows = [
        ([&good, &good, &bad], "declared_hook_duplicate", "declared_hooks[1]"),
        ([&good, &bad, &good], "declared_hook_invalid", "declared_hooks[1]"),
        ([&bad, &good, &good], "declared_hook_invalid", "declared_hooks[0]"),
        ([&good, &again, &good], "declared_hook_invalid", "declared_hooks[1]"),
    ];
    let mut desk = Desk::open();
    for (hooks, code, place) in rows {
        let list = format!("[{}]", hooks.map(String::as_str).join(","));
        let response =
            desk.ask(Method::Put, &node("capabilities"), &body(&[("declared_hooks", &list)]));
        assert_eq!(verdict(&response), (400, code.to_owned()), "{list}");
        assert!(text(&response).contains(place), "{}", text(&response));
    }
}

#[test]
fn exactly_128_hooks_odd_names_and_optional_members_left_out_are_accepted() {
    let mut desk = Desk::open();
    let spaced = format!("[{},{}]", hook("\"a\"", DIGEST), hook("\" a\"", DIGEST));
    let accepted = [
        body(&[("declared_hooks", &many(128))]),
        body(&[("declared_hooks", &spaced)]),
        body(&[("declared_hooks", ""), ("ssh_host_key_fingerprint", "")]),
        body(&[("declared_hooks", "null"), ("ssh_host_key_fingerprint", "null")]),
        body(&[("declared_hooks", "[]"), ("ssh_host_key_fingerprint", "\"\"")]),
        body(&[("ssh_host_key_fingerprint", "\"SHA256:a==\"")]),
        body(&[("binary_version", "\" 1\\u0000 \"")]),
    ];
    for (at, text) in accepted.iter().enumerate() {
        assert_eq!(put(&mut desk, text).0, 200, "{text}");
        assert_eq!(desk.count("capabilities_count"), at as u64 + 1);
    }
    let response = desk.ask(Method::Put, "/v1/nodes/any/capabilities", &body(&[]));
    assert_eq!(response.status, 200, "the route has no node-id guard");
}

/// Changes to the sound manifest, then the fields that changed and whether the host key did.
type Stage<'s> = (&'s [(&'s str, &'s str)], &'s str, bool);

/// The answers to a life of one node, word for word.
#[test]
fn the_answer_tells_what_changed_and_when() {
    let mut desk = Desk::open();
    let without = [("declared_hooks", ""), ("ssh_host_key_fingerprint", "")];
    let (a, b) = (hook("\"a\"", DIGEST), hook("\"b\"", DIGEST));
    let (forwards, backwards) = (format!("[{a},{b}]"), format!("[{b},{a}]"));
    let other = "\"SHA256:other\"";
    let zero = "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"";
    let life: [Stage<'_>; 9] = [
        (&without, r#""binary_checksum","binary_version""#, false),
        (&without, "", false),
        (&[("declared_hooks", &forwards)], r#""declared_hooks","ssh_host_key_fingerprint""#, false),
        (&[("declared_hooks", &backwards)], "", false),
        (
            &[("declared_hooks", &forwards), ("ssh_host_key_fingerprint", other)],
            r#""ssh_host_key_fingerprint""#,
            true,
        ),
        (
            &[("declared_hooks", &forwards), ("ssh_host_key_fingerprint", "")],
            r#""ssh_host_key_fingerprint""#,
            false,
        ),
        (&[("declared_hooks", &forwards)], r#""ssh_host_key_fingerprint""#, false),
        (
            &[("declared_hooks", "[]"), ("binary_version", "\"2\"")],
            r#""binary_version","declared_hooks""#,
            false,
        ),
        (
            &[("declared_hooks", "[]"), ("binary_version", "\"2\""), ("binary_checksum", zero)],
            r#""binary_checksum""#,
            false,
        ),
    ];
    for (at, (changes, fields, host_key)) in life.into_iter().enumerate() {
        let answer = format!(
            "{{\"accepted_at\":\"2026-01-15T10:30:00Z\",\"fields_changed\":[{fields}],\"host_key_changed\":{host_key}}}\n"
        );
        assert_eq!(put(&mut desk, &body(changes)), (200, answer), "step {at}");
    }
    let refused = put(&mut desk, &body(&[("binary_checksum", "\"\"")]));
    assert_eq!(refused, (400, "binary_checksum_invalid".into()));
    assert_eq!(desk.ask(Method::Post, "/test/reset", "").status, 204);
    let whole = r#""fields_changed":["binary_checksum","binary_version","declared_hooks","ssh_host_key_fingerprint"]"#;
    assert!(put(&mut desk, &body(&[])).1.contains(whole), "a reset forgets the manifest");
}

#[test]
fn of_a_first_manifest_the_members_present_are_told_also_the_empty_ones() {
    const BOTH: &str = r#""binary_checksum","binary_version""#;
    const KEY_TOO: &str = r#""binary_checksum","binary_version","ssh_host_key_fingerprint""#;
    const HOOKS_TOO: &str = r#""binary_checksum","binary_version","declared_hooks""#;
    for (hooks, key, fields) in
        [("", "", BOTH), ("null", "null", BOTH), ("[]", "", HOOKS_TOO), ("null", "\"\"", KEY_TOO)]
    {
        let mut desk = Desk::open();
        let first = body(&[("declared_hooks", hooks), ("ssh_host_key_fingerprint", key)]);
        let told = format!("\"fields_changed\":[{fields}],\"host_key_changed\":false");
        assert!(put(&mut desk, &first).1.contains(&told), "{first}");
        for (hooks, key) in [("", ""), ("[]", "\"\""), ("null", "null")] {
            let later = body(&[("declared_hooks", hooks), ("ssh_host_key_fingerprint", key)]);
            assert!(put(&mut desk, &later).1.contains("\"fields_changed\":[]"), "{later}");
        }
    }
}

#[test]
fn a_refused_manifest_is_captured_and_neither_stored_nor_counted() {
    let mut desk = Desk::open();
    assert_eq!(put(&mut desk, &body(&[])).0, 200);
    let refused = body(&[("binary_version", "\"2\""), ("declared_hooks", "[{}]")]);
    assert_eq!(put(&mut desk, &refused).0, 400);
    let captured = desk.ask(Method::Get, "/test/last-request/capabilities", "");
    assert_eq!(text(&captured), refused);
    assert!(put(&mut desk, &body(&[])).1.contains("\"fields_changed\":[]"));
    assert_eq!(desk.count("capabilities_count"), 2);
}
