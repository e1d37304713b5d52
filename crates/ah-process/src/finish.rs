//! Programs that are run to their end: bounded time and output.

use std::io::{self, Read, Write};
use std::process::{Child, ExitStatus};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::Group;

/// What a program may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Longest that it may run.
    pub time: Duration,
    /// Most that it may print.
    pub output_bytes: u64,
    /// How much is kept of what it says of errors.
    pub error_bytes: u64,
}

/// What a program answered.
#[derive(Debug)]
pub struct Output {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub text: Vec<u8>,
    said: String,
}

impl Output {
    /// The first line of what it printed.
    pub fn line(&self) -> String {
        String::from_utf8_lossy(&self.text).lines().next().unwrap_or_default().to_owned()
    }

    /// What it said of its failure, on one line.
    pub fn reason(&self) -> String {
        let said = self.said.trim();
        if said.is_empty() { self.status.to_string() } else { said.replace('\n', "; ") }
    }
}

/// Gives `input` to the head of a group, waits for its end, and makes one if it takes too long or
/// says too much. Whatever it started ends with it.
pub fn finish(child: &mut Child, input: Option<Vec<u8>>, bounds: Bounds) -> io::Result<Output> {
    match finish_cut(child, input, bounds)? {
        (output, false) => Ok(output),
        (_, true) => {
            Err(io::Error::other(format!("printed more than {} bytes", bounds.output_bytes)))
        }
    }
}

/// As [`finish`] for whoever wants only the beginning of what it prints; whether there was more.
pub fn finish_cut(
    child: &mut Child,
    input: Option<Vec<u8>>,
    bounds: Bounds,
) -> io::Result<(Output, bool)> {
    let writer = child.stdin.take().zip(input).map(|(mut pipe, input)| {
        // One that ends early says why itself.
        thread::spawn(move || drop(pipe.write_all(&input)))
    });
    let text = child.stdout.take().map(|pipe| reader(pipe, bounds.output_bytes + 1));
    let said = child.stderr.take().map(|pipe| reader(pipe, bounds.error_bytes));
    let status = wait(child, Instant::now() + bounds.time);
    // Whatever it started and left behind would keep the pipes open.
    Group::of(child.id()).kill();
    writer.map(JoinHandle::join);
    let (text, said) = (collect(text), collect(said));
    let status = status?;
    let (mut text, said) = (text?, said?);
    let Some(status) = status else {
        let seconds = bounds.time.as_secs();
        return Err(io::Error::other(format!("not done after {seconds} seconds")));
    };
    let is_cut = text.len() as u64 > bounds.output_bytes;
    text.truncate(usize::try_from(bounds.output_bytes).unwrap_or(usize::MAX));
    Ok((Output { status, text, said: String::from_utf8_lossy(&said).into_owned() }, is_cut))
}

/// Reads what is said up to `max` bytes, and the rest away: who says it must not wait.
fn reader(mut pipe: impl Read + Send + 'static, max: u64) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.by_ref().take(max).read_to_end(&mut bytes)?;
        io::copy(&mut pipe, &mut io::sink())?;
        Ok(bytes)
    })
}

fn collect(reader: Option<JoinHandle<io::Result<Vec<u8>>>>) -> io::Result<Vec<u8>> {
    let joined = reader.map_or(Ok(Ok(Vec::new())), JoinHandle::join);
    joined.unwrap_or_else(|_| Err(io::Error::other("a reader of its output broke off")))
}

/// The status once it has ended; none if it had to be ended.
fn wait(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            Group::of(child.id()).kill();
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const BOUNDS: Bounds =
        Bounds { time: Duration::from_secs(60), output_bytes: 8, error_bytes: 8 };

    fn shell(script: &str, bounds: Bounds) -> io::Result<Output> {
        let mut command = Command::new("sh");
        crate::begin(command.args(["-c", script]));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        finish(&mut command.spawn().unwrap(), Some(b"given\n".to_vec()), bounds)
    }

    #[test]
    fn what_a_program_says_and_how_it_ends_is_its_answer() {
        let output = shell("cat; echo 'no way to go' >&2; exit 3", BOUNDS).unwrap();
        assert_eq!((output.line().as_str(), output.reason().as_str()), ("given", "no way t"));
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn one_that_takes_too_long_or_says_too_much_is_an_error() {
        let short = Bounds { time: Duration::from_millis(50), ..BOUNDS };
        let late = shell("sleep 600 & sleep 600", short).unwrap_err();
        assert_eq!(late.to_string(), "not done after 0 seconds");
        let long = shell("echo 123456789", BOUNDS).unwrap_err();
        assert_eq!(long.to_string(), "printed more than 8 bytes");
    }
}
