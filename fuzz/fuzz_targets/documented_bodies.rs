#![no_main]
//! See `dcm_rest::parsers::documented_bodies`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dcm_rest::parsers::documented_bodies(bytes));
