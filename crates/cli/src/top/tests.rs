//! The screen in every size and state, and what keys and events make of it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use mintage_wire::{Frame, History, MapWindow, Top};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::draw::draw;
use super::event::{Event, Page, PoolNow, Trouble};
use super::once::rows;
use super::state::{Pane, SILENT_MS, Sort, State};

/// 80 columns as everywhere, a phone's, and a wall's.
const SIZES: [(u16, u16); 3] = [(80, 24), (40, 20), (200, 50)];
const NOW_MS: i64 = 1_800_000_000_000;
const EVIL: &str = "evil\x1b[2J\x1b]0;title\x07\u{9b}31m\u{202e}name";

fn screen(state: &State, (columns, lines): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    let drawn = terminal.backend().buffer();
    for cell in &drawn.content {
        assert!(!cell.symbol().chars().any(char::is_control), "{cell:?}");
    }
    rows(drawn).join("\n")
}

/// A server that nobody has heard of yet.
fn nothing() -> State {
    let mut state = State::new(["http://127.0.0.1:7600".to_string()], true);
    state.now_ms = NOW_MS;
    state
}

fn frame(name: &str) -> Frame {
    serde_json::from_value(json!({
        "at_ms": NOW_MS, "span_s": 1.0, "server": name, "version": "0.1.0",
        "started_ms": NOW_MS - 90_000_000,
        "series": {
            "ids/sequence": 12_000.0, "ids/uuid7": 345.0, "requests/http": 1_200.0, "requests/resp": 9_000.0,
            "p50_us/http": 120.0, "p99_us/http": 2_300.0, "p50_us/resp": 20.0, "p99_us/resp": 150.0,
            "clock_offset_s": -0.0004, "lost": 77.0,
        },
        "store": {
            "up": true, "down_s": null, "budget_left_s": 7_200,
            "first_to_end": {"kind": "sequence", "name": "shop"},
            "scheme": "postgres", "class": "S", "why": "a quorum",
        },
        "says": {"well": "All goes well.", "ends": "Nothing ends within five years.", "wrong": "Nothing is wrong."},
        "busiest": [{"name": "busy", "per_second": 5.0, "left_s": null}],
    }))
    .unwrap()
}

fn top(names: impl IntoIterator<Item = String>) -> Top {
    let sequence = |(at, name): (usize, String)| {
        json!({
            "name": name, "start": "1", "increment": "1", "min": "1", "max": "9223372036854775807", "cycle": false,
            "gap": "bounded", "max_gap": 1000, "order": "node", "last": (at * 1000).to_string(), "pending": [],
            "per_second": 12_000.0 / (at + 1) as f64, "recent": [1.0, 2.0, 4.0], "stock": 5_000, "stock_s": 60.0,
            "lost": at,
            "forecast": {"per_second": 1.0, "ends": [
                {"limit": "2^53", "at": "2030-01-01T00:00:00Z", "years": 3.1, "near": true},
            ]},
        })
    };
    let sequences: Vec<_> = names.into_iter().enumerate().map(sequence).collect();
    serde_json::from_value(json!({"total": sequences.len(), "at_ms": NOW_MS, "sequences": sequences}))
        .unwrap()
}

fn window(worker: u64, name: &str, left_ms: i64) -> MapWindow {
    serde_json::from_value(json!({
        "worker": worker, "owner": "ab", "name": name, "from_ms": NOW_MS, "until_ms": NOW_MS + left_ms,
        "written_ms": NOW_MS, "is": "held", "ours": worker == 3,
    }))
    .unwrap()
}

/// A server that tells everything.
fn full(names: impl IntoIterator<Item = String>) -> State {
    let mut state = nothing();
    let (offset, top) = (0, top(names));
    state.happened(Event::Frame(0, Box::new(frame("alpha"))));
    state.happened(Event::Sequences(0, Page { offset, top }));
    let windows = vec![window(3, "node-a", 30_000), window(4, "node-b", 3_000)];
    let pool = PoolNow {
        name: "default".into(),
        now_ms: NOW_MS,
        window_ms: 60_000,
        windows,
    };
    state.happened(Event::Pools(0, vec![pool]));
    state
}

fn names(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|at| format!("shop/{at:04}"))
}

fn press(state: &mut State, keys: &str) {
    for key in keys.chars() {
        let code = match key {
            '\t' => KeyCode::Tab,
            '\n' => KeyCode::Enter,
            '↓' => KeyCode::Down,
            '↧' => KeyCode::End,
            '⎋' => KeyCode::Esc,
            key => KeyCode::Char(key),
        };
        state.happened(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
}

#[track_caller]
fn check(state: &State, size: (u16, u16), parts: &[&str]) {
    let shown = screen(state, size);
    for part in parts {
        assert!(shown.contains(part), "{size:?} lacks {part:?}:\n{shown}");
    }
}

#[test]
fn a_server_that_tells_everything_is_shown_in_every_size() {
    let state = full(names(3));
    for size in SIZES {
        check(
            &state,
            size,
            &[
                "alpha",
                "12.3k ids/s",
                "store postgres (S) up",
                "All goes well.",
                "uuid7",
            ],
        );
        check(
            &state,
            size,
            &["shop/0000", "12.0k", "shop/0002", "2000", "q quit"],
        );
    }
    check(
        &state,
        SIZES[0],
        &[
            "120 µs",
            "2.30 ms",
            "budget 2 h 0 min (first shop)",
            "clock −400 µs",
            "3.1 years",
        ],
    );
    check(
        &state,
        SIZES[0],
        &[
            "default",
            "████████░░░░░░░░",
            "30 s node-a, this server",
            "per s▾",
        ],
    );
    check(
        &state,
        SIZES[2],
        &["lost 77", "up 1 d 1 h", "stock lasts", "1 min 0 s", "node-b"],
    );
}

#[test]
fn sentences_that_are_no_news_share_a_line() {
    let mut state = full(names(3));
    check(
        &state,
        SIZES[0],
        &["All goes well. Nothing is wrong. Nothing ends within five years."],
    );
    let mut full = frame("alpha");
    full.says.wrong = "Nothing can be reserved for 3 s: disk full.".into();
    state.happened(Event::Frame(0, Box::new(full)));
    check(
        &state,
        SIZES[0],
        &["All goes well. Nothing ends within five years.\nNothing can be reserved"],
    );
}

#[test]
fn before_the_first_second_it_says_that_it_waits() {
    for size in SIZES {
        check(
            &nothing(),
            size,
            &["http://127.0.0.1:7600", "waiting for the first second"],
        );
    }
}

#[test]
fn without_sequences_it_says_how_to_make_one() {
    check(
        &full([]),
        SIZES[0],
        &["0 sequences", "no sequence yet: mint seq next orders makes one"],
    );
}

#[test]
fn a_server_without_a_table_of_sequences_shows_its_busiest() {
    let mut state = nothing();
    state.happened(Event::Frame(0, Box::new(frame("alpha"))));
    check(&state, SIZES[0], &["1 sequence", "busy"]);
}

#[test]
fn a_long_outage_is_told_with_its_length_and_its_budget() {
    let mut out = frame("alpha");
    out.store.status.up = false;
    out.store.status.down_s = Some(100_000);
    out.store.status.budget_left_s = Some(59);
    out.says.wrong = "The store has not answered for 27 hours.".into();
    out.rehearsal_left_s = Some(5);
    let mut state = full(names(3));
    state.happened(Event::Frame(0, Box::new(out)));
    for size in SIZES {
        check(
            &state,
            size,
            &[
                "down for 1 d 3 h",
                "budget 59 s",
                "has not answered for 27",
                "rehearsal: ",
            ],
        );
    }
}

#[test]
fn a_server_that_does_not_answer_is_told_with_the_reason_and_since_when() {
    let mut state = full(names(3));
    let trouble = |message: &str| Trouble {
        message: message.into(),
        hint: None,
        is_refusal: false,
    };
    state.happened(Event::Trouble(0, trouble("cannot reach it: broken")));
    state.now_ms += 100_000;
    // Another attempt fails: the outage is as old as before.
    state.happened(Event::Trouble(0, trouble("cannot reach it: refused")));
    for size in SIZES {
        check(&state, size, &["no answer for 1 min 40 s", "refused"]);
    }
    state.happened(Event::Frame(0, Box::new(frame("alpha"))));
    assert!(!screen(&state, SIZES[0]).contains("no answer"));
    check(&state, SIZES[0], &["(S) up"]);
    state.now_ms += SILENT_MS;
    check(&state, SIZES[0], &["no answer for 4 s: it sends nothing"]);
    // What was last heard of its store is not shown as if it were now.
    assert!(!screen(&state, SIZES[0]).contains("(S) up"));
}

#[test]
fn the_marked_one_of_a_thousand_sequences_is_in_sight() {
    let mut state = full(names(1000));
    for size in SIZES {
        check(&state, size, &["1000 sequences", "shop/0000"]);
    }
    press(&mut state, "↧");
    for size in SIZES {
        check(&state, size, &["shop/0999"]);
    }
    press(&mut state, "↓");
    assert_eq!(state.row, 999);
    // Fewer are left.
    state.happened(Event::Sequences(
        0,
        Page {
            offset: 0,
            top: top(names(10)),
        },
    ));
    assert_eq!(state.row, 9);
    check(&state, SIZES[0], &["shop/0009"]);
}

#[test]
fn names_that_would_drive_the_terminal_are_written_out() {
    let mut state = full([EVIL.to_string()]);
    let mut evil = frame(EVIL);
    evil.says.well = EVIL.into();
    evil.store.stopped = Some(EVIL.into());
    evil.series.insert(format!("ids/{EVIL}"), 5.0);
    state.happened(Event::Frame(
        0,
        Box::new(Frame {
            at_ms: NOW_MS + 1000,
            ..evil
        }),
    ));
    let windows = vec![window(3, EVIL, 30_000)];
    state.happened(Event::Pools(
        0,
        vec![PoolNow {
            name: EVIL.into(),
            now_ms: NOW_MS,
            window_ms: 1,
            windows,
        }],
    ));
    press(&mut state, "/");
    state.filter = EVIL.into();
    for size in SIZES {
        // That no cell holds a control character is checked with every screen.
        check(&state, size, &["evil\\u{1b}[2J"]);
    }
    check(
        &state,
        SIZES[2],
        &["evil\\u{1b}[2J\\u{1b}]0;title\\u{7}\\u{9b}31m\\u{202e}name"],
    );
    let trouble = Trouble {
        message: EVIL.into(),
        hint: Some(EVIL.into()),
        is_refusal: true,
    };
    state.happened(Event::Trouble(0, trouble));
    check(&state, SIZES[0], &["evil\\u{1b}[2J"]);
}

#[test]
fn no_size_is_too_small_to_draw() {
    let mut many = State::new((0..9).map(|at| format!("http://10.0.0.{at}:7600")), false);
    many.happened(Event::Frame(3, Box::new(frame("one"))));
    for state in [nothing(), full(names(1000)), many] {
        for size in [(1, 1), (2, 9), (9, 2), (20, 5), (400, 3), (3, 100)] {
            screen(&state, size);
        }
    }
}

#[test]
fn several_servers_have_a_row_each_and_a_sum() {
    let urls = ["a", "b", "c"].map(|host| format!("http://{host}:7600"));
    let mut state = State::new(urls, true);
    state.now_ms = NOW_MS;
    for (at, name) in ["alpha", "beta"].iter().enumerate() {
        state.happened(Event::Frame(at, Box::new(frame(name))));
    }
    let message = "cannot reach the server at http://c:7600: Connection refused".into();
    state.happened(Event::Trouble(
        2,
        Trouble {
            message,
            hint: None,
            is_refusal: false,
        },
    ));
    state.now_ms += 2_000;
    for size in SIZES {
        check(&state, size, &["▸ alpha", "  beta", "  c:7600", "24.7k"]);
    }
    check(&state, SIZES[0], &["no answer for 2 s", "2 of 3 answer"]);
    check(&state, SIZES[2], &["no answer for 2 s: Connection refused"]);
    // Tab goes to the servers after sequences and pools.
    press(&mut state, "\t\t↓");
    assert_eq!((state.pane, state.selected), (Pane::Servers, 1));
    check(&state, SIZES[0], &["▸ beta"]);
}

#[test]
fn keys_do_what_the_help_says() {
    let mut state = full(names(3));
    for (keys, sort) in [
        ("e", Sort::Ends),
        ("l", Sort::Lost),
        ("t", Sort::Last),
        ("n", Sort::Name),
        ("r", Sort::Rate),
    ] {
        press(&mut state, keys);
        assert_eq!(state.sort, sort);
    }
    press(&mut state, "s");
    assert_eq!(state.sort, Sort::Ends);
    press(&mut state, "/qs\n");
    assert_eq!((state.filter.as_str(), state.over), ("qs", false));
    press(&mut state, "⎋");
    assert_eq!(state.filter, "");
    press(&mut state, "?");
    check(&state, SIZES[0], &["pause, and go on", "any key goes back"]);
    press(&mut state, "x");
    assert!(!state.help);
    press(&mut state, "q");
    assert!(state.over);
    let mut state = nothing();
    state.happened(Event::Key(KeyEvent::new(
        KeyCode::Char('c'),
        KeyModifiers::CONTROL,
    )));
    assert!(state.over);
}

#[test]
fn what_is_paused_stands_still_and_goes_on_with_what_came_meanwhile() {
    let mut state = full(names(3));
    press(&mut state, "p");
    state.happened(Event::Frame(0, Box::new(frame("renamed"))));
    state.now_ms += 60_000;
    check(&state, SIZES[0], &["paused at 08:00:00 UTC", "alpha"]);
    press(&mut state, "p");
    check(&state, SIZES[0], &["renamed"]);
}

#[test]
fn history_comes_before_the_seconds_that_were_heard() {
    let mut state = nothing();
    let second = |at: i64| {
        let mut frame = frame("alpha");
        frame.at_ms = NOW_MS + at * 1000;
        frame.series.insert("ids/uuid7".into(), 100.0 + at as f64);
        Event::Frame(0, Box::new(frame))
    };
    state.happened(second(0));
    let history: History = serde_json::from_value(json!({
        "server": "alpha", "started_ms": 0, "step_s": 1, "until_ms": NOW_MS + 10,
        "series": {"ids/uuid7": [97.0, null, 99.0, 100.0]},
    }))
    .unwrap();
    state.happened(Event::History(0, history));
    state.happened(second(1));
    // The same again, after a new connection.
    state.happened(second(1));
    let values: Vec<f64> = state.servers[0].series("ids/uuid7").collect();
    assert_eq!(values, [97.0, 0.0, 99.0, 100.0, 101.0]);
}

#[test]
fn it_ends_where_every_server_refuses_and_not_where_one_may_come_yet() {
    let mut state = State::new(["http://a:1".to_string(), "http://b:1".to_string()], false);
    let trouble = |is_refusal| Trouble {
        message: "no".into(),
        hint: None,
        is_refusal,
    };
    state.happened(Event::Trouble(0, trouble(true)));
    assert_eq!(state.refused(), None);
    state.happened(Event::Trouble(1, trouble(false)));
    assert_eq!(state.refused(), None);
    state.happened(Event::Trouble(1, trouble(true)));
    assert!(state.refused().is_some());
    state.happened(Event::Frame(1, Box::new(frame("beta"))));
    assert_eq!(state.refused(), None);
}
