//! `mint completions`: what a shell needs to complete the command line.

use clap::Command;
use clap_complete::Shell;

use crate::errors::Failure;
use crate::out::Out;

#[derive(clap::Args, Debug)]
#[command(
    after_help = "Bash: mint completions bash > ~/.local/share/bash-completion/completions/mint
Zsh:  mint completions zsh > a folder of $fpath/_mint
Fish: mint completions fish > ~/.config/fish/completions/mint.fish"
)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut mint: Command, out: &mut Out) -> Result<(), Failure> {
    clap_complete::generate(args.shell, &mut mint, "mint", out.buffer());
    out.written()
}
