use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::path::PathBuf;

use ah_store::{ImportReport, block_on, check_export, import_session};

use crate::app::App;
use crate::commands::progress;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// An exported document, or `-` for stdin
    file: PathBuf,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let failed = |error: io::Error| CommandError::file("read", &args.file, &error);
    let file = open(args).map_err(failed)?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    // Read twice: nothing is written before the whole document has proved sound.
    let header = check_export(&mut reader)?;
    reader.rewind().map_err(failed)?;
    let store = app.store()?;
    let bar = progress::bar(app, header.session.last_seq, "{bar:40} {pos}/{len} events {eta}");
    let report =
        block_on(import_session(&*store, &mut reader, &mut |line| bar.set_position(line)))?;
    bar.finish_and_clear();
    app.output.result(&report, |ImportReport { session_id, imported, present }| {
        format!("{session_id}: {imported} events imported, {present} were there already")
    })
}

/// The document; stdin is copied to a file that vanishes, because it is read twice.
fn open(args: &Args) -> io::Result<File> {
    if args.file.as_os_str() != "-" {
        return File::open(&args.file);
    }
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut copy)?;
    copy.rewind()?;
    Ok(copy)
}
