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
    /// Linked with no shared library, to be copied to guests; optimised a little,
    /// with or without --release. `cargo xtask dist` makes what is handed out.
    #[arg(long = "static")]
    linked_statically: bool,
    /// With --static: also the integration tests, to be run as root.
    #[arg(long, requires = "linked_statically")]
    tests: bool,
}

pub fn run(args: &Args) -> Result<()> {
    let mut programs = Vec::new();
    if args.tests {
        let (iotrace, tests) = host::build_static_tests()?;
        programs.push(iotrace);
        programs.extend(tests.into_iter().map(|test| test.path));
    } else if args.linked_statically {
        programs.push(host::build_static()?);
    } else if args.release {
        programs.push(host::build(Profile::Release)?);
    } else {
        programs.push(host::build(Profile::Dev)?);
    }
    for program in programs {
        println!("{}", program.display());
    }
    Ok(())
}
