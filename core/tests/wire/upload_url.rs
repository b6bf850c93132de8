//! Upload URLs: which may be used beside which control plane, and what they are called in a report.

use meshward_core::wire::upload_url::{Fault, Origin, UPLOAD_URL_MAX, UploadUrl};

fn origin(url: &str) -> Origin {
    let (scheme, host) = url.split_once("://").expect("a scheme");
    Origin { is_encrypted: scheme == "https", host: host.into() }
}

fn read(text: &str) -> Result<UploadUrl, Fault> {
    UploadUrl::parse(text, &origin("http://plane.example"))
}

fn fault(text: &str) -> Option<Fault> {
    read(text).err()
}

#[test]
fn a_weaker_scheme_than_the_control_planes_is_refused() {
    let rows = [
        ("https://plane", "https://store/x", None),
        ("https://plane", "HTTPS://store/x", None),
        ("https://plane", "http://store/x", Some(Fault::Weaker)),
        ("https://plane", "HTTP://plane/x", Some(Fault::Weaker)),
        ("http://plane", "http://store/x", None),
        ("http://plane", "https://store/x", None),
    ];
    for (plane, url, expected) in rows {
        assert_eq!(UploadUrl::parse(url, &origin(plane)).err(), expected, "{plane} {url}");
    }
}

#[test]
fn only_absolute_http_and_https_urls_are_read() {
    for text in
        ["", "store/x", "//store/x", "ftp://store/x", "file:///x", "javascript:x", "http:/x"]
    {
        assert_eq!(fault(text), Some(Fault::Scheme), "{text}");
    }
}

#[test]
fn users_fragments_and_odd_characters_are_refused() {
    let rows = [
        ("http://user@store/x", Fault::User),
        ("http://user:word@store/x", Fault::User),
        ("http://plane.example@store/x", Fault::User),
        ("http://store/x#y", Fault::Fragment),
        ("http://store#@plane/x", Fault::Fragment),
        ("http://store/x y", Fault::Character),
        ("http://store\\@plane/x", Fault::Character),
        ("http://store/\u{e4}", Fault::Character),
        ("http://store/x\n", Fault::Character),
        ("http://store/\u{0}", Fault::Character),
    ];
    for (text, expected) in rows {
        assert_eq!(fault(text), Some(expected), "{text:?}");
    }
}

#[test]
fn a_host_and_a_port_must_be_sound() {
    for text in [
        "http:///x",
        "http://:80/x",
        "http://store:/x",
        "http://store:65536/x",
        "http://store:-1/x",
        "http://store:8o/x",
        "http://[::1/x",
        "http://[::g]/x",
        "http://[fe80::1%25eth0]/x",
        "http://sto%72e/x",
        "http://a_b!/x",
        "http://999.1.1.1/x",
        "http://2130706433/x",
        "http://0x7f000001/x",
        "http://127.1/x",
        "http://0177.0.0.1/x",
        "http://127.0.0.0x1/x",
    ] {
        assert!(matches!(fault(text), Some(Fault::Host)), "{text}: {:?}", fault(text));
    }
    for text in [
        "http://store:0/x",
        "http://store:65535/x",
        "http://192.0.2.1/x",
        "http://[2001:db8::1]:8/x",
    ] {
        assert_eq!(fault(text), None, "{text}");
    }
}

#[test]
fn a_literal_of_this_machine_or_its_link_is_refused_unless_the_control_plane_is_there() {
    let here = [
        "127.0.0.1",
        "127.8.8.8",
        "0.0.0.0",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "[::1]",
        "[::]",
        "[fe80::1]",
        "[ff02::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "x.localhost",
    ];
    for host in here {
        let url = format!("http://{host}:8080/x");
        assert_eq!(fault(&url), Some(Fault::Here), "{host}");
        let same = UploadUrl::parse(&url, &origin(&format!("http://{host}")));
        assert!(same.is_ok(), "{host}");
    }
}

#[test]
fn the_object_key_is_the_decoded_path_without_its_leading_slash() {
    let rows = [
        ("http://store/exec-output/run-1?token=t", "exec-output/run-1"),
        ("http://store/exec-output/a%20b%2Fc", "exec-output/a b/c"),
        ("http://store/bucket/%C3%A4", "bucket/\u{e4}"),
        ("http://store/x?y=/z?", "x"),
    ];
    for (text, key) in rows {
        assert_eq!(read(text).map(|url| url.object_key().to_owned()), Ok(key.into()), "{text}");
    }
    for text in [
        "http://store",
        "http://store/",
        "http://store?x",
        "http://store/a/../b",
        "http://store/./b",
        "http://store/%2e%2e/b",
        "http://store/%",
        "http://store/%0a",
        "http://store/%ff",
    ] {
        assert_eq!(fault(text), Some(Fault::Path), "{text}");
    }
}

#[test]
fn a_url_may_be_long_but_not_longer() {
    let url = |length: usize| format!("http://store/x?{}", "y".repeat(length - 15));
    assert_eq!(url(UPLOAD_URL_MAX).len(), UPLOAD_URL_MAX);
    assert_eq!(fault(&url(UPLOAD_URL_MAX)), None);
    assert_eq!(fault(&url(UPLOAD_URL_MAX + 1)), Some(Fault::Long));
}

#[test]
fn what_was_read_never_shows_and_is_given_as_it_came() {
    let text = "HTTP://Store:8/x?token=canary";
    let url = read(text).unwrap();
    assert!(!format!("{url:?}").contains("canary"));
    assert_eq!(url.text().expose(), text);
}
