//! `/cache` and `/db`: what this server and the store hold. Looking takes nothing.

use std::fmt::Write;
use std::sync::Arc;

use mintage_ledger::{HeldBlock, Ledger, Name, SequenceInfo};

use mintage_server::chassis::config::Keys;
use mintage_server::chassis::error::Answer;
use mintage_server::chassis::service::{Service, from_ledger};
use mintage_server::chassis::web::foreign::Asked;
use mintage_server::chassis::web::html::escape;

const CACHE_HEAD: [&str; 10] = [
    "name", "init", "next", "pos", "value0", "max0", "step0", "value1", "max1", "step1",
];
const DB_HEAD: [&str; 4] = ["tag", "max", "step", "update"];

/// A row for every key of this server that is in use.
pub(super) async fn cache(asked: &Asked<'_>) -> Answer<String> {
    let (keys, rows_max) = settings(asked);
    let list = move |service: Arc<Service>| async move {
        let ledger = service.ledger();
        let stocks = ledger.stocks();
        let mut found: Vec<_> = stocks
            .iter()
            .filter_map(|stock| Some((key_of(&keys, &stock.name)?, &stock.name)))
            .collect();
        found.sort();
        let mut page = Page::new(&CACHE_HEAD, rows_max);
        for (key, name) in found {
            let Some(sequence) = ledger.sequence(name.as_str()) else {
                continue;
            };
            let blocks = sequence.held_blocks();
            if !page.row(&cache_row(&key, &blocks)) {
                break;
            }
        }
        Ok(page.end())
    };
    asked.thread.service().aside(list).await
}

fn cache_row(key: &str, blocks: &[HeldBlock]) -> Vec<String> {
    let next = (blocks.len() > 1).to_string();
    let mut cells = vec![key.to_string(), "true".into(), next, "0".into()];
    for at in 0..2 {
        let block = blocks.get(at);
        let value = block.map_or(0, |block| i128::from(block.left.first));
        let behind = |block: &HeldBlock| {
            let run = block.left;
            i128::from(run.first) + i128::from(run.step) * i128::from(run.count)
        };
        let max = block.map_or(0, behind);
        let step = block.map_or(0, |block| block.size);
        cells.extend([value.to_string(), max.to_string(), step.to_string()]);
    }
    cells
}

/// A row for every key that the store knows.
pub(super) async fn db(asked: &Asked<'_>) -> Answer<String> {
    let (keys, rows_max) = settings(asked);
    let list = move |service: Arc<Service>| async move {
        let mut page = Page::new(&DB_HEAD, rows_max);
        let (prefix, mut after) = (Name::from_bytes(keys.prefix.0.as_bytes()).ok(), None);
        // Keys with names of their own come first: these may lie anywhere.
        for (key, name) in &keys.names.0 {
            if let Some(info) = service.find(name).await?
                && !page.row(&db_row(key, &info, service.ledger()))
            {
                return Ok(page.end());
            }
        }
        loop {
            let ledger = service.ledger();
            let found = ledger.list_of(prefix.as_ref(), after.as_ref(), PAGE_NAMES).await;
            let found = found.map_err(from_ledger)?;
            for info in &found {
                let key = info.name.as_str().strip_prefix(&keys.prefix.0);
                let is_named = keys.names.0.values().any(|name| *name == info.name);
                let Some(key) = key.filter(|_| !is_named) else {
                    continue;
                };
                if !page.row(&db_row(key, info, ledger)) {
                    return Ok(page.end());
                }
            }
            after = match found.last() {
                Some(last) if found.len() == usize::from(PAGE_NAMES) => Some(last.name.clone()),
                _ => return Ok(page.end()),
            };
        }
    };
    asked.thread.service().aside(list).await
}

/// The store keeps neither the size of the last block nor when it was reserved: the size is that of this server's last
/// block, else the largest that may be lost at once, and the time stays empty rather than being made up.
fn db_row(key: &str, info: &SequenceInfo, ledger: &Ledger) -> Vec<String> {
    let blocks = ledger
        .sequence(info.name.as_str())
        .map(|sequence| sequence.held_blocks());
    let last = blocks.and_then(|blocks| blocks.last().map(|block| block.size));
    let max = info.unreserved.map_or(String::new(), |max| max.to_string());
    vec![
        key.to_string(),
        max,
        last.unwrap_or(info.max_gap).to_string(),
        String::new(),
    ]
}

fn settings(asked: &Asked<'_>) -> (Keys, u64) {
    let config = asked.thread.config();
    let leaf = &config.faces.get::<crate::leaf::Settings>();
    (leaf.keys.clone(), leaf.max_rows)
}

/// The key that a name belongs to, if it is one of this face's.
fn key_of(keys: &Keys, name: &Name) -> Option<String> {
    let listed = keys.names.0.iter().find(|(_, listed)| *listed == name);
    let prefixed = || name.as_str().strip_prefix(&keys.prefix.0).map(str::to_string);
    listed.map(|(key, _)| key.clone()).or_else(prefixed)
}

/// A page with one table.
struct Page {
    text: String,
    rows_left: u64,
}

impl Page {
    fn new(head: &[&str], rows_max: u64) -> Page {
        let mut text = String::from(
            "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"UTF-8\">\n<title>Leaf</title>\n\
             <link rel=\"stylesheet\" href=\"/css/bootstrap.min.css\">\n</head>\n<body>\n\
             <table class=\"table table-hover\">\n<thead>\n<tr>",
        );
        for cell in head {
            // Into a text: never fails.
            let _ = write!(text, "<th>{cell}</th>");
        }
        text.push_str("</tr>\n</thead>\n<tbody>\n");
        Page {
            text,
            rows_left: rows_max,
        }
    }

    /// Adds a row; `false`: there is no room for it, which the page says.
    fn row(&mut self, cells: &[String]) -> bool {
        if self.rows_left == 0 {
            self.text
                .push_str("<tr><td>and more: see faces.leaf.max_rows</td></tr>\n");
            return false;
        }
        self.rows_left -= 1;
        self.text.push_str("<tr>");
        for cell in cells {
            let _ = write!(self.text, "<td>{}</td>", escape(cell));
        }
        self.text.push_str("</tr>\n");
        true
    }

    fn end(mut self) -> String {
        self.text.push_str("</tbody>\n</table>\n</body>\n</html>\n");
        self.text
    }
}

/// How many names are read from the store at a time.
const PAGE_NAMES: u16 = 1000;
