//! The program `flow`.

fn main() -> std::process::ExitCode {
    flow::cli::main()
}
