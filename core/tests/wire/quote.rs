//! Texts quoted by hand are as the usual encoder writes them.

use meshward_core::wire::{
    json::{QUOTED_MAX, quote},
    local::SecretEntry,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_quoted_text_is_what_the_usual_encoder_writes(text in any::<String>()) {
        let mut bytes = Vec::new();
        quote(&mut bytes, &text);
        prop_assert_eq!(&bytes, &serde_json::to_vec(&text).expect("a text"));
        prop_assert!(bytes.len() <= text.len() * QUOTED_MAX + 2);
    }
}

#[test]
fn every_control_character_is_escaped_as_the_usual_encoder_does() {
    let text: String = (0..=0x7f_u8).map(char::from).collect();
    let mut bytes = Vec::new();
    quote(&mut bytes, &text);
    assert_eq!(bytes, serde_json::to_vec(&text).expect("a text"));
}

#[test]
fn the_longest_entry_fits_into_the_room_that_was_made_for_it() {
    let value = "\u{1}".repeat(1000);
    let key = "k".repeat(63);
    let written = SecretEntry { key: &key, value: &value, version: u64::MAX }.encode();
    let room = (value.len() + key.len()) * QUOTED_MAX + 64;
    assert!(written.expose().len() <= room);
    assert!(written.expose().capacity() >= room && written.expose().capacity() < room * 2);
}
