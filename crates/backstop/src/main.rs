use std::process::ExitCode;

/// A service frees on one thread what it allocated on another, over which the system's allocator
/// makes its threads wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    backstop::run(std::env::args_os())
}
