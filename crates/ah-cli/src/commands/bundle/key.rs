use std::path::PathBuf;

use serde_json::json;

use super::place::not_blank;
use crate::app::App;
use crate::commands::login::ask;
use crate::error::{CommandError, Exit};
use crate::input::read_text;
use crate::secret::{Kept, forget, keep, model_server};

const KEY_BYTES_MAX: usize = 4 * 1024;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address of the model's server, as `ah bundle run` is given it
    #[arg(long, value_name = "URL", value_parser = not_blank)]
    base_url: String,
    /// Read the key from a file, or stdin for `-`; asked for when not given
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Forget the key
    #[arg(long, conflicts_with = "key_file")]
    forget: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let server = model_server(&args.base_url);
    if args.forget {
        let there_was = forget(&app.environment, &server)?;
        let answer = json!({ "baseUrl": args.base_url, "forgotten": there_was });
        return app.output.result(&answer, |_| match there_was {
            true => "the key is forgotten".to_owned(),
            false => "no key was kept".to_owned(),
        });
    }
    let text = match &args.key_file {
        Some(file) => read_text("key", file, KEY_BYTES_MAX)?,
        None => ask(app, &format!("Key for {}", args.base_url), "--key-file")?,
    };
    let key = text.trim();
    if key.is_empty() || key.chars().any(|character| !character.is_ascii_graphic()) {
        return Err(CommandError::new(
            Exit::Usage,
            "the key is blank or has characters no key has",
        )
        .hint("the file holds the key and nothing else"));
    }
    let place = match keep(&app.environment, &server, key)? {
        Kept::Keychain => "the keychain".to_owned(),
        Kept::File(path, reason) => {
            app.output.talk(&format!(
                "no keychain can be used ({reason}): the key is kept in a file that only you may read"
            ));
            path.display().to_string()
        }
    };
    app.output.result(&json!({ "baseUrl": args.base_url, "keptIn": place }), |_| {
        format!("the key for {} is kept in {place}", args.base_url)
    })
}
