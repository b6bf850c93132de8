//! What the supervisors of a run tell the agent: a kind and a number, in five bytes that are never parted.

/// How long an event is.
pub(crate) const EVENT_LEN: usize = 5;

/// Which part of the beginning failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    Supervise,
    Directory,
    Execute,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The program could not be begun, for the reason of this number.
    Unable(Begin, i32),
    /// The program runs.
    Began,
    Exited(i32),
    /// The program was ended by this signal.
    Signalled(i32),
    /// The deadline came first.
    Overran,
    /// One of the two supervisors was ended by another process.
    Bereft,
    /// Nothing is left of the run.
    Gone,
}

impl Event {
    pub(crate) fn encode(self) -> [u8; EVENT_LEN] {
        let (kind, number) = match self {
            Self::Unable(Begin::Supervise, number) => (1, number),
            Self::Unable(Begin::Directory, number) => (2, number),
            Self::Unable(Begin::Execute, number) => (3, number),
            Self::Began => (4, 0),
            Self::Exited(code) => (5, code),
            Self::Signalled(signal) => (6, signal),
            Self::Overran => (7, 0),
            Self::Bereft => (8, 0),
            Self::Gone => (9, 0),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, a, b, c, d]
    }

    pub(crate) fn decode([kind, a, b, c, d]: [u8; EVENT_LEN]) -> Option<Self> {
        let number = i32::from_le_bytes([a, b, c, d]);
        Some(match kind {
            1 => Self::Unable(Begin::Supervise, number),
            2 => Self::Unable(Begin::Directory, number),
            3 => Self::Unable(Begin::Execute, number),
            4 => Self::Began,
            5 => Self::Exited(number),
            6 => Self::Signalled(number),
            7 => Self::Overran,
            8 => Self::Bereft,
            9 => Self::Gone,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Begin, EVENT_LEN, Event};

    #[test]
    fn every_event_is_understood_as_it_was_meant_and_nothing_else_is_one() {
        let number = -7;
        let events = [
            Event::Unable(Begin::Supervise, number),
            Event::Unable(Begin::Directory, number),
            Event::Unable(Begin::Execute, number),
            Event::Began,
            Event::Exited(number),
            Event::Signalled(number),
            Event::Overran,
            Event::Bereft,
            Event::Gone,
        ];
        for event in events {
            assert_eq!(Event::decode(event.encode()), Some(event));
        }
        let known = (0..=u8::MAX).filter(|kind| {
            let mut bytes = [0; EVENT_LEN];
            bytes[0] = *kind;
            Event::decode(bytes).is_some()
        });
        assert_eq!(known.count(), events.len());
    }
}
