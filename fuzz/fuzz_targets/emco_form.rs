#![no_main]
//! See `dcm_rest::parsers::emco_form`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dcm_rest::parsers::emco_form(bytes));
