//! The program `flow`.

fn main() -> std::process::ExitCode {
    flow_cli::main()
}
