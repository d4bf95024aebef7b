#![no_main]

use backstop_adapters::fuzz;
use backstop_adapters::report::Format;

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::report(Format::Node, data));
