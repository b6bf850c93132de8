//! Drawn numbers, asked of the kernel.

use meshward_core::{
    backoff::Jitter,
    wire::{grammar::Uuid, stun::TransactionId},
};

/// Draws how far a wait is moved; none where the kernel gives no random bytes, as a retry is better than a halt.
pub fn jitter() -> Jitter {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).map_or(Jitter::NONE, |()| Jitter::drawn(u16::from_le_bytes(bytes)))
}

/// Draws a UUIDv4, as the nonce of a registration.
pub fn uuid() -> Result<Uuid, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(Uuid::drawn(bytes))
}

/// Draws what tells the answer to a STUN request from all others.
pub fn transaction() -> Result<TransactionId, getrandom::Error> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes)?;
    Ok(TransactionId::drawn(bytes))
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_drawn_uuids_differ_and_name_version_four() {
        let (one, two) = (super::uuid().unwrap(), super::uuid().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.to_string().as_bytes()[14], b'4');
    }
}
