//! Catalogues that are not here: no row, with the columns asked for, so that clients go on.

use std::sync::atomic::{AtomicU64, Ordering};

use mintage_server::chassis::metrics::Exposition;
use mintage_server::chassis::thread::{ServingThread, Shared};

/// How often such a question was answered.
#[derive(Debug, Default)]
struct Unknown(AtomicU64);

pub(super) fn count(thread: &ServingThread) {
    let unknown = thread.shared().of_face::<Unknown>();
    unknown.0.fetch_add(1, Ordering::Relaxed);
}

/// Tells how often.
pub(crate) fn expose(shared: &Shared, out: &mut Exposition) {
    if shared
        .service
        .config()
        .faces
        .get::<crate::postgres::Settings>()
        .access
        .listen
        .is_off()
    {
        return;
    }
    let count = shared.of_face::<Unknown>().0.load(Ordering::Relaxed);
    out.metric(
        "mint_sql_unknown_catalogue_total",
        "counter",
        "Questions to catalogues of PostgreSQL that are not here, answered with no row.",
    );
    out.sample("mint_sql_unknown_catalogue_total", &[], count as f64);
}
