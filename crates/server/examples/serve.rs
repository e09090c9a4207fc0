//! The server without the command around it.
use mintage_server::config::{Sources, load};
fn main() {
    let sources = Sources {
        environment: std::env::vars().collect(),
        ..Sources::default()
    };
    let loaded = load(&sources).unwrap_or_else(|e| panic!("{e} {:?}", e.hint));
    for w in loaded.config.validate().unwrap() {
        eprintln!("{w}");
    }
    if let Err(e) = mintage_server::serve(loaded.config, |s| eprintln!("{s:?}")) {
        eprintln!("error: {e}\nhint: {:?}", e.hint);
        std::process::exit(3);
    }
}
