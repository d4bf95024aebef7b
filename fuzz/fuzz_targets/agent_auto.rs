#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| backstop_adapters::fuzz::agent_auto(data));
