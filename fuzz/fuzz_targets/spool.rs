#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| meshward_fuzz::spool(bytes));
