//! Frames of the event stream, byte by byte.

use meshward_core::wire::sse::{Frame, KEEP_ALIVE};

#[test]
fn a_frame_has_three_lines_and_a_blank_one() {
    let frame = Frame::event(7, "policy_updated", br#"{"id":"e"}"#);
    assert_eq!(&*frame.0, b"id: 7\nevent: policy_updated\ndata: {\"id\":\"e\"}\n\n");
    let last = Frame::event(u64::MAX, "", b"");
    assert_eq!(&*last.0, b"id: 18446744073709551615\nevent: \ndata: \n\n");
}

#[test]
fn a_sign_of_life_is_a_comment_that_ends_its_block() {
    assert_eq!(KEEP_ALIVE, b": keep-alive\n\n");
}

#[test]
fn a_frame_is_printed_by_its_length_alone() {
    assert_eq!(format!("{:?}", Frame::event(1, "t", b"secret")), "29 bytes");
}
