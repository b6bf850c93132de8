//! What the allocator of the C library gave out and holds (`mallinfo2`), and that it holds little (`mallopt`).
//!
//! The first call is looked up while the program runs: the GNU C library has it since 2.33, no other has it, and the
//! program is to begin where it is not.

/// In bytes, of all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heap {
    /// What is given out.
    pub allocated: u64,
    /// What is held of the system.
    pub held: u64,
}

/// What the allocator tells; `None` where it does not.
#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "there is no safe wrapper of mallinfo2")]
pub fn heap() -> Option<Heap> {
    use std::ffi::c_void;

    type Call = unsafe extern "C" fn() -> libc::mallinfo2;

    // SAFETY: the name is a text of C, and the lookup among the libraries that are loaded changes nothing.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr()) };
    // SAFETY: a function's address is as wide as any other, null is `None`, and the C library is the only one that
    // defines this name, with this signature.
    let call = unsafe { std::mem::transmute::<*mut c_void, Option<Call>>(found) }?;
    // SAFETY: the call takes nothing and locks what it reads; the allocator has been used already, and nobody here
    // changes its parameters meanwhile.
    let info = unsafe { call() };
    let [small, large, arena] = [info.uordblks, info.hblkhd, info.arena]
        .map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
    Some(Heap { allocated: small.saturating_add(large), held: arena.saturating_add(large) })
}

/// What the allocator tells; `None` where it does not.
#[cfg(not(target_env = "gnu"))]
pub fn heap() -> Option<Heap> {
    None
}

/// How large a piece is that goes back to the system by itself, and how much is kept behind the last one, in bytes.
#[cfg(target_env = "gnu")]
const LARGE: libc::c_int = 128 << 10;

/// Lets the allocator hold little beside what it gave out; to be called before there is another thread.
///
/// The GNU C library gives threads arenas of their own, up to eight for each processor, each of which keeps what it held
/// at its fullest; and once a large piece was given back, it takes pieces as large from the arenas too. Tells whether it
/// was all taken; another library, which is left as it is, takes it all.
#[cfg(target_env = "gnu")]
pub fn hold_little() -> bool {
    let wanted =
        [(libc::M_ARENA_MAX, 1), (libc::M_MMAP_THRESHOLD, LARGE), (libc::M_TRIM_THRESHOLD, LARGE)];
    wanted.into_iter().all(|(parameter, value)| set(parameter, value))
}

/// Lets the allocator hold little beside what it gave out.
#[cfg(not(target_env = "gnu"))]
pub const fn hold_little() -> bool {
    true
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "there is no safe wrapper of mallopt")]
fn set(parameter: libc::c_int, value: libc::c_int) -> bool {
    // SAFETY: the call takes numbers alone, and locks what it changes.
    unsafe { libc::mallopt(parameter, value) == 1 }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::heap;

    const LARGE: usize = 64 << 20;
    /// Much more than the tests beside this one may give back meanwhile.
    const SURELY: u64 = 32 << 20;

    #[test]
    fn what_is_given_out_grows_with_what_is_asked_for_and_is_within_what_is_held() {
        let Some(before) = heap() else {
            // Only another C library, or one of before 2021, may keep silent.
            assert!(!knows_the_call());
            return;
        };
        let kept = black_box(vec![1_u8; LARGE]);
        let after = heap().expect("it told before");
        assert!(after.allocated > before.allocated + SURELY, "{before:?} {after:?}");
        assert!(after.held >= after.allocated, "{after:?}");
        drop(kept);
        assert!(heap().expect("it told before").allocated < after.allocated - SURELY);
    }

    /// By what the C library says of its version.
    fn knows_the_call() -> bool {
        let told = std::process::Command::new("getconf").arg("GNU_LIBC_VERSION").output();
        let told = told.map(|told| String::from_utf8_lossy(&told.stdout).into_owned());
        let minor = told.ok().and_then(|told| told.trim().rsplit_once("2.")?.1.parse().ok());
        cfg!(target_env = "gnu") && minor.is_some_and(|minor: u32| minor >= 33)
    }
}
