//! How clients of every face take numbers of one sequence and change it, and which numbers they were told.

/// A name that every face can say: CosId's have a namespace.
pub const NAME: &str = "shop.orders";

/// How a client takes numbers of it: the face, the request, how many, and the answer, where {F} is the first of them,
/// {L} the last, {P} the one before, {S} the step between them, and … anything.
pub type Way = (&'static str, &'static str, i64, &'static str);

/// Every face whose ids are numbers of a sequence, by each of its ways.
pub const WAYS: &[Way] = &[
    (
        "http",
        "POST /v1/sequences/shop.orders/next",
        1,
        r#"{"ids":["{L}"]}"#,
    ),
    (
        "http",
        "POST /v1/sequences/shop.orders/next?count=7",
        7,
        r#"{"ids":["{F}",…,"{L}"]}"#,
    ),
    (
        "http",
        "POST /v1/sequences/shop.orders/next?count=40&as=range",
        40,
        r#"{"first":"{F}","last":"{L}","increment":"{S}"}"#,
    ),
    ("grpc", "Next shop.orders", 1, "{L}"),
    ("grpc", "Next shop.orders count=6", 6, "{F},…,{L}"),
    (
        "grpc",
        "Next shop.orders count=30 contiguous=1",
        30,
        "{F} to {L} by {S}",
    ),
    ("resp", "INCR shop.orders", 1, ":{L}"),
    ("resp", "INCRBY shop.orders 9", 9, ":{L}"),
    ("resp", "MINT.NEXT shop.orders", 1, ":{L}"),
    (
        "resp",
        "EVAL \"return redis.call('incr', KEYS[1])\" 1 shop.orders",
        1,
        ":{L}",
    ),
    ("postgres", "SELECT nextval('shop.orders')", 1, "D {L}"),
    (
        "postgres",
        "SELECT first, last, increment FROM mint_run('shop.orders', 5)",
        5,
        "D {F}|{L}|{S}",
    ),
    ("mysql", "SELECT NEXTVAL(shop.orders) AS n", 1, "[n i] {L}"),
    (
        "mysql",
        "REPLACE INTO shop.orders (stub) VALUES ('a')",
        1,
        "OK 2 {L} 2",
    ),
    (
        "mysql",
        "INSERT INTO shop.orders (stub) VALUES ('a'), ('b'), ('c')",
        3,
        "OK 3 {F} 2",
    ),
    (
        "mysql",
        "UPDATE shop.orders SET id = LAST_INSERT_ID(id + 6)",
        6,
        "OK 1 {L} 2",
    ),
    ("leaf", "GET /api/segment/get/shop.orders", 1, "{L}"),
    (
        "tinyid",
        "GET /tinyid/id/nextIdSimple?bizType=shop.orders&token=t&batchSize=3",
        3,
        "{F},…,{L}",
    ),
    (
        "tinyid",
        "GET /tinyid/id/nextSegmentId?bizType=shop.orders&token=t",
        50,
        r#"…"maxId":{L},…"currentId":{P},"delta":{S},…"#,
    ),
    ("cosid", "PATCH /segments/shop/orders?step=20", 20, "{L}"),
    ("idgo", "GET shop.orders", 1, "{L}"),
    ("postgrest", "POST /rpc/nextval seq=shop.orders", 1, "{L}"),
    ("prest", "GET /_QUERIES/ids/next", 1, r#"[{"nextval": {L}}]"#),
];

/// Settings of a server that serves all of them, behind those of its own.
pub const SETTINGS: &str = r#"
[faces.leaf]
prefix = ""
[faces.tinyid]
prefix = ""
steps = { "shop.orders" = 50 }
[faces.cosid]
prefix = ""
[faces.idgo]
prefix = ""
[faces.prest]
queries = { "ids/next" = { sequence = "shop.orders" } }
"#;

/// What turns their faces on, at free ports of this machine; our own are on.
pub fn flags() -> impl Iterator<Item = String> {
    let mut faces: Vec<&str> = WAYS.iter().map(|way| way.0).collect();
    faces.dedup();
    let foreign = faces
        .into_iter()
        .filter(|face| !["http", "resp", "grpc"].contains(face));
    foreign.map(|face| format!("--face={face}=127.0.0.1:0"))
}

/// What a client of this way issues after this answer; `None`: it is no answer of this form.
///
/// ```
/// use mintage_testing::ways::{WAYS, numbers};
/// let of = |request: &str| WAYS.iter().find(|way| way.1.contains(request)).unwrap();
/// assert_eq!(numbers(of("INCRBY"), ":20"), Some((12..=20).collect()));
/// assert_eq!(numbers(of("mint_run"), "D 3|11|2"), Some(vec![3, 5, 7, 9, 11]));
/// assert_eq!(numbers(of("count=7"), r#"{"ids":["4","6"]}"#), Some(vec![4, 6]));
/// assert_eq!(numbers(of("INCR shop"), "-ERR no"), None);
/// ```
pub fn numbers(way: &Way, answer: &str) -> Option<Vec<i64>> {
    let &(face, _, count, template) = way;
    if let Some(listed) = listed(template, answer) {
        return listed;
    }
    let told = Told::of(template, answer)?;
    let step = told.step.unwrap_or(1);
    let run = match (told.first, told.before, told.last) {
        (Some(first), _, Some(last)) => (first, last),
        (_, Some(before), Some(last)) => (before.checked_add(step)?, last),
        (Some(first), _, None) => (first, first.checked_add(count - 1)?),
        // Leaf says what went wrong by a number below zero.
        (_, _, Some(last)) if face != "leaf" || last >= 0 => (last.checked_sub(count - 1)?, last),
        _ => return None,
    };
    Some(steps(run, step))
}

/// From the first to the last, both of them.
fn steps((first, last): (i64, i64), step: i64) -> Vec<i64> {
    let next = |number: &i64| number.checked_add(step);
    let is_within = |number: &i64| {
        if step > 0 {
            *number <= last
        } else {
            *number >= last
        }
    };
    std::iter::successors(Some(first), next)
        .take_while(is_within)
        .collect()
}

/// All numbers of an answer that lists each of them, with commas; `None`: this form does not.
fn listed(template: &str, answer: &str) -> Option<Option<Vec<i64>>> {
    let (before, rest) = template.split_once("{F}")?;
    let (between, after) = rest.split_once("{L}")?;
    if !between.contains(",…,") {
        return None;
    }
    let whole = answer
        .strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after));
    let number = |word: &str| word.trim_matches('"').parse().ok();
    Some(whole.and_then(|whole| whole.split(',').map(number).collect()))
}

/// What an answer says of its numbers.
#[derive(Default)]
struct Told {
    first: Option<i64>,
    last: Option<i64>,
    before: Option<i64>,
    step: Option<i64>,
}

impl Told {
    /// Reads an answer of this form.
    fn of(template: &str, answer: &str) -> Option<Told> {
        let (mut told, mut rest) = (Told::default(), answer);
        let (start, others) = template.split_once('…').unwrap_or((template, ""));
        rest = told.part(start, rest)?;
        for part in others.split('…').filter(|part| !part.is_empty()) {
            let literal = part.split('{').next().unwrap_or_default();
            rest = told.part(part, &rest[rest.find(literal)?..])?;
        }
        (rest.is_empty() || template.ends_with('…')).then_some(told)
    }

    /// Reads what the answer begins with.
    fn part<'a>(&mut self, part: &str, answer: &'a str) -> Option<&'a str> {
        let mut pieces = part.split('{');
        let mut rest = answer.strip_prefix(pieces.next().unwrap_or_default())?;
        for piece in pieces {
            let Some((mark, literal)) = piece.split_once('}').filter(|(mark, _)| mark.len() == 1) else {
                // A brace of the answer's own, as of JSON.
                rest = rest.strip_prefix('{')?.strip_prefix(piece)?;
                continue;
            };
            let is_part = |c: char| c.is_ascii_digit() || c == '-';
            let (number, after) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
            *match mark {
                "F" => &mut self.first,
                "L" => &mut self.last,
                "P" => &mut self.before,
                _ => &mut self.step,
            } = Some(number.parse().ok()?);
            rest = after.strip_prefix(literal)?;
        }
        Some(rest)
    }
}

/// Draws the same for the same seed.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below this one.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low) as u64) as i64
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }

    fn increment(&mut self) -> i64 {
        *self.pick(&[1, 1, 1, 2, 7, -1, -1, -3])
    }
}

/// A change as some client would ask for it: the face, and the request.
pub fn change(dice: &mut Dice) -> (&'static str, String) {
    let (value, increment) = (dice.between(-60, 400), dice.increment());
    let (low, high) = (dice.between(-200, 20), dice.between(100, 2_000));
    let called = *dice.pick(&["true", "false"]);
    let path = format!("/v1/sequences/{NAME}");
    match dice.below(10) {
        0 => {
            let definitions = [
                format!(r#"{{"start":"{value}"}}"#),
                format!(r#"{{"increment":"{increment}"}}"#),
                format!(r#"{{"min":"{low}","max":"{high}"}}"#),
                format!(r#"{{"start":"{value}","increment":"{increment}","min":"{low}"}}"#),
                format!(r#"{{"restart":"{value}"}}"#),
                r#"{"restart":true}"#.to_string(),
            ];
            ("http", format!("PATCH {path} {}", dice.pick(&definitions)))
        }
        1 => (
            "http",
            format!(r#"POST {path}/restart {{"value":"{value}","is_called":{called}}}"#),
        ),
        2 => ("http", format!("DELETE {path}")),
        3 => ("resp", format!("SET {NAME} {value}")),
        4 => ("resp", format!("{} {NAME}", dice.pick(&["DEL", "UNLINK"]))),
        5 | 6 => {
            let (face, by, with) = *dice.pick(&[
                ("postgres", "INCREMENT BY", "RESTART WITH"),
                ("mysql", "INCREMENT", "RESTART"),
            ]);
            let words = [
                format!("ALTER SEQUENCE {NAME} START {value}"),
                format!("ALTER SEQUENCE {NAME} {by} {increment}"),
                format!("ALTER SEQUENCE {NAME} MINVALUE {low} MAXVALUE {high}"),
                format!("ALTER SEQUENCE {NAME} {with} {value}"),
                format!("ALTER SEQUENCE {NAME} RESTART"),
                format!("ALTER SEQUENCE {NAME} {by} {increment} {with} {value}"),
                format!("DROP SEQUENCE {NAME}"),
                format!(
                    "CREATE SEQUENCE {NAME} {by} {increment} MINVALUE {low} MAXVALUE {high} START {value}"
                ),
                format!("CREATE SEQUENCE {NAME} START {value}"),
            ];
            (face, dice.pick(&words).clone())
        }
        7 => {
            let calls = [
                format!("AlterSequence {NAME} increment={increment}"),
                format!("AlterSequence {NAME} start={value} min={low} max={high}"),
                format!("AlterSequence {NAME} restart={value}"),
                format!("RestartSequence {NAME} value={value} is_called={called}"),
                format!("RestartSequence {NAME}"),
                format!("DropSequence {NAME}"),
                format!("CreateSequence {NAME} start={value} increment={increment}"),
            ];
            ("grpc", dice.pick(&calls).clone())
        }
        8 => {
            let calls = [
                format!(
                    "POST /segments/distributor/shop/orders?offset={}&step=1",
                    value.max(0)
                ),
                format!("POST /rpc/setval seq={NAME}&value={value}&is_called={called}"),
            ];
            let at = dice.below(2) as usize;
            (["cosid", "postgrest"][at], calls[at].clone())
        }
        _ => match called {
            "true" => ("postgres", format!("SELECT setval('{NAME}', {value}, true)")),
            _ => ("mysql", format!("SELECT SETVAL({NAME}, {value}, 0)")),
        },
    }
}
