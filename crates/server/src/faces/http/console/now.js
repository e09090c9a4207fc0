// How the server is now: three sentences, then the plots they rest on.

const RANGES = { "10m": ["10 minutes", 1, 600], "2h": ["2 hours", 10, 720], "24h": ["24 hours", 60, 1440] };

/** Colours of what is seen most; the rest take those that are free. */
const SERIES_COLORS = { sequence: "c0", snowflake: "c1", uuid7: "c2", uuid4: "c3", http: "c0", resp: "c1", grpc: "c2" };

/** The points of one range: what the server kept, and what the stream adds behind it. */
const makeHistory = (range) => {
	const [, step, most] = RANGES[range];
	const points = { times: [], series: new Map(), marks: [], started: null };
	const column = (key) => {
		if (!points.series.has(key)) points.series.set(key, points.times.map(() => absent(key)));
		return points.series.get(key);
	};
	// Of a rate, what is absent was nothing; of anything else it is not known.
	const absent = (key) => (/^(ids|requests|refused|connections)\//.test(key) ? 0 : null);
	points.load = (history) => {
		const count = max(0, ...Object.values(history.series).map((values) => values.length));
		points.times = Array.from({ length: count }, (_, i) => history.until_ms - (count - 1 - i) * history.step_s * 1000);
		points.series = new Map(Object.entries(history.series));
		points.marks = history.started_ms > points.times[0] ? [{ at: history.started_ms, text: "server started" }] : [];
		points.started = history.started_ms;
	};
	/** Whether the frame is a point of its own; those of coarser ranges the server makes. */
	points.add = (frame) => {
		const last = points.times.at(-1);
		if (last != null && frame.at_ms <= last) return false;
		if (points.started != null && frame.started_ms !== points.started) {
			points.marks = [...points.marks, { at: frame.started_ms, text: "server started" }];
		}
		points.started = frame.started_ms;
		if (step > 1) return false;
		// Time that nobody told of is a hole and not a straight line.
		if (last != null && frame.at_ms - last > 3000) push(last + 1000, () => null);
		push(frame.at_ms, absent);
		for (const [key, value] of Object.entries(frame.series)) {
			const values = column(key);
			values[values.length - 1] = value;
		}
		return true;
	};
	/** Whether the server knows more: a coarse point is full, or its clock went back. */
	points.due = (ms) => {
		const since = ms - (points.times.at(-1) ?? 0);
		return since < -5000 || (step > 1 && since >= step * 1000);
	};
	const push = (ms, value) => {
		points.times.push(ms);
		for (const [key, values] of points.series) values.push(value(key));
		while (points.times.length > most) {
			points.times.shift();
			for (const values of points.series.values()) values.shift();
		}
	};
	/** The series of a prefix, those with something in them. */
	points.of = (prefix) => [...points.series].filter(([key, values]) => key.startsWith(prefix) && values.some((value) => value))
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.map(([key, values]) => ({ key, label: key.slice(prefix.length), values, color: SERIES_COLORS[key.slice(prefix.length)] }));
	points.one = (key, label, color) => (points.series.has(key) ? [{ key, label, values: points.series.get(key), color }] : []);
	return points;
};

const CLASSES = { S: "keeps everything, in a failover too", D: "keeps everything in a crash; a failover may forget", L: "may forget what it acknowledged" };

const showNow = async (root, args, query, life) => {
	let range = RANGES[query.range] ? query.range : "10m";
	let points = makeHistory(range);
	let paused = false;
	let told = null; // the frame that is shown

	const sentence = (name, kind) => {
		const text = h("p", "…");
		return { text, box: h("li", { class: "says " + kind }, h("span.what", name), text) };
	};
	const well = sentence("Goes well", "well");
	const ends = sentence("Ends next", "ends");
	const wrong = sentence("Is wrong", "wrong");
	const gauge = (label) => {
		const value = h("dd", "–");
		const under = h("dd.hint");
		return { value, under, box: div("card gauge", h("dt", label), value, under) };
	};
	const rate = gauge("Ids a second");
	const budget = gauge("Without its store");
	const store = gauge("Store");
	const clock = gauge("Clock");

	const hold = (yes) => {
		paused = yes;
		pause.setAttribute("aria-pressed", paused);
		pause.textContent = paused ? "Go on" : "Pause";
		if (!paused) load().catch(() => {}); // what came meanwhile too
	};
	const pause = buttonTo(() => hold(!paused), "Pause", { "aria-pressed": false });
	/** In its place: the focus and what is seen of the page stay. */
	const choose = (key) => {
		range = key;
		points = makeHistory(range);
		setQuery({ range: key === "10m" ? null : key });
		for (const one of ranges) one.setAttribute("aria-pressed", one.dataset.range === key);
		hold(false);
	};
	const ranges = Object.entries(RANGES).map(([key, [label]]) => buttonTo(() => choose(key), label, { "aria-pressed": key === range, dataset: { range: key } }));
	const controls = div("bar", h("h2.flush", "Over time"),
		h("div.bar.rest", { role: "group", label: "How far back" }, ranges, pause));

	const plots = {
		ids: plot({ title: "Ids a second", unit: "by kind", stacked: true, height: 240 }),
		p50: plot({ title: "Half of the requests within", unit: "p50", format: fmt.us }),
		p99: plot({ title: "99 of 100 requests within", unit: "p99", format: fmt.us }),
		refused: plot({ title: "Refusals a second", unit: "by code", stacked: true, none: "nothing was refused" }),
		budget: plot({ title: "Goes on without its store", unit: "for this long", format: fmt.span }),
		reserve: plot({ title: "Reserving in the store", unit: "takes", format: fmt.us, none: "nothing was reserved" }),
		offset: plot({ title: "Clock offset", unit: "of the wall clock", format: fmt.signed, none: "not known" }),
	};
	const busiest = div("scroll");
	root.append(
		h("ul.three.card", wrong.box, ends.box, well.box),
		h("dl.gauges", rate.box, budget.box, store.box, clock.box),
		controls,
		div("card", plots.ids),
		div("cards", [plots.p50, plots.p99, plots.refused, plots.budget, plots.reserve, plots.offset].map((one) => div("card", one))),
		cardOf("Busiest sequences", busiest));

	const draw = () => {
		if (paused) return;
		const { times, marks } = points;
		const set = (one, series) => one.set({ times, marks, series, none: one === plots.budget ? unreckoned() : undefined });
		set(plots.ids, points.of("ids/"));
		set(plots.p50, points.of("p50_us/"));
		set(plots.p99, points.of("p99_us/"));
		set(plots.refused, points.of("refused/"));
		set(plots.budget, points.one("budget_left_s", "everything in use", "c2"));
		set(plots.reserve, [...points.one("reserve_p50_us", "p50", "c0"), ...points.one("reserve_p99_us", "p99", "c1")]);
		set(plots.offset, points.one("clock_offset_s", "offset", "c6"));
	};
	const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };

	/** Why it is not known for how long all goes on without the store. */
	const unreckoned = () => (live.frame?.store.scheme === "file" ? "not reckoned for a store in this process" : "nothing in use needs it");

	const tell = (frame) => {
		told = frame;
		put(well.text, frame.says.well);
		put(ends.text, frame.says.ends);
		put(wrong.text, live.stale ? `Not known: no answer since ${fmt.clock(live.stale)}.` : frame.says.wrong);
		const bad = !frame.store.up || frame.store.stopped != null || !/^nothing\b/i.test(frame.says.wrong);
		wrong.box.className = "says " + (bad && !live.stale ? "bad" : "calm");
		const sum = Object.entries(frame.series).reduce((all, [key, value]) => all + (key.startsWith("ids/") ? value : 0), 0);
		put(rate.value, int(sum));
		put(rate.under, Object.entries(frame.series).filter(([key]) => key.startsWith("connections/")).map(([key, n]) => `${int(n)} ${key.slice(12)}`).join(", ") || "no connections");
		const { store: held } = frame;
		put(budget.value, held.budget_left_s == null ? "–" : fmt.span(held.budget_left_s));
		const first = held.first_to_end;
		putIn(budget.under, first ? ["then ", first.kind + " ", link(first.kind === "pool" ? hashOf("map", [first.name]) : hashOf("sequences", [first.name]), first.name), " ends"]
			: held.budget_left_s == null ? unreckoned() : "goes on if its store is away");
		put(store.value, held.up ? `${held.scheme}, class ${held.class}` : `away${held.down_s == null ? "" : " for " + fmt.span(held.down_s)}`);
		store.value.className = held.up && !held.stopped ? "" : "bad";
		put(store.under, held.stopped ?? (frame.rehearsal_left_s ? `a rehearsal: ${fmt.span(frame.rehearsal_left_s)} to go` : `${CLASSES[held.class] ?? ""}${held.why ? " – " + held.why : ""}`));
		const offset = frame.series.clock_offset_s;
		put(clock.value, live.stands >= 3 ? "stands" : offset == null ? "–" : fmt.signed(offset));
		clock.value.className = live.stands >= 3 || abs(offset ?? 0) > 0.5 ? "bad" : "";
		const steps = frame.series.clock_steps ?? 0;
		put(clock.under, (live.stands >= 3 ? `at ${fmt.clock(frame.at_ms)}; ` : "wall clock minus the clock that ids read; ") + `${steps ? int(steps) : "no"} step${steps === 1 ? "" : "s"} since the start`);
	};
	const busy = (frame) => {
		if (inUse(busiest) || busiest.matches(":hover")) return; // a link that moves cannot be hit
		busiest.replaceChildren(!frame.busiest.length ? empty("No sequence is in use.", "As soon as somebody asks for a number, it is here.")
			: tableOf(["Sequence", "A second#", "Without the store#"], frame.busiest.map((one) => [link(hashOf("sequences", [one.name]), one.name), fmt.rate(one.per_second),
				one.left_s == null ? "longer than can be told" : fmt.span(one.left_s)]), "The busiest sequences"));
	};

	const waiting = []; // frames that come while the history is on its way
	let loaded = false;
	live.on((frame) => {
		if (paused && told) return; // tables, CSV and the cursor too show what stood then
		tell(frame);
		busy(frame);
		if (!loaded) waiting.push(frame);
		else if (points.add(frame)) draw();
		else if (points.due(frame.at_ms)) load().catch(() => {});
	}, life);
	const load = async () => {
		const mine = points;
		loaded = false; // what comes meanwhile is put behind it
		try {
			const history = await get("/v1/history", life, { range });
			if (mine === points && !paused) points.load(history);
		} finally {
			const late = waiting.splice(0);
			loaded ||= mine === points;
			if (mine === points && !paused) {
				for (const frame of late) points.add(frame);
				draw();
			}
		}
	};
	// After a break of the stream the server still has what was missed, if it did not start again.
	let was = live.stale;
	const back = () => {
		if (was && !live.stale && loaded && !paused && points.started === live.frame?.started_ms) load().catch(() => {});
		if (told && was !== live.stale) tell(told);
		was = live.stale;
	};
	live.watch(back, life);
	try {
		await load();
	} catch (error) {
		if (error.name !== "AbortError" && error.status !== 401) controls.after(errorBox(error));
	}
};

addView({ name: "now", title: "Now", nav: true, show: showNow });
