//! When a sequence or pool ends, in words.

use mintage_wire::Forecast;

/// One line for each limit that is ahead or near.
pub(crate) fn lines(forecast: &Forecast) -> Vec<String> {
    // What is past and meant to be, such as snowflakes beyond 2^53, is no news.
    let news = forecast
        .ends
        .iter()
        .filter(|ending| ending.near || ending.at.is_some());
    news.map(|ending| {
        let (limit, years) = (&ending.limit, ending.years);
        let near = if ending.near { "  WARNING: near" } else { "" };
        match &ending.at {
            Some(at) => {
                let rate = forecast.per_second;
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
    use super::*;

    #[test]
    fn limits_are_told_with_their_dates() {
        let forecast: Forecast = serde_json::from_value(serde_json::json!({"per_second": 12.5, "ends": [
            {"limit": "2^53", "at": "2030-01-01T00:00:00Z", "years": 3.1, "near": true},
            {"limit": "bound", "at": null, "years": 0.0, "near": true},
            {"limit": "2^63", "at": null, "years": 0.0, "near": false},
        ]}))
        .expect("the document of the wire");
        assert_eq!(
            lines(&forecast),
            [
                "2^53: 2030-01-01T00:00:00Z, in 3.1 years, at 12.5 a second  WARNING: near",
                "bound: passed  WARNING: near",
            ]
        );
        assert_eq!(lines(&Forecast::default()), Vec::<String>::new());
    }
}
