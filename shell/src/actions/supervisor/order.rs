//! What the agent tells the supervisor of a run, as bytes: texts that each end with a zero.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
    time::Duration,
};

use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;

/// The time of the clock by which the agent and its supervisors agree on a deadline; it never jumps.
pub(crate) fn monotonic() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or_default(), nanoseconds.unwrap_or_default())
}

/// How many descriptors a program may have open unless it raises that itself.
const OPEN_FILES: u64 = 1024;

/// How much a program may use; without a number there is no limit but that of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In bytes, of each process.
    pub address_space: Option<u64>,
    /// In bytes, of each file that it writes.
    pub file_size: Option<u64>,
    /// The agent raises its own as far as it may, and many programs go through all that they may have.
    pub open_files: u64,
    /// Of the user as whom the program runs; the superuser has none.
    pub processes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { address_space: None, file_size: None, open_files: OPEN_FILES, processes: None }
    }
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// The program is the descriptor that comes along where this is none.
    pub(crate) path: Option<PathBuf>,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) directory: PathBuf,
    /// On the clock of [`monotonic`].
    pub(crate) deadline: Duration,
    pub(crate) limits: Limits,
    /// The control group of this run alone.
    pub(crate) group: Option<PathBuf>,
}

/// Why something cannot be said to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum Unsayable {
    #[error("a program needs a name")]
    NoName,
    #[error("an argument, a variable or a path holds a zero byte")]
    Zero,
    #[error("the name of a variable is empty or holds an equals sign")]
    Variable,
}

impl Order {
    pub(crate) fn encode(&self) -> Result<Vec<u8>, Unsayable> {
        let number = |number: u64| OsString::from(number.to_string());
        let limit = |limit: Option<u64>| limit.map(number).unwrap_or_default();
        let path = |path: &Option<PathBuf>| path.clone().unwrap_or_default().into_os_string();
        if self.arguments.is_empty() {
            return Err(Unsayable::NoName);
        }
        let mut texts = vec![
            number(u64::try_from(self.deadline.as_nanos()).unwrap_or(u64::MAX)),
            limit(self.limits.address_space),
            limit(self.limits.file_size),
            number(self.limits.open_files),
            limit(self.limits.processes),
            path(&self.path),
            path(&self.group),
            self.directory.clone().into_os_string(),
            OsString::from(self.arguments.len().to_string()),
        ];
        texts.extend(self.arguments.iter().cloned());
        for (name, value) in &self.environment {
            if name.is_empty() || name.as_bytes().contains(&b'=') {
                return Err(Unsayable::Variable);
            }
            texts.push(assignment(name, value));
        }
        let mut bytes = Vec::new();
        for text in texts {
            if text.as_bytes().contains(&0) {
                return Err(Unsayable::Zero);
            }
            bytes.extend_from_slice(text.as_bytes());
            bytes.push(0);
        }
        Ok(bytes)
    }

    /// Reads what [`Self::encode`] wrote.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut texts = bytes.strip_suffix(&[0])?.split(|byte| *byte == 0);
        let mut text = || texts.next().map(|text| OsString::from_vec(text.to_vec()));
        let deadline = Duration::from_nanos(number(&text()?)?);
        let limits = Limits {
            address_space: limit(&text()?)?,
            file_size: limit(&text()?)?,
            open_files: number(&text()?)?,
            processes: limit(&text()?)?,
        };
        let path =
            |text: OsString| Some(PathBuf::from(text)).filter(|path| *path != PathBuf::new());
        let (program, group, directory) = (path(text()?), path(text()?), text()?.into());
        let count = number(&text()?)?;
        let arguments = (0..count).map(|_| text()).collect::<Option<_>>()?;
        let environment = std::iter::from_fn(text).map(|text| variable(&text));
        let environment = environment.collect::<Option<_>>()?;
        Some(Self { path: program, arguments, environment, directory, deadline, limits, group })
    }
}

/// A variable as a program finds it in its environment.
pub(crate) fn assignment(name: &OsStr, value: &OsStr) -> OsString {
    OsString::from_vec([name.as_bytes(), b"=", value.as_bytes()].concat())
}

fn variable(text: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = text.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    let own = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Some((own(&bytes[..at]), own(&bytes[at + 1..])))
}

fn number(text: &OsStr) -> Option<u64> {
    text.to_str()?.parse().ok()
}

/// A limit that is none is an empty text.
fn limit(text: &OsStr) -> Option<Option<u64>> {
    if text.is_empty() { Some(None) } else { number(text).map(Some) }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt as _, time::Duration};

    use proptest::{collection::vec, option, prelude::*};

    use super::{Limits, Order, Unsayable, monotonic};

    fn text() -> impl Strategy<Value = OsString> {
        vec(1..=u8::MAX, 0..9).prop_map(OsString::from_vec)
    }

    fn name() -> impl Strategy<Value = OsString> {
        vec(prop_oneof![1..b'=', b'>'..=u8::MAX], 1..9).prop_map(OsString::from_vec)
    }

    prop_compose! {
        fn order()(
            path in option::of(name()),
            arguments in vec(text(), 1..4),
            environment in vec((name(), text()), 0..4),
            directory in text(),
            deadline in any::<u64>(),
            (address_space, file_size, open_files, processes) in any::<(Option<u64>, Option<u64>, u64, Option<u64>)>(),
            group in option::of(name()),
        ) -> Order {
            let limits = Limits { address_space, file_size, open_files, processes };
            let (path, group) = (path.map(Into::into), group.map(Into::into));
            let deadline = Duration::from_nanos(deadline);
            Order { path, arguments, environment, directory: directory.into(), deadline, limits, group }
        }
    }

    proptest! {
        #[test]
        fn what_is_told_is_understood_as_it_was_meant(order in order()) {
            let told = order.encode().unwrap();
            prop_assert_eq!(Order::decode(&told), Some(order));
        }

        #[test]
        fn what_is_cut_short_is_no_order_or_has_fewer_variables(order in order(), cut in 1usize..400) {
            let told = order.encode().unwrap();
            let part = &told[..told.len().saturating_sub(cut)];
            if let Some(understood) = Order::decode(part) {
                prop_assert!(understood.environment.len() < order.environment.len());
                prop_assert_eq!(understood.arguments, order.arguments);
            }
        }
    }

    #[test]
    fn what_no_program_can_be_told_is_refused() {
        let deadline = monotonic();
        let plain = Order {
            path: None,
            arguments: vec!["x".into()],
            environment: Vec::new(),
            directory: "/".into(),
            deadline,
            limits: Limits::default(),
            group: None,
        };
        let nameless = Order { arguments: Vec::new(), ..plain.clone() };
        assert_eq!(nameless.encode(), Err(Unsayable::NoName));
        let zero = Order { arguments: vec!["a\0b".into()], ..plain.clone() };
        assert_eq!(zero.encode(), Err(Unsayable::Zero));
        for name in ["", "a=b"] {
            let environment = vec![(name.into(), "value".into())];
            let odd = Order { environment, ..plain.clone() };
            assert_eq!(odd.encode(), Err(Unsayable::Variable));
        }
    }
}
