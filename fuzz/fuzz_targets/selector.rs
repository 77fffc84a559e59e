#![no_main]
//! See `dcm_rest::parsers::selector`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dcm_rest::parsers::selector(bytes));
