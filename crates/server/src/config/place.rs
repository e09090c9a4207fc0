//! Where the store is that nobody named: one place for each user, wherever a command is started.

use std::path::{Path, PathBuf};

use mintage_ledger::{embedded, store_folder};
use mintage_local::state_file::default_data_folder;

use super::{ConfigError, Loaded, Origin, StoreUrl};

/// What means the default folder, as `store.url` and `--store`.
pub(super) const DEFAULT_STORE: &str = "file:";

/// The default folder until it became an absolute one.
const FORMER_FOLDER: &str = "mint-data";

impl Loaded {
    /// Puts the default folder's path in the place of `file:`. It stays where the environment names no place.
    pub(super) fn name_default_folder(&mut self, environment: &[(String, String)]) {
        if self.config.store_url.0 != DEFAULT_STORE {
            return;
        }
        let variable = |wanted: &str| {
            let found = environment.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| Path::new(value))
        };
        let is_root = rustix::process::geteuid().is_root();
        let folder = default_data_folder(is_root, variable("XDG_DATA_HOME"), variable("HOME"));
        if let Some(folder) = folder.as_deref().and_then(Path::to_str) {
            self.config.store_url = StoreUrl(format!("{DEFAULT_STORE}{folder}"));
        }
    }

    /// Refuses to open a default folder that is nowhere, or one that was chosen by nobody while the folder
    /// `started_in` holds the store that was the default there: its numbers would come again from the new one.
    ///
    /// # Errors
    /// Either, with what to say instead.
    pub fn check_default_folder(&self, started_in: &Path) -> Result<(), ConfigError> {
        if !self.config.store_urls.is_empty() {
            return Ok(());
        }
        let url = &self.config.store_url.0;
        if url == DEFAULT_STORE {
            return Err(ConfigError::new(
                "there is no default folder for the store: neither XDG_DATA_HOME nor HOME names an absolute path",
            )
            .with_hint("name a folder: --store file:PATH, or store.url in the configuration (MINT_STORE__URL)"));
        }
        let former = started_in.join(FORMER_FOLDER);
        match store_folder(url) {
            Some(folder) if self.nobody_named_a_store() && is_another_store(&former, folder) => {
                Err(former_default(folder))
            }
            _ => Ok(()),
        }
    }

    fn nobody_named_a_store(&self) -> bool {
        self.rows()
            .any(|(key, _, origin)| key.path == "store.url" && *origin == Origin::Default)
    }
}

fn is_another_store(former: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    embedded::is_begun(former) && real(former) != real(folder)
}

fn former_default(folder: &Path) -> ConfigError {
    let shown = folder.display();
    let error = ConfigError::new(format!(
        "./{FORMER_FOLDER} holds a store, and the default is {shown} now, wherever a command is started"
    ));
    match embedded::is_begun(folder) {
        true => error.with_hint(format!(
            "`--store file:./{FORMER_FOLDER}` goes on with the store here; `--store file:` means the one at {shown}"
        )),
        false => error.with_hint(format!(
            "`--store file:./{FORMER_FOLDER}` goes on with it; or stop its server and move it: \
             `mkdir -p {above} && mv {FORMER_FOLDER} {shown}`",
            above = folder.parent().unwrap_or(folder).display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Override, Sources, load};
    use super::*;

    fn loaded(environment: &[(&str, &str)], store: Option<&str>) -> Loaded {
        let given = store.map(|url| Override {
            path: "store.url".into(),
            value: url.into(),
            flag: "--store".into(),
        });
        let pairs = environment
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        load(&Sources {
            environment: pairs.collect(),
            overrides: given.into_iter().collect(),
            ..Sources::default()
        })
        .unwrap()
    }

    fn make_store(folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("mint.db"), "").unwrap();
    }

    #[test]
    fn the_default_is_one_absolute_folder_and_file_alone_means_it() {
        for store in [None, Some("file:")] {
            let loaded = loaded(&[("XDG_DATA_HOME", "/data")], store);
            assert_eq!(loaded.config.store_url.0, "file:/data/mint");
        }
        let named = loaded(&[("XDG_DATA_HOME", "/data")], Some("file:./ids"));
        assert_eq!(named.config.store_url.0, "file:./ids");
    }

    #[test]
    fn without_a_home_it_is_refused_with_what_to_set() {
        let nowhere = Loaded::default();
        let error = nowhere.check_default_folder(Path::new("/")).unwrap_err();
        assert!(
            error.message.contains("neither XDG_DATA_HOME nor HOME"),
            "{error}"
        );
        assert!(error.hint.unwrap().contains("--store file:PATH"));
    }

    /// Whoever started `mint serve` here before has numbers in `./mint-data`, and would get them again.
    #[test]
    fn a_store_at_the_former_default_is_never_passed_over() {
        let here = tempfile::tempdir().unwrap();
        let data = here.path().join("data");
        let environment = [("XDG_DATA_HOME", data.to_str().unwrap())];
        let refusal = |store| {
            loaded(&environment, store)
                .check_default_folder(here.path())
                .err()
        };
        assert_eq!(refusal(None), None, "there is none");

        make_store(&here.path().join("mint-data"));
        let error = refusal(None).unwrap();
        assert!(error.message.contains("./mint-data holds a store"), "{error}");
        assert!(error.hint.unwrap().contains("mv mint-data"));
        for named in ["file:./mint-data", "file:", "memory:"] {
            assert_eq!(refusal(Some(named)), None, "{named} was chosen");
        }

        make_store(&data.join("mint"));
        assert!(refusal(None).unwrap().hint.unwrap().contains("`--store file:`"));

        // A link to it is the same store.
        std::fs::remove_dir_all(data.join("mint")).unwrap();
        std::os::unix::fs::symlink(here.path().join("mint-data"), data.join("mint")).unwrap();
        assert_eq!(refusal(None), None);
    }
}
