#![no_main]
//! See `dcm_rest::parsers::kubeconfig`.

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dcm_rest::parsers::kubeconfig(bytes));
