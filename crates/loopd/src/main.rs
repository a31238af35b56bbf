//! The agent loop's program. What it does is the library's; this starts it.

fn main() -> std::process::ExitCode {
    loopd::cli::main()
}
