//! Every way to end: a summary where one can be read, the terminal as it was,
//! and no program left in the kernel.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::Stdio,
};

use crate::harness::{
    lab::Lab,
    loopdev::Loop,
    programs,
    terminal::Terminal,
    tracer::{Attach, Tracer, iotrace},
    wait,
};

#[test]
fn ctrl_c_and_sigterm() {
    let Some(lab) = Lab::open("ctrl_c_and_sigterm", &[]) else {
        return;
    };
    let disk = Loop::new(&lab, 1 << 20);
    for attach in Attach::tried(&Attach::ALL) {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            let tracer = Tracer::of(&[&disk.device()], attach, &[]).wait_until_attached();
            let held = programs::of_process(tracer.pid());
            tracer.print_twice();
            tracer.signal(signal);
            let ended = tracer.wait();
            assert_eq!(ended.status.code(), Some(0), "{attach:?} {}", ended.status);
            let last = ended.stdout.last().expect("a summary line");
            assert!(last.contains("\"summary\":true"), "{last}");
            let untold = |line: &&String| line.starts_with("iotrace: not told: ");
            let said = ended.stderr.iter().filter(|line| !untold(line)).count();
            assert_eq!(said, 1, "{:?}", ended.stderr);
            programs::wait_until_gone(&held);
        }
    }
}

#[test]
fn killed_and_started_again() {
    let Some(lab) = Lab::open("killed_and_started_again", &[]) else {
        return;
    };
    let disk = Loop::new(&lab, 1 << 20);
    for attach in Attach::tried(&Attach::ALL) {
        let tracer = Tracer::of(&[&disk.device()], attach, &[]).wait_until_attached();
        let held = programs::of_process(tracer.pid());
        tracer.signal(libc::SIGKILL);
        assert_eq!(tracer.wait().status.code(), None);
        programs::wait_until_gone(&held);
        Tracer::of(&[&disk.device()], attach, &[])
            .wait_until_attached()
            .stop();
    }
}

/// As in `iotrace | head -1`.
#[test]
fn a_closed_pipe() {
    let Some(lab) = Lab::open("a_closed_pipe", &[]) else {
        return;
    };
    let disk = Loop::new(&lab, 1 << 20);
    for format in ["json", "plain"] {
        let mut child = iotrace()
            .args(["--format", format, "--interval", "50ms"])
            .args(["--dev", disk.device().name()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("iotrace");
        let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        reader.read_line(&mut line).expect("a line");
        assert!(!line.is_empty());
        drop(reader);
        let status = wait::until("iotrace to end", || child.try_wait().expect("its status"));
        let mut stderr = String::new();
        let mut pipe = child.stderr.take().expect("a pipe");
        pipe.read_to_string(&mut stderr).expect("UTF-8");
        assert_eq!(status.code(), Some(0), "{format}: {stderr}");
        let said: Vec<&str> = stderr.lines().collect();
        assert!(
            matches!(said[..], [line] if line.starts_with("iotrace: counting")),
            "{format}: {stderr}"
        );
    }
}

/// Too small for the screen, and still it answers, and gives the terminal back.
#[test]
fn a_terminal_of_20_by_5() {
    let Some(lab) = Lab::open("a_terminal_of_20_by_5", &[]) else {
        return;
    };
    let disk = Loop::new(&lab, 1 << 20);
    let quit: [fn(&Terminal); 4] = [
        |terminal| terminal.press(b"q"),
        // Ctrl-C, which a raw terminal hands over as a key.
        |terminal| terminal.press(b"\x03"),
        |terminal| terminal.signal(libc::SIGINT),
        |terminal| terminal.signal(libc::SIGTERM),
    ];
    for quit in quit {
        let mut command = iotrace();
        command.args(["--dev", disk.device().name(), "--interval", "100ms"]);
        let mut terminal = Terminal::start(&mut command, 20, 5);
        // On the other screen, and told there what is wrong.
        terminal.wait_for("\x1b[?1049h");
        terminal.wait_for("20x5");
        let held = programs::of_process(terminal.pid());
        quit(&terminal);
        let end = terminal.wait();
        assert_eq!(end.status.code(), Some(0), "{}", end.screen);
        assert!(end.screen.contains("\x1b[?1049l"), "{}", end.screen);
        assert!(end.screen.contains("\x1b[?25h"), "{}", end.screen);
        assert!(end.modes_restored, "the terminal's modes");
        programs::wait_until_gone(&held);
    }
}
