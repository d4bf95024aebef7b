#![no_main]

use backstop_adapters::{Agent, fuzz};

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::agent(Agent::Goose, data));
