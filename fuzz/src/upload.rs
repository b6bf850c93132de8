//! Upload URLs: what may be used keeps to the rules as a plain reading of its text finds them, and never shows.

use meshward_core::wire::upload_url::{Origin, UPLOAD_URL_MAX, UploadUrl};

/// Parts of hosts that mean this machine or its link, in any spelling.
const NEAR: [&str; 6] =
    ["127.0.0.1", "169.254.169.254", "[::1]", "0.0.0.0", "localhost", "[fe80::1]"];

/// The first byte tells where the control plane is, the rest is what it hands out.
pub fn upload_url(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let Ok(text) = core::str::from_utf8(rest) else { return };
    let host = if first & 2 == 0 { "plane.example" } else { "127.0.0.1" };
    let origin = Origin { is_encrypted: first & 1 == 1, host: host.into() };
    let Ok(url) = UploadUrl::parse(text, &origin) else { return };
    assert_eq!(url.text().expose(), text);
    assert!(text.len() <= UPLOAD_URL_MAX && text.bytes().all(|byte| byte.is_ascii_graphic()));
    let lower = text.to_ascii_lowercase();
    let behind = lower.strip_prefix("https://").or_else(|| {
        assert!(!origin.is_encrypted, "{text} is weaker than its control plane");
        lower.strip_prefix("http://")
    });
    let behind = behind.expect("it is http or https");
    assert!(!behind.contains('#') && !behind.contains('\\'));
    let authority = behind.split(['/', '?']).next().unwrap_or_default();
    assert!(!authority.is_empty() && !authority.contains('@'));
    if host != "127.0.0.1" {
        for near in NEAR {
            assert!(authority != near && !authority.starts_with(&format!("{near}:")), "{text}");
        }
    }
    let key = url.object_key();
    assert!(!key.is_empty() && !key.chars().any(char::is_control));
    assert!(!key.split('/').any(|segment| segment == "." || segment == ".."));
    let shown = format!("{url:?}");
    let query = behind.split_once('?').map(|(_, query)| query).filter(|query| query.len() > 24);
    assert!(query.is_none_or(|query| !shown.to_ascii_lowercase().contains(query)), "{shown}");
}
