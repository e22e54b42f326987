//! LVM2's text (lib/config/config.c of lvm2): as much of it as says where a
//! physical volume's extents lie.
//!
//! Must not read, nor keep what it passes over. Sections inside sections are
//! walked without recursion, values without copies.

use super::lvm::LvmGroup;
use crate::units::Sectors;

/// Deeper than any group's.
const MOST_DEPTH: usize = 8;
/// A name of a group has 127 letters at most (`NAME_LEN`).
const MOST_NAME_BYTES: usize = 128;

/// A word of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Open,
    Close,
    Equals,
    /// Of a list: brackets and commas.
    List,
    Text(&'a str),
    /// A name, a number.
    Word(&'a str),
}

/// Takes the next word from `rest`. `None`: the end, or a text without one.
fn token<'a>(rest: &mut &'a str) -> Option<Token<'a>> {
    loop {
        *rest = rest.trim_start_matches(|char: char| char.is_whitespace() || char == '\0');
        match rest.strip_prefix('#') {
            Some(comment) => *rest = comment.find('\n').map_or("", |end| &comment[end..]),
            None => break,
        }
    }
    let first = rest.chars().next()?;
    let single = match first {
        '{' => Some(Token::Open),
        '}' => Some(Token::Close),
        '=' => Some(Token::Equals),
        '[' | ']' | ',' => Some(Token::List),
        _ => None,
    };
    if single.is_some() {
        *rest = &rest[1..];
        return single;
    }
    if first == '"' {
        return quoted(rest);
    }
    let is_end = |char: char| char.is_whitespace() || "{}=[],#\"\0".contains(char);
    let (word, behind) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
    *rest = behind;
    Some(Token::Word(word))
}

/// Escapes are left as they are: nothing that is looked for has any.
fn quoted<'a>(rest: &mut &'a str) -> Option<Token<'a>> {
    let mut escaped = false;
    let body = &rest[1..];
    let end = body.find(|char| {
        let ends = char == '"' && !escaped;
        escaped = char == '\\' && !escaped;
        ends
    })?;
    *rest = &body[end + 1..];
    Some(Token::Text(&body[..end]))
}

/// What was gathered on the way.
#[derive(Default)]
struct Found<'a> {
    name: Option<&'a str>,
    sequence: Option<u64>,
    extent_size: Option<u64>,
    /// Of the physical volume that is being read.
    is_ours: bool,
    start: Option<u64>,
    count: Option<u64>,
    /// Of ours, once its section ended.
    ours: Option<(Option<u64>, Option<u64>)>,
}

/// The group of `text`, with what it says of the volume `uuid` (without
/// dashes). `None`: not to be understood.
pub(super) fn group(text: &[u8], uuid: &str) -> Option<LvmGroup> {
    let text = str::from_utf8(text).ok()?;
    let mut rest = text;
    let mut path: Vec<&str> = Vec::new();
    let mut found = Found::default();
    let mut name = "";
    while let Some(token) = token(&mut rest) {
        match token {
            Token::Word(word) => name = word,
            Token::Open if path.len() < MOST_DEPTH => path.push(name),
            Token::Open => return None,
            Token::Close => {
                leave(&path, &mut found);
                path.pop()?;
            }
            Token::Equals => set(&path, name, &mut rest, uuid, &mut found)?,
            Token::List | Token::Text(_) => {}
        }
    }
    let name = found.name.filter(|name| name.len() <= MOST_NAME_BYTES)?;
    let (start, count) = found.ours.unwrap_or_default();
    path.is_empty().then_some(LvmGroup {
        name: name.to_owned(),
        sequence: found.sequence?,
        extent_size: Sectors(found.extent_size.filter(|size| *size > 0)?),
        pe_start: start.map(Sectors),
        pe_count: count,
    })
}

/// A value; those of a list are passed over as words that nobody asks for.
fn set<'a>(
    path: &[&'a str],
    name: &str,
    rest: &mut &'a str,
    uuid: &str,
    found: &mut Found<'a>,
) -> Option<()> {
    let value = token(rest)?;
    let number = match value {
        Token::Word(word) => word.parse().ok(),
        _ => None,
    };
    match (path, name) {
        ([group], "extent_size") => {
            found.name = Some(group);
            found.extent_size = number;
        }
        ([_], "seqno") => found.sequence = number,
        ([_, "physical_volumes", _], "id") => {
            found.is_ours = matches!(value, Token::Text(text) if is_same(text, uuid));
        }
        ([_, "physical_volumes", _], "pe_start") => found.start = number,
        ([_, "physical_volumes", _], "pe_count") => found.count = number,
        _ => {}
    }
    Some(())
}

fn is_same(dashed: &str, uuid: &str) -> bool {
    dashed.bytes().filter(|byte| *byte != b'-').eq(uuid.bytes())
}

/// A section ends.
fn leave(path: &[&str], found: &mut Found<'_>) {
    if let [_, "physical_volumes", _] = path {
        let numbers = (found.start.take(), found.count.take());
        if std::mem::take(&mut found.is_ours) {
            found.ours = Some(numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        vg0 { # the group
            id = "a-b"
            seqno = 7
            status = ["RESIZEABLE", "READ"]
            extent_size = 8192
            physical_volumes {
                pv0 { id = "AA-BB" pe_start = 2048 pe_count = 15 }
                pv1 { id = "CC-DD" device = "/dev/\"}{" pe_start = 129 pe_count = 31 }
            }
            logical_volumes { lv { id = "AA-BB" segment1 { pe_start = 1 } } }
        }
        contents = "Text Format Volume Group"
    "#;

    #[test]
    fn a_group_and_the_volume_asked_for() {
        let second = group(TEXT.as_bytes(), "CCDD").unwrap();
        assert_eq!(second.name, "vg0");
        assert_eq!(second.sequence, 7);
        assert_eq!(second.extent_size, Sectors(8192));
        assert_eq!(second.pe_start, Some(Sectors(129)));
        assert_eq!(second.pe_count, Some(31));
        let first = group(TEXT.as_bytes(), "AABB").unwrap();
        assert_eq!(first.pe_start, Some(Sectors(2048)));
        let other = group(TEXT.as_bytes(), "EEFF").unwrap();
        assert_eq!((other.pe_start, other.pe_count), (None, None));
    }

    #[test]
    fn what_is_cut_off_or_too_deep_is_no_group() {
        let cut = &TEXT[..TEXT.find("logical").unwrap()];
        assert_eq!(group(cut.as_bytes(), "AABB"), None);
        assert_eq!(group(b"a {".repeat(100_000).as_slice(), "AABB"), None);
        assert_eq!(group(b"}", "AABB"), None);
        assert_eq!(group(b"a = ", "AABB"), None);
    }
}
