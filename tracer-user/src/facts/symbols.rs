//! Addresses of the functions that are told when a bio ends, from
//! `/proc/kallsyms`.
//!
//! Must not know what the functions are for.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

use super::{
    md_wanted::EndFunction,
    root::{Absence, KernelRoot},
};

/// Addresses by symbol, with its module in brackets as the file has it. A name
/// that several functions share has several.
pub type Symbols = BTreeMap<String, Vec<u64>>;

/// The key of a function in [`Symbols`].
#[must_use]
pub fn key(function: &EndFunction) -> String {
    match function.module {
        Some(module) => format!("{} [{module}]", function.symbol),
        None => function.symbol.to_owned(),
    }
}

/// Finds those of `wanted` that the kernel has.
///
/// # Errors
/// [`Absence`] when the file cannot be read, or shows no addresses to this
/// user: all are 0 then.
pub fn read(root: &KernelRoot, wanted: &[EndFunction]) -> Result<Symbols, Absence> {
    let path = root.kallsyms();
    let file = File::open(&path).map_err(|error| Absence::from_io(&path, &error))?;
    parse(&path, BufReader::with_capacity(1 << 20, file), wanted)
}

fn parse(path: &Path, mut file: impl BufRead, wanted: &[EndFunction]) -> Result<Symbols, Absence> {
    let mut found = Symbols::new();
    let mut any = false;
    let mut line = String::new();
    loop {
        line.clear();
        let read = file.read_line(&mut line);
        if read.map_err(|error| Absence::from_io(path, &error))? == 0 {
            break;
        }
        let mut words = line.split_whitespace();
        let (Some(address), Some(_kind), Some(symbol)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let module = words
            .next()
            .and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
        // Built in, a module's functions are the kernel's own.
        let Some(function) = wanted.iter().find(|function| {
            function.symbol == symbol && (module.is_none() || function.module == module)
        }) else {
            continue;
        };
        let Ok(address) = u64::from_str_radix(address, 16) else {
            continue;
        };
        any = true;
        if address != 0 {
            found.entry(key(function)).or_default().push(address);
        }
    }
    if any && found.is_empty() {
        return Err(Absence::NotPermitted {
            path: path.to_owned(),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::md_wanted::END_FUNCTIONS;

    fn parse(text: &str) -> Result<Symbols, Absence> {
        super::parse(Path::new("kallsyms"), text.as_bytes(), END_FUNCTIONS)
    }

    #[test]
    fn modules_are_told_apart() {
        let found = parse(
            "ffffffff81000000 T bio_chain_endio\n\
             ffffffffc0000010 t end_sync_read\t[raid1]\n\
             ffffffffc0000020 t end_sync_read\t[raid10]\n\
             ffffffffc0000030 t end_sync_read\t[other]\n\
             ffffffffc0000040 t raid5_align_endio\t[raid456]\n",
        )
        .unwrap();
        assert_eq!(found["bio_chain_endio"], [0xffff_ffff_8100_0000]);
        assert_eq!(found["end_sync_read [raid1]"], [0xffff_ffff_c000_0010]);
        assert_eq!(found["end_sync_read [raid10]"], [0xffff_ffff_c000_0020]);
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn zeroes_are_no_addresses() {
        let error = parse("0000000000000000 T bio_chain_endio\n").unwrap_err();
        assert!(matches!(error, Absence::NotPermitted { .. }));
        assert_eq!(parse("").unwrap(), Symbols::new());
    }
}
