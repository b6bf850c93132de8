//! P16: of envelopes that were changed after they were signed, none counts but those that say the very same.

use std::collections::BTreeSet;

use ed25519_dalek::Signer as _;
use meshward_core::{
    agent::signing::Signing,
    time::Wall,
    wire::{
        event::{Event, sealed},
        grammar::base64_text,
        json::Raw,
    },
};
use serde_json::{Map, Value};

use crate::{bench::start, signed::Signer, signing::armed};

/// How many are tried, where `MESHWARD_MUTANTS` does not say so.
const MUTANTS: u64 = 20_000;

/// Numbers without end, the same in each run.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        // The step and the mix of SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

/// Envelopes as they were signed, by the two keys of a transition, and the bytes that their signatures cover.
struct Originals {
    signing: Signing,
    now: Wall,
    envelopes: Vec<Vec<u8>>,
    signed: BTreeSet<Vec<u8>>,
}

impl Originals {
    fn new() -> Self {
        let (old, new) = (Signer::new(1), Signer::new(2));
        let now = start().wall;
        let rotation = old.rotation(now, &new, Some((&old, core::time::Duration::from_secs(600))));
        let rotated = armed(&old);
        let event = rotated.judge(now, &rotation).expect("the rotation counts");
        let input = meshward_core::agent::signing::Input::Judged(Ok(event));
        let signing = rotated.step(start(), input).state;
        let payloads = [
            "{}",
            "null",
            r#"{"b":1.50,"a":"<x> &","é":["𝄞","\u0041",-0,1e40,18446744073709551617]}"#,
            r#""\"quoted\" \\ text""#,
            r#"{"key_id":"k9","public_key":"A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="}"#,
        ];
        let mut originals = Self { signing, now, envelopes: Vec::new(), signed: BTreeSet::new() };
        for signer in [&old, &new] {
            for (at, payload) in payloads.iter().enumerate() {
                let kinds = ["policy_updated", "rotate_keys", "signing_key_rotated"];
                let event = Event {
                    id: format!("evt-{at}"),
                    scope: if at % 2 == 0 { String::new() } else { "node:ü<1>".into() },
                    payload: Raw::parse(payload),
                    ..signer.event(now, kinds[at % 3], "{}")
                };
                let signed = event.signed_bytes();
                let signature = base64_text(&signer.pair.sign(&signed).to_bytes());
                originals.envelopes.push(sealed(signed.clone(), &signature));
                originals.signed.insert(signed);
            }
        }
        originals
    }

    /// Whether it counts; what counts says the very same as what was signed.
    fn counts(&self, data: &[u8]) -> bool {
        let Ok(event) = self.signing.judge(self.now, data) else { return false };
        let signed = event.signed_bytes();
        assert!(self.signed.contains(&signed), "{} counts", data.escape_ascii());
        true
    }
}

/// A change of the text.
fn bent(draw: &mut Draw, data: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bent = data.to_vec();
    let at = draw.below(bent.len());
    match draw.below(7) {
        0 => bent[at] ^= 1 << draw.below(8),
        1 => {
            let with = draw.below(bent.len());
            bent.swap(at, with);
        }
        2 => {
            bent.remove(at);
        }
        3 => bent.insert(at, draw.next() as u8),
        4 => {
            let to = at + draw.below(bent.len() - at);
            bent.extend_from_within(at..to);
        }
        5 => {
            bent.truncate(at);
            bent.extend_from_slice(&other[at.min(other.len())..]);
        }
        _ => {
            let (from, length) = (draw.below(other.len()), draw.below(12));
            let piece = &other[from..(from + length).min(other.len())];
            bent.splice(at..at, piece.iter().copied());
        }
    }
    bent
}

const NAMES: [&str; 7] = ["id", "type", "scope", "key_id", "issued_at", "payload", "signature"];

/// A change of one member, which may be of another type or that of another event afterwards.
fn edited(draw: &mut Draw, data: &[u8], other: &[u8]) -> Vec<u8> {
    let object = |data: &[u8]| serde_json::from_slice::<Map<String, Value>>(data).ok();
    let (Some(mut members), Some(others)) = (object(data), object(other)) else {
        return bent(draw, data, other);
    };
    let name = *draw.of(&NAMES);
    let value = members.get(name).cloned().unwrap_or_default();
    let text = value.as_str().unwrap_or("x").to_owned();
    let edited = match draw.below(8) {
        0 => others.get(name).cloned().unwrap_or_default(),
        1 => members.get(*draw.of(&NAMES)).cloned().unwrap_or_default(),
        2 => Value::Null,
        3 => Value::String(format!("{text} ")),
        4 => Value::String(text.chars().rev().collect()),
        5 => Value::String(text.to_uppercase()),
        6 => Value::Array(vec![value]),
        _ => {
            members.remove(name);
            return serde_json::to_vec(&members).expect("JSON");
        }
    };
    members.insert(name.into(), edited);
    serde_json::to_vec(&members).expect("JSON")
}

/// A change of the signature's bytes, spelled as is due.
fn forged(draw: &mut Draw, data: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(data).into_owned();
    let Some((before, signature)) = text.split_once(",\"signature\":\"") else {
        return text.into();
    };
    let signature = signature.trim_end_matches("\"}");
    let mut bytes = meshward_core::wire::grammar::base64_bytes(signature).expect("an original");
    let original = bytes.clone();
    for _ in 0..=draw.below(3) {
        let at = draw.below(bytes.len());
        bytes[at] ^= 1 << draw.below(8);
    }
    if bytes == original {
        bytes[0] ^= 1;
    }
    sealed(format!("{before}}}").into_bytes(), &base64_text(&bytes))
}

/// The same members in another order, spaced and escaped in another way, with some that nobody knows.
fn respelled(draw: &mut Draw, data: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(data);
    let members: Map<String, Value> = serde_json::from_str(&text).expect("an original");
    let raw =
        text.split_once(",\"payload\":").and_then(|(_, rest)| rest.rsplit_once(",\"signature\":"));
    let payload = raw.expect("an original").0.to_owned();
    let mut spelled: Vec<String> = NAMES
        .iter()
        .map(|name| {
            let value = match members.get(*name) {
                Some(Value::String(text)) if *name != "payload" => escaped(draw, text),
                _ => payload.clone(),
            };
            let gap = *draw.of(&["", " ", "\n\t", "\r\n  "]);
            format!("\"{name}\"{gap}:{gap}{value}{gap}")
        })
        .collect();
    if draw.below(3) == 0 {
        spelled.push("\"unknown\":[{\"id\":\"x\"}]".into());
    }
    for at in (1..spelled.len()).rev() {
        spelled.swap(at, draw.below(at + 1));
    }
    format!("{{{}}}", spelled.join(",")).into_bytes()
}

fn escaped(draw: &mut Draw, text: &str) -> String {
    let mut spelled = String::from("\"");
    for character in text.chars() {
        if character.is_ascii_alphanumeric() && draw.below(8) == 0 {
            spelled.push_str(&format!("\\u{:04X}", u32::from(character)));
        } else if character == '/' && draw.below(2) == 0 {
            spelled.push_str("\\/");
        } else {
            spelled.push(character);
        }
    }
    spelled + "\""
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures are read by a person")]
fn no_envelope_that_was_changed_counts_unless_it_says_the_very_same() {
    let count = std::env::var("MESHWARD_MUTANTS").ok().and_then(|text| text.parse().ok());
    let count: u64 = count.unwrap_or(MUTANTS);
    let originals = Originals::new();
    for envelope in &originals.envelopes {
        assert!(originals.counts(envelope), "an original");
    }
    let mut draw = Draw(0x5eed);
    let (mut accepted, mut tried) = ([0_u64; 4], [0_u64; 4]);
    for _ in 0..count {
        let data = draw.of(&originals.envelopes).clone();
        let other = draw.of(&originals.envelopes).clone();
        let way = draw.below(4);
        let mut mutant = match way {
            0 => bent(&mut draw, &data, &other),
            1 => edited(&mut draw, &data, &other),
            2 => forged(&mut draw, &data),
            _ => respelled(&mut draw, &data),
        };
        // Some are changed more than once.
        while way < 2 && !mutant.is_empty() && draw.below(4) == 0 {
            mutant = bent(&mut draw, &mutant, &other);
        }
        tried[way] += 1;
        accepted[way] += u64::from(originals.counts(&mutant));
    }
    eprintln!("bent, edited, forged, respelled: {tried:?} tried, {accepted:?} said the same");
    assert!(accepted[0] < tried[0] / 10, "most changes of the text change what it says");
    assert_eq!(accepted[2], 0, "no signature counts but the one that was made");
    assert_eq!(accepted[3], tried[3], "an envelope counts in every spelling");
}
