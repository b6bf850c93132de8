//! Rules on single texts: each says in words what it wants and never repeats the text.

use std::net::IpAddr;

use meshward_core::wire::{
    grammar::SecretKey,
    sources::pattern::{NotAPattern, Pattern},
};
use reqwest::Url;

use super::listen::{ListenAddress, host_and_port};

/// A text against its rule, in words.
pub(super) type Verdict = Result<(), &'static str>;

pub(super) const SEVERITIES: [&str; 8] =
    ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"];
/// The longest network interface name of Linux.
const INTERFACE_MAX: usize = 15;
const CHAIN_MAX: usize = 63;
const PREFIX_MAX: usize = 64;

const fn want(met: bool, rule: &'static str) -> Verdict {
    if met { Ok(()) } else { Err(rule) }
}

pub(super) fn plain(text: &str) -> Verdict {
    want(!text.contains(char::is_control), "must not contain control characters")
}

pub(super) fn path(text: &str) -> Verdict {
    want(!text.is_empty() && !text.contains('\0'), "must be a path: not empty, no NUL character")
}

pub(super) fn file_pattern(text: &str) -> Verdict {
    Pattern::parse(text).map(|_| ()).map_err(NotAPattern::rule)
}

#[expect(clippy::unnecessary_wraps, reason = "one of the rules, which all look like this")]
pub(super) fn any(_: &str) -> Verdict {
    Ok(())
}

/// The part that every URL of the configuration shares; credentials in a URL would end up in logs.
fn url(text: &str) -> Result<Url, &'static str> {
    if text.contains(|one: char| one.is_control() || one.is_whitespace()) {
        return Err("must be a URL without white space");
    }
    let url = Url::parse(text).map_err(|_| "must be a URL such as \"https://host.example\"")?;
    want(url.host_str().is_some_and(|host| !host.is_empty()), "must be a URL with a host")?;
    want(
        url.username().is_empty() && url.password().is_none(),
        "must be a URL without user name and password",
    )?;
    Ok(url)
}

/// The start of every route: its path is a prefix.
pub(super) fn base_url(text: &str) -> Verdict {
    let url = url(text)?;
    want(matches!(url.scheme(), "http" | "https"), "must be a URL with the scheme http or https")?;
    want(url.query().is_none(), "must be a URL without a query (the part from \"?\")")?;
    want(url.fragment().is_none(), "must be a URL without a fragment (the part from \"#\")")
}

/// Writes a [`base_url`] so that a route can be appended: one trailing slash goes.
pub(super) fn trimmed_base(text: &str) -> String {
    let whole = Url::parse(text).map_or_else(|_| text.to_owned(), String::from);
    whole.strip_suffix('/').map_or_else(|| whole.clone(), str::to_owned)
}

/// Where a pipeline delivers locally.
pub(super) fn endpoint_url(text: &str) -> Verdict {
    want(url(text)?.scheme() == "https", "must be a URL with the scheme https")
}

pub(super) fn secret_key(text: &str) -> Verdict {
    want(
        SecretKey::parse(text).is_ok(),
        "must name a control-plane secret: a lower-case letter, then up to 62 of a-z, 0-9, \"_\", \"-\"",
    )
}

pub(super) fn metadata_path(text: &str) -> Verdict {
    let met = text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic());
    want(
        met && !text.contains(['?', '#']),
        "must be the path of a URL: begins with \"/\", no white space, \"?\" or \"#\"",
    )
}

pub(super) fn listen(text: &str) -> Verdict {
    want(
        ListenAddress::parse(text).is_some(),
        "must be an address to listen on: \"HOST:PORT\", \"[IPV6]:PORT\" or \":PORT\" for every interface",
    )
}

pub(super) fn server(text: &str) -> Verdict {
    let met = host_and_port(text).is_some_and(|(host, port)| !host.is_empty() && port > 0);
    want(met, "must be a list of servers, each \"HOST:PORT\" with a port from 1 to 65535")
}

pub(super) fn session_address(text: &str) -> Verdict {
    let met = text.parse::<IpAddr>().is_ok_and(|address| {
        let address = address.to_canonical();
        !address.is_unspecified() && !address.is_multicast()
    });
    want(met, "must be one IP address without a port, neither unspecified nor multicast")
}

pub(super) fn header_prefix(text: &str) -> Verdict {
    let inner = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let ends = text.starts_with(|one: char| one.is_ascii_alphabetic()) && !text.ends_with('-');
    want(
        inner && ends && text.len() <= PREFIX_MAX,
        "must be the start of a header name: a letter, then letters, digits and \"-\", at most 64, no \"-\" at the end",
    )
}

pub(super) fn variable(text: &str) -> Verdict {
    let met = !text.contains(|one: char| one == '=' || one.is_control());
    want(met, "must be the name of an environment variable: no \"=\" and no control characters")
}

pub(super) fn interface(text: &str) -> Verdict {
    let met = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !text.is_empty()
        && text.len() <= INTERFACE_MAX
        && !matches!(text, "." | "..");
    want(met, "must be an interface name: 1 to 15 letters, digits, \"-\", \"_\" or \".\"")
}

pub(super) fn chain(text: &str) -> Verdict {
    let met = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        && text.starts_with(|one: char| one.is_ascii_alphabetic())
        && text.len() <= CHAIN_MAX;
    want(met, "must be a chain name: a letter, then letters, digits, \"-\" or \"_\", at most 63")
}

pub(super) fn severity(text: &str) -> Verdict {
    want(
        SEVERITIES.contains(&text),
        "must be one of emerg, alert, crit, err, warning, notice, info, debug",
    )
}

pub(super) fn backend(text: &str) -> Verdict {
    want(
        matches!(text, "auto" | "kernel" | "userspace" | "none"),
        "must be one of auto, kernel, userspace, none",
    )
}

pub(super) fn level(text: &str) -> Verdict {
    want(
        matches!(text, "error" | "warn" | "info" | "debug" | "trace"),
        "must be one of error, warn, info, debug, trace",
    )
}

pub(super) fn format(text: &str) -> Verdict {
    want(matches!(text, "text" | "json" | "journald"), "must be one of text, json, journald")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_http_with_a_host_and_nothing_after_its_path() {
        for good in [
            "http://127.0.0.1:8080",
            "https://a.example/",
            "https://a.example/tenant/one/",
            "http://[::1]:1",
        ] {
            assert_eq!(base_url(good), Ok(()), "{good}");
        }
        let bad = [
            "",
            "a.example",
            "ftp://a.example",
            "https://",
            "https://u@a.example",
            "https://u:p@a.example",
            "https://a.example?x=1",
            "https://a.example?",
            "https://a.example#f",
            "https://a .example",
            "unix:/run/x",
        ];
        for bad in bad {
            assert!(base_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn one_trailing_slash_of_a_base_url_is_ignored() {
        assert_eq!(trimmed_base("https://a.example"), "https://a.example");
        assert_eq!(trimmed_base("https://a.example/"), "https://a.example");
        assert_eq!(trimmed_base("https://a.example:8443/tenant/"), "https://a.example:8443/tenant");
    }

    #[test]
    fn a_session_address_may_be_loopback_but_not_unspecified() {
        assert_eq!(session_address("127.0.0.1"), Ok(()));
        for bad in ["0.0.0.0", "::", "::ffff:0.0.0.0", "224.0.0.1", "127.0.0.1:1", "localhost"] {
            assert!(session_address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_keep_to_their_grammars() {
        assert_eq!(interface("meshward0"), Ok(()));
        assert!(interface("sixteen-letters-").is_err());
        assert!(interface("a/b").is_err());
        assert_eq!(chain("meshward-mesh"), Ok(()));
        assert!(chain("a b").is_err());
        assert_eq!(header_prefix("X-Service"), Ok(()));
        assert!(header_prefix("X-Service-").is_err());
        assert!(header_prefix("X Service").is_err());
        assert_eq!(server("stun.l.google.com:19302"), Ok(()));
        assert!(server(":19302").is_err());
        assert!(server("host:0").is_err());
    }
}
