//! What to do about a refusal, where the server and the command without one say the same.

/// About a file system whose locks may not reach everybody, of which `why` says what is wrong.
///
/// ```
/// let hint = mintage_wire::allow_file_system("use a local disk", "nfs");
/// assert!(hint.starts_with("use a local disk; if nothing else ever reaches it, set store.allow_file_systems = [\"nfs\"]"));
/// ```
pub fn allow_file_system(why: &str, kind: &str) -> String {
    format!(
        "{why}; if nothing else ever reaches it, set store.allow_file_systems = [\"{kind}\"] (in the environment \
         MINT_STORE__ALLOW_FILE_SYSTEMS={kind})"
    )
}
