//! The secret envelope: the vector of the contract, a vector of the cipher, and what does not open.

use meshward_core::{
    plane::site,
    wire::{
        grammar::NodeSecretKey,
        secret::{CIPHERTEXT_MAX, ENVELOPE_MAX, NONCE_LEN, TAG_LEN, TooLong, Unopened, open, seal},
    },
};
use proptest::prelude::*;

use crate::support;

const COUNTED: [u8; NONCE_LEN] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().map(|digit| digit.to_digit(16).expect("hex")).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn opened(key: &NodeSecretKey, envelope: &[u8]) -> Result<Vec<u8>, Unopened> {
    open(key, envelope).map(|value| value.expose().clone())
}

#[test]
fn the_vector_of_the_contract_is_sealed_and_opened() {
    let key = site::node_secret_key();
    let envelope = hex(concat!(
        "000102030405060708090a0b",
        "6f22198a5f74d647fd70e94148b0a78513e5a9562bd8",
        "c2c63c9447214c0fef1fa4c5804ddf81"
    ));
    assert_eq!(seal(&key, COUNTED, b"e2e-local-bearer-token"), Ok(envelope.clone()));
    assert_eq!(opened(&key, &envelope).as_deref(), Ok(b"e2e-local-bearer-token".as_slice()));
}

/// Test cases 13 and 14 of the cipher's original paper: a key, a nonce and a block of zeros.
#[test]
fn the_vectors_of_the_cipher_are_sealed() {
    let key = NodeSecretKey::from_bytes([0; 32]);
    let empty = hex("000000000000000000000000530f8afbc74536b9a963b4f1c4cb738b");
    assert_eq!(seal(&key, [0; NONCE_LEN], b""), Ok(empty));
    let block = hex(concat!(
        "000000000000000000000000",
        "cea7403d4d606b6e074ec5d3baf39d18",
        "d0d1c8a799996bf0265b98b5d48ab919"
    ));
    assert_eq!(seal(&key, [0; NONCE_LEN], &[0; 16]), Ok(block));
}

#[test]
fn nothing_that_was_changed_cut_or_sealed_under_another_key_opens() {
    let key = site::node_secret_key();
    let envelope = seal(&key, COUNTED, b"value").unwrap();
    for at in 0..envelope.len() {
        for bit in 0..8 {
            let mut changed = envelope.clone();
            changed[at] ^= 1 << bit;
            assert_eq!(opened(&key, &changed), Err(Unopened::Unauthentic), "bit {bit} of {at}");
        }
        let expected = match at {
            0..28 => Unopened::TooShort,
            _ => Unopened::Unauthentic,
        };
        assert_eq!(opened(&key, &envelope[..at]), Err(expected), "cut at {at}");
    }
    let longer = [envelope.as_slice(), &[0]].concat();
    assert_eq!(opened(&key, &longer), Err(Unopened::Unauthentic));
    let other = NodeSecretKey::from_bytes([1; 32]);
    assert_eq!(opened(&other, &envelope), Err(Unopened::Unauthentic));
}

#[test]
fn a_value_of_exactly_one_mebibyte_goes_there_and_back_and_a_longer_one_does_not() {
    let key = site::node_secret_key();
    let value = vec![7; CIPHERTEXT_MAX + 1];
    let envelope = seal(&key, COUNTED, &value[1..]).unwrap();
    assert_eq!(envelope.len(), ENVELOPE_MAX);
    assert!(opened(&key, &envelope).is_ok_and(|opened| opened == value[1..]));
    assert_eq!(seal(&key, COUNTED, &value), Err(TooLong));
    assert_eq!(opened(&key, &vec![0; ENVELOPE_MAX + 1]), Err(Unopened::TooLong));
}

#[test]
fn an_opened_value_is_not_printed() {
    let key = site::node_secret_key();
    let value = open(&key, &seal(&key, COUNTED, b"value").unwrap());
    assert_eq!(format!("{value:?}"), "Ok(<secret>)");
}

proptest! {
    #![proptest_config(support::seeds_in("envelope"))]
    #[test]
    fn what_is_sealed_opens_to_the_same_and_hides_nothing_but_its_length(
        key: [u8; 32], nonce: [u8; NONCE_LEN], value in prop::collection::vec(any::<u8>(), 0..100)
    ) {
        let key = NodeSecretKey::from_bytes(key);
        let envelope = seal(&key, nonce, &value).unwrap();
        prop_assert_eq!(envelope.len(), NONCE_LEN + value.len() + TAG_LEN);
        prop_assert_eq!(&envelope[..NONCE_LEN], &nonce);
        prop_assert_eq!(opened(&key, &envelope), Ok(value));
    }

    #[test]
    fn any_bytes_are_opened_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let short = bytes.len() < NONCE_LEN + TAG_LEN;
        let expected = if short { Unopened::TooShort } else { Unopened::Unauthentic };
        prop_assert_eq!(opened(&site::node_secret_key(), &bytes), Err(expected));
    }
}
