//! What a refusal of the agent means for the one who asked: the agent's own words first, then the rule or the mend.

use meshward_core::{
    legible,
    wire::grammar::{ReportKey, SecretKey},
};

use super::socket::Answer;

/// What a question is about.
#[derive(Clone, Debug)]
pub(super) enum About {
    /// No single entry.
    All,
    Metadata(String),
    Data(String),
    Report(String),
    Secret {
        key: String,
        version: Option<u64>,
    },
}

/// The agent's words, and what a person needs besides.
pub(super) fn explained(told: &str, answer: &Answer, about: &About) -> String {
    let more = match (told, about) {
        ("invalid report key", About::Report(key)) => {
            ReportKey::parse(key).err().map(|rule| rule.to_string())
        }
        ("invalid secret key", About::Secret { key, .. }) => {
            SecretKey::parse(key).err().map(|rule| rule.to_string())
        }
        ("invalid version", About::Secret { .. }) => Some("the first one is 1".to_owned()),
        ("not found", about) => missing(about),
        ("rate limited", _) => {
            answer.retry_after.map(|seconds| format!("ask again in {seconds} s"))
        }
        ("control plane unavailable", _) => Some("see the agent's log".to_owned()),
        _ => None,
    };
    more.map_or_else(|| told.to_owned(), |more| format!("{told}: {more}"))
}

/// Which entry there is not, and the command that lists those there are.
fn missing(about: &About) -> Option<String> {
    let (kind, key, list) = match about {
        About::All => return None,
        About::Metadata(key) => ("metadata", key, "state metadata"),
        About::Data(key) => ("data entry", key, "state data"),
        About::Report(key) => ("report", key, "report list"),
        About::Secret { key, .. } => ("secret", key, "secret list"),
    };
    let version = match about {
        About::Secret { version: Some(version), .. } => format!(" with version {version}"),
        About::Secret { version: None, .. }
        | About::All
        | About::Metadata(_)
        | About::Data(_)
        | About::Report(_) => String::new(),
    };
    let key = legible::line(key);
    Some(format!("there is no {kind} {key}{version}; `meshward {list}` lists what is known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(retry_after: Option<u64>) -> Answer {
        Answer { status: 429, retry_after, body: Vec::new().into() }
    }

    #[test]
    fn a_wait_and_the_place_to_look_follow_the_words_of_the_agent() {
        let secret = About::Secret { key: "a".to_owned(), version: None };
        let rows = [
            ("rate limited", Some(7), "rate limited: ask again in 7 s"),
            ("rate limited", None, "rate limited"),
            ("control plane unavailable", None, "control plane unavailable: see the agent's log"),
            ("forbidden", Some(7), "forbidden"),
        ];
        for (told, wait, whole) in rows {
            assert_eq!(explained(told, &answer(wait), &secret), whole);
        }
    }

    #[test]
    fn what_is_missing_is_named_with_the_command_that_lists_its_kind() {
        let key = || "a\u{1b}".to_owned();
        let rows = [
            (About::Metadata(key()), "metadata", "`meshward state metadata`"),
            (About::Data(key()), "data entry", "`meshward state data`"),
            (About::Report(key()), "report", "`meshward report list`"),
        ];
        for (about, kind, list) in rows {
            let told = explained("not found", &answer(None), &about);
            let want =
                format!("not found: there is no {kind} a\u{fffd}; {list} lists what is known");
            assert_eq!(told, want);
        }
        assert_eq!(explained("not found", &answer(None), &About::All), "not found");
    }
}
