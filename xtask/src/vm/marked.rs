//! Output of several guests at the same time: whole lines, each with the mark
//! of its guest in front.
//!
//! Must not hold a line back longer than it takes to end it.

use std::io::{self, Write};

/// Writes each line to `out` in one piece.
pub(super) struct Marked<W: Write> {
    mark: &'static str,
    line: Vec<u8>,
    out: W,
}

impl<W: Write> Marked<W> {
    pub(super) fn new(mark: &'static str, out: W) -> Self {
        Self {
            mark,
            line: Vec::new(),
            out,
        }
    }

    fn end_line(&mut self) -> io::Result<()> {
        let mut line = format!("{:>4} | ", self.mark).into_bytes();
        line.append(&mut self.line);
        line.push(b'\n');
        self.out.write_all(&line)
    }
}

impl<W: Write> Write for Marked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line()?;
            } else {
                self.line.push(byte);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Drop for Marked<W> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            // Nobody is left to tell.
            let _ = self.end_line();
        }
    }
}

#[test]
fn lines_are_whole() {
    struct Pieces(std::rc::Rc<std::cell::RefCell<Vec<String>>>);
    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let piece = String::from_utf8_lossy(bytes).into_owned();
            self.0.borrow_mut().push(piece);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let pieces = std::rc::Rc::default();
    let mut marked = Marked::new("6.1", Pieces(std::rc::Rc::clone(&pieces)));
    marked.write_all(b"one\ntw").unwrap();
    marked.write_all(b"o\n\nrest").unwrap();
    drop(marked);
    assert_eq!(
        *pieces.borrow(),
        [" 6.1 | one\n", " 6.1 | two\n", " 6.1 | \n", " 6.1 | rest\n"]
    );
}
