use std::process::ExitCode;

fn main() -> ExitCode {
    backstop::run(std::env::args_os())
}
