//! What the allocator keeps behind threads that held much, each in its turn.
//!
//! No other test is in this process, since the arenas that threads were given before are not taken from them.

use std::{
    hint::black_box,
    sync::{Barrier, Mutex},
    thread,
};

use meshward_sys::heap::{heap, hold_little};

const THREADS: usize = 8;
const EACH: usize = 8 << 20;
const PIECE: usize = 16 << 10;

#[test]
fn what_threads_give_back_is_not_kept_for_each_of_them() {
    assert!(hold_little());
    // Another C library tells nothing.
    let Some(before) = heap() else { return };
    let (begun, turn) = (Barrier::new(THREADS), Mutex::new(()));
    let burst = || {
        begun.wait();
        let _turn = turn.lock();
        let pieces: Vec<Vec<u8>> = (0..EACH / PIECE).map(|_| vec![1; PIECE]).collect();
        // What lies behind the pieces keeps them from being cut off.
        let last = vec![1_u8; PIECE];
        drop(black_box(pieces));
        last
    };
    let last: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(burst)).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    let after = heap().expect("it told before");
    let (kept, all) = (after.held.saturating_sub(before.held), (THREADS * EACH) as u64);
    assert!(kept < all / 2, "{kept} bytes are kept of {all}");
    drop(last);
}
