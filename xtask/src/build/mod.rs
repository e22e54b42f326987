//! `cargo xtask build`: the eBPF object, and the program that carries it.

pub mod host;
pub mod object;

use anyhow::Result;

use self::host::Profile;

/// Builds iotrace with its eBPF programs and prints the path of what was built.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// With optimisations.
    #[arg(long)]
    release: bool,
    /// Linked with no shared library, to be copied to other machines. Implies
    /// --release.
    #[arg(long = "static")]
    linked_statically: bool,
    /// With --static: also the integration tests, to be run as root.
    #[arg(long, requires = "linked_statically")]
    tests: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let program = if args.linked_statically {
        host::build_static()?
    } else if args.release {
        host::build(Profile::Release)?
    } else {
        host::build(Profile::Dev)?
    };
    println!("{}", program.display());
    if args.tests {
        for test in host::build_static_tests()? {
            println!("{}", test.path.display());
        }
    }
    Ok(())
}
