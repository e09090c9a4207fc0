// All sequences, page by page, and what may be done with one.

const PAGE_ROWS = 100;
const SORTS = { rate: "Busiest", ends: "Ends first", lost: "Most lost", last: "Largest number", name: "Name" };

// ---- The same act elsewhere

const shell = (text) => (/^[\w.\/:@%+,=-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'");
/** Only lower-case letters mean themselves in SQL without quotes. */
const sqlName = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : '"' + name.replace(/"/g, '""') + '"');
const sqlText = (text) => "'" + text.replace(/'/g, "''") + "'";
const here = () => new URL(".", location.href).href.replace(/\/$/, "");
const curl = (method, path, body) => "curl" + (method === "GET" ? "" : " -X " + method)
	+ (session.token ? ' -H "authorization: Bearer $MINT_TOKEN"' : "")
	+ (body === undefined ? "" : " -H 'content-type: application/json' -d " + shell(JSON.stringify(body))) + " " + shell(here() + path);
const mintSeq = (verb, options, ...rest) => ["mint seq", verb, ...options, ...(/127\.0\.0\.1:7600|localhost:7600/.test(here()) ? [] : ["--server", shell(here())]),
	...(rest.some((part) => part.startsWith("-")) ? ["--"] : []), ...rest.map(shell)].join(" ");
const redisCli = (...words) => ["redis-cli", ...(/^(localhost|127\.|\[::1)/.test(location.hostname) ? [] : ["-h", location.hostname]), "-p 7601", ...words.map(shell)].join(" ");
const noRedis = (what) => `# the Redis protocol has no command that ${what}`;
const languages = (curlText, redis, mint, sql) => [["curl", curlText], ["redis-cli", redis], ["mint", mint], ["SQL", sql]].map(([label, text]) => ({ label, text }));

/** What was written of a definition, in each language. */
const DEFINITION = { start: "START", increment: "INCREMENT", min: "MINVALUE", max: "MAXVALUE" };
const asOptions = (definition) => Object.entries(definition).map(([key, value]) =>
	(key === "cycle" ? (value ? "--cycle" : "--no-cycle") : `--${key === "max_gap" ? "max-gap" : key}=${value}`));
const asSql = (definition) => Object.entries(definition).map(([key, value]) =>
	" " + (key === "cycle" ? (value ? "CYCLE" : "NO CYCLE") : key === "gap" ? (value === "none" ? "GAP NONE" : "") : key === "max_gap" ? "GAP " + value : DEFINITION[key] + " " + value)).join("").replace(/ +/g, " ").trimEnd();

const pathOf = (name) => "/v1/sequences/" + seg(name);
const numberField = (label, name, value, onchange, attrs) => h("label", null, h("span", null, label),
	h("input", { name, value: value ?? "", inputmode: "numeric", pattern: "-?[0-9]+", title: "a whole number", ...PLAIN, oninput: onchange, ...attrs }));

/** The fields of a definition; `was`: how it is, of a change. What is empty or as it was is left out. */
const definitionFields = (was, changed) => {
	const gap = h("select", { name: "gap", onchange: changed }, [["bounded", "bounded: a crash may lose some"], ["none", "none: no number is lost, each waits for the disk"]]
		.map(([value, text]) => h("option", { value, selected: value === was?.gap }, text)));
	const cycle = h("input", { type: "checkbox", name: "cycle", checked: was?.cycle ?? false, onchange: changed });
	const hints = { start: "1", increment: "1", min: "1", max: "9223372036854775807", max_gap: "100000" };
	const numbers = [["First number", "start"], ["Step", "increment"], ["Smallest", "min"], ["Largest", "max"], ["A crash may lose", "max_gap"]]
		.map(([label, key]) => numberField(label, key, was?.[key], changed, was ? {} : { placeholder: hints[key] }));
	return {
		nodes: [div("fields", numbers, h("label", null, h("span", null, "Gaps"), gap)), h("label", { class: "check" }, cycle, "begins again at its end: numbers repeat")],
		read: () => {
			const found = {};
			for (const { firstChild, lastChild: { name, value } } of numbers) {
				if (firstChild && value.trim() !== "" && value.trim() !== String(was?.[name] ?? "")) found[name] = value.trim();
			}
			if (gap.value !== (was?.gap ?? "bounded")) found.gap = gap.value;
			if (cycle.checked !== (was?.cycle ?? false)) found.cycle = cycle.checked;
			return found;
		},
	};
};

const toldPending = (answer, done) => notice(answer?.pending?.length ? `${done}; servers that have not heard of it yet: ${answer.pending.join(", ")}` : done, "good");
const buttonsOf = (close, label, kind = "primary") => para("buttons", buttonTo(() => close(null), "Cancel"), h("button", { class: kind }, label));

const createSequence = () => dialog("Create a sequence", (close) => {
	const name = h("input", { name: "name", ...PLAIN, required: true, autofocus: true, oninput: () => draw() });
	const fields = definitionFields(null, () => draw());
	const box = copyBox([]);
	const draw = () => {
		const [called, definition] = [name.value || "NAME", fields.read()];
		box.set(languages(curl("PUT", pathOf(called), definition),
			Object.keys(definition).length ? noRedis("creates a sequence of this kind") : redisCli("SET", called, "0", "NX"),
			mintSeq("create", asOptions(definition), called), `CREATE SEQUENCE ${sqlName(called)}${asSql(definition)};`));
	};
	draw();
	return actForm(null, [h("label", null, h("span", null, "Name"), name), fields.nodes, box, buttonsOf(close, "Create")], async () => {
		await api("PUT", pathOf(name.value), { body: fields.read() });
		close(true);
		go(hashOf("sequences", [name.value]));
	});
});

const giveOne = (name) => dialog("Give me a number", (close) => {
	const given = h("output", { class: "given mono" });
	const box = copyBox(languages(curl("POST", pathOf(name) + "/next"), redisCli("INCR", name), mintSeq("next", [], name), `SELECT nextval(${sqlText(sqlName(name))});`));
	return actForm(null, [para("", "The next number of ", h("b", null, name), ". It is given out for good: nobody gets it again."), box, given,
		para("buttons", buttonTo(() => close(true), "Close"), h("button", { class: "primary", autofocus: true }, "Give me one"))],
	async () => given.prepend(h("div", null, (await api("POST", pathOf(name) + "/next")).ids.join(" "))));
});

const setForward = (sequence) => dialog("Set forward", (close) => {
	const field = numberField("This was the last number", "value", "", () => draw(), { required: true, autofocus: true });
	const value = () => field.lastChild.value.trim();
	const says = h("p", { class: "hint", role: "status" });
	const box = copyBox([]);
	const { name } = sequence;
	const draw = () => {
		const to = value() || "NUMBER";
		says.textContent = /^-?\d+$/.test(to) ? `The next one is ${fmt.int(BigInt(to) + BigInt(sequence.increment))}.` : `Now the last is ${fmt.int(sequence.last)}.`;
		box.set(languages(curl("POST", pathOf(name) + "/restart", { value: to }), redisCli("SET", name, to), mintSeq("set", [], name, to), `SELECT setval(${sqlText(sqlName(name))}, ${to});`));
	};
	draw();
	return actForm(null, [para("", "Numbers between are skipped for good. It only goes forward from here: going back could repeat numbers."), field, says, box, buttonsOf(close, "Set forward")], async () => {
		toldPending(await api("POST", pathOf(name) + "/restart", { body: { value: value() } }), `${name} goes on behind ${fmt.int(value())}`);
		close(true);
	});
});

const alterSequence = (sequence) => dialog("Change the definition", (close) => {
	const { name } = sequence;
	const fields = definitionFields(sequence, () => draw());
	const box = copyBox([]);
	const draw = () => {
		const changes = fields.read();
		box.set(languages(curl("PATCH", pathOf(name), changes), noRedis("changes a definition"), mintSeq("alter", asOptions(changes), name), `ALTER SEQUENCE ${sqlName(name)}${asSql(changes)};`));
	};
	draw();
	return actForm(null, [fields.nodes, box, buttonsOf(close, "Change")], async () => {
		const changes = fields.read();
		if (!Object.keys(changes).length) throw new ApiError(0, null, "nothing is changed yet");
		toldPending(await api("PATCH", pathOf(name), { body: changes }), name + " is changed");
		close(true);
	});
});

const dropSequence = (name) => confirmTyped({
	title: "Drop this sequence", word: name, label: "Drop it",
	text: [para("", "Who asks for its next number is refused from then on. Created again, the name goes on above its numbers."),
		copyBox(languages(curl("DELETE", pathOf(name)), redisCli("DEL", name), mintSeq("drop", [], name), `DROP SEQUENCE ${sqlName(name)};`))],
	act: async () => {
		toldPending(await api("DELETE", pathOf(name)), name + " is dropped");
		go("#/sequences");
	},
});

/** The acts, above what is known of one sequence. */
const sequenceActs = (name) => {
	const withIt = (act) => async () => {
		try {
			await act(await api("GET", pathOf(name)));
		} catch (error) { if (error.status !== 401) notice(error.detail ?? error.message, "bad"); }
	};
	return div("bar", link("#/sequences", "All sequences"), canChange()
		? div("bar rest", buttonTo(() => giveOne(name), "Give me one", { class: "primary" }), buttonTo(withIt(setForward), "Set forward"), buttonTo(withIt(alterSequence), "Change"), buttonTo(() => dropSequence(name), "Drop"))
		: h("span", { class: "soft rest" }, "Read only: changes are not allowed in this tab."));
};

// ---- When they end

const YEAR_S = 31556952;
const LIMITS = [["2^31", 31n], ["2^53", 53n], ["2^63", 63n]];

/** Seconds to each limit at today's rate: `passed`, or `beyond` the bound, or numbers that are `left` where no rate is known. */
const endings = (one) => {
	const by = BigInt(one.increment);
	const up = by > 0n;
	const bound = BigInt(up ? one.max : one.min);
	const at = one.last == null ? BigInt(one.start) - by : BigInt(one.last);
	const rate = one.forecast?.per_second || one.per_second;
	const to = (limit) => ({ left: (limit - at) / by, seconds: rate ? Number((limit - at) / by) / rate : null });
	// What the server reckons is better than what this page does.
	const told = (name) => {
		const years = one.forecast?.ends?.find((end) => end.limit === name && end.at)?.years;
		return years ? { seconds: years * YEAR_S } : null; // what it rounds to 0 years is near
	};
	const all = LIMITS.map(([name, power]) => {
		const limit = up ? (1n << power) - (power === 63n ? 1n : 0n) : -(1n << power);
		if (up ? at >= limit : at <= limit) return { name, passed: true };
		if (up ? bound < limit : bound > limit) return { name, beyond: true };
		return { name, ...to(limit), ...told(name) };
	});
	const end = { name: "bound", ...to(bound), ...told("bound") };
	return [...all, end.left <= 0n ? { name: end.name, passed: true } : end];
};
const urgency = (end) => (end.seconds == null ? "" : end.seconds < YEAR_S ? "bad" : end.seconds < 5 * YEAR_S ? "warn" : "");
const endCell = (end) => (end.passed ? softText("passed") : end.beyond ? h("span", { class: "soft", title: "its bound comes before" }, "never")
	: end.seconds == null ? h("span", { class: "soft", title: "no rate is known" }, fmt.si(Number(end.left)) + " left") : h("span", { class: urgency(end) }, fmt.span(end.seconds)));

const sequenceRow = (one) => {
	const ends = endings(one);
	const first = ends.filter((end) => end.seconds != null).sort((a, b) => a.seconds - b.seconds)[0];
	const near = ends[3].passed ? tagOf(one.cycle ? "begins again" : "is at its end", "bad nowrap")
		: !first ? softText("no rate is known") : tagOf(`${first.name} in ${fmt.span(first.seconds)}`, "nowrap " + (urgency(first) || "good"));
	return [
		[link(hashOf("sequences", [one.name]), one.name), one.moved && [" ", tagOf(one.moved.is.replace("_", " "), "")]],
		fmt.int(one.last),
		h("span", { class: "rate" }, spark(one.recent), h("span", null, one.per_second == null ? softText("not here") : fmt.rate(one.per_second))),
		one.stock == null ? "–" : h("div", null, fmt.int(one.stock), one.stock_s != null && div("soft", "lasts " + fmt.span(one.stock_s))),
		one.gap === "none" ? "none" : "≤ " + fmt.si(one.max_gap),
		near, ...ends.map(endCell),
		one.lost ? h("span", { class: "warn" }, fmt.int(one.lost)) : fmt.int(one.lost),
	];
};

const listSequences = async (root, query, life) => {
	let by = SORTS[query.by] ? query.by : "rate";
	let contains = query.contains ?? "";
	let page = Math.max(1, Number.parseInt(query.page, 10) || 1);
	let timer = 0;
	let asked = 0;
	const filter = h("input", { type: "search", value: contains, placeholder: "part of a name", ...PLAIN, "aria-label": "Filter by a part of the name", oninput: () => {
		clearTimeout(timer);
		timer = setTimeout(() => { contains = filter.value; page = 1; turn(); }, 250);
	} });
	const sorts = h("div", { class: "bar", role: "group", "aria-label": "What comes first" }, Object.entries(SORTS).map(([key, label]) => buttonTo(() => { by = key; page = 1; turn(); }, label, { dataset: { by: key } })));
	const count = h("span", { class: "soft", role: "status" });
	const body = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sequences" });
	const pages = h("nav", { class: "bar", "aria-label": "Pages" });
	root.append(div("bar", filter, sorts, h("span", { class: "rest" }, canChange() && buttonTo(createSequence, "Create a sequence", { class: "primary" }))), count, body, pages);

	const turn = () => {
		setQuery({ by: by === "rate" ? null : by, contains: contains || null, page: page === 1 ? null : page });
		body.setAttribute("aria-busy", true);
		load().catch((error) => { if (!life.aborted) showError(body, error); });
	};
	const load = async () => {
		const mine = ++asked;
		const top = await api("GET", "/v1/top", { query: { by, contains, offset: (page - 1) * PAGE_ROWS, limit: PAGE_ROWS }, signal: life });
		if (mine !== asked) return; // somebody asked for something else since
		for (const button of sorts.children) button.setAttribute("aria-pressed", button.dataset.by === by);
		const last = Math.max(1, Math.ceil(top.total / PAGE_ROWS));
		if (page > last) { page = last; return turn(); }
		const from = (page - 1) * PAGE_ROWS;
		const says = top.total ? `${fmt.int(from + 1)} to ${fmt.int(from + top.sequences.length)} of ${fmt.int(top.total)}` : "";
		if (count.textContent !== says) count.textContent = says;
		const at = inUse(body) ? document.activeElement.getAttribute("href") : null;
		body.replaceChildren(top.total ? tableOf(["Name", "Last number#", "Rate#", "In memory#", "Gap#", "Ends first", "2^31#", "2^53#", "2^63#", "Bound#", "Lost#"], top.sequences.map(sequenceRow), "Sequences, page " + page)
			: contains ? empty(`No name has “${contains}” in it.`, "Names are compared letter by letter, large and small ones too.")
				: empty("There is no sequence yet.", canChange() ? "Create one, or ask for a number of one: its first use makes it, where that is allowed." : "Its first use makes one, where that is allowed: " + redisCli("INCR", "orders")));
		body.setAttribute("aria-busy", false);
		if (at) [...body.querySelectorAll("a")].find((a) => a.getAttribute("href") === at)?.focus({ preventScroll: true });
		const step = (label, to) => buttonTo(() => { page = to; turn(); scrollTo(0, 0); }, label, { disabled: to < 1 || to > last || to === page });
		const focused = [...pages.children].indexOf(document.activeElement);
		putIn(pages, last > 1 && [step("First", 1), step("Back", page - 1), h("span", null, `page ${fmt.int(page)} of ${fmt.int(last)}`), step("Next", page + 1), step("Last", last)]);
		if (focused >= 0) (pages.children[focused].disabled ? body : pages.children[focused]).focus({ preventScroll: true });
	};
	await repeated(5, life, load, (error) => showError(body, error));
};

addView({
	name: "sequences", nav: true, title: (args) => args[0] ?? "Sequences",
	show(root, args, query, life) {
		if (args[0] === undefined) return listSequences(root, query, life);
		const rest = div("stack");
		root.append(sequenceActs(args[0]), rest);
		return showSequence(rest, args[0], query, life);
	},
});
