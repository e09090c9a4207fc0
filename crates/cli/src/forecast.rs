//! When a sequence or pool ends, in words.

use serde_json::Value;

/// One line for each limit that is ahead or near, from the document that the server shows.
pub(crate) fn lines(document: &Value) -> Vec<String> {
    let forecast = &document["forecast"];
    let rate = forecast["per_second"].as_f64();
    let endings = forecast["ends"].as_array().into_iter().flatten();
    endings
        .map(|ending| {
            let limit = ending["limit"].as_str().unwrap_or("?");
            let near = if ending["near"] == true {
                "  WARNING: near"
            } else {
                ""
            };
            match ending["at"].as_str() {
                Some(at) => {
                    let years = ending["years"].as_f64().unwrap_or_default();
                    let pace = rate.map_or(String::new(), |rate| format!(", at {rate} a second"));
                    format!("{limit}: {at}, in {years} years{pace}{near}")
                }
                None => format!("{limit}: passed{near}"),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::lines;

    #[test]
    fn limits_are_told_with_their_dates() {
        let document = json!({"forecast": {"per_second": 12.5, "ends": [
            {"limit": "2^53", "at": "2030-01-01T00:00:00Z", "years": 3.1, "near": true},
            {"limit": "bound", "at": null, "years": 0.0, "near": true},
        ]}});
        assert_eq!(
            lines(&document),
            [
                "2^53: 2030-01-01T00:00:00Z, in 3.1 years, at 12.5 a second  WARNING: near",
                "bound: passed  WARNING: near",
            ]
        );
        assert_eq!(lines(&json!({})), Vec::<String>::new());
    }
}
