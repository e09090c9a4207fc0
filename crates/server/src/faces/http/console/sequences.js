// All sequences, page by page, and what may be done with one.

const PAGE_ROWS = 100;
const SORTS = { rate: "Busiest", ends: "Ends first", lost: "Most lost", last: "Largest number", name: "Name" };

// ---- The same act elsewhere

const shell = (text) => (/^[\w.\/:@%+,=-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'");
/** Quotes are never wrong; what is not in small letters wants them, and reserved words: order, user, references. */
const sqlName = (name) => (/^[a-z]+[0-9_][a-z0-9_]*$|^[a-z]+s$/.test(name) && !/^(as|is|cross|overlaps|references|current_\w+|\w+_user)$/.test(name) ? name : '"' + name.replace(/"/g, '""') + '"');
const sqlText = (text) => "'" + text.replace(/'/g, "''") + "'";
const here = () => new URL(".", location.href).href.replace(/\/$/, "");
const curl = (method, path, body) => "curl" + (method === "GET" ? "" : " -X " + method)
	+ (session.token ? ' -H "authorization: Bearer $MINT_TOKEN"' : "")
	+ (body === undefined ? "" : " -H 'content-type: application/json' -d " + shell(JSON.stringify(body))) + " " + shell(here() + path);
const mint = (command, options, ...rest) => ["mint", command, ...options, ...(/127\.0\.0\.1:7600|localhost:7600/.test(here()) ? [] : ["--server", shell(here())]),
	...(rest.some((part) => part.startsWith("-")) ? ["--"] : []), ...rest.map(shell)].join(" ");
/** Where the server says that it speaks the Redis protocol, or where it does so by default. */
const redisCli = (...words) => (live.frame?.resp === null ? "# this server does not speak the Redis protocol"
	: ["redis-cli", ...(/^tls/.test(live.frame?.resp) ? ["--tls"] : []), ...(/^(localhost|127\.|\[::1)/.test(location.hostname) ? [] : ["-h", location.hostname.replace(/[[\]]/g, "")]), "-p", /\d+$/.exec(live.frame?.resp)?.[0] ?? 7601,
		...(session.token ? ['-a "$MINT_TOKEN" --no-auth-warning'] : []), ...words.map(shell)].join(" "));
const noRedis = (what) => `# the Redis protocol has no command that ${what}`;
const languages = (...texts) => ["curl", "redis-cli", "mint", "PostgreSQL"].map((label, i) => ({ label, text: texts[i] })).filter(({ text }) => text);

/** What was written of a definition, in each language. */
const DEFINITION = { start: "START", increment: "INCREMENT", min: "MINVALUE", max: "MAXVALUE" };
const asOptions = (definition) => Object.entries(definition).map(([key, value]) =>
	(key === "cycle" ? (value ? "--cycle" : "--no-cycle") : `--${key === "max_gap" ? "max-gap" : key}=${value}`));
/** One `GAP` says both; `most` is what a crash may lose unless that is written too. */
const asSql = ({ gap, max_gap, ...rest }, most) => [...Object.entries(rest).map(([key, value]) => (key === "cycle" ? (value ? "CYCLE" : "NO CYCLE") : DEFINITION[key] + " " + value)),
	gap === "none" ? "GAP NONE" : (max_gap || gap) && "GAP " + (max_gap ?? most)].filter(Boolean).map((part) => " " + part).join("");

const pathOf = (name) => "/v1/sequences/" + seg(name);
const numberField = (label, name, value, onchange, attrs) => labelled(label, 
	h("input", { name, value: value ?? "", inputmode: "numeric", pattern: "-?[0-9]+", title: "a whole number", ...PLAIN, oninput: onchange, ...attrs }));

/** The fields of a definition; `was`: how it is, of a change. What is empty or as it was is left out. */
const definitionFields = (was, changed) => {
	const gap = h("select", { name: "gap", onchange: changed }, [["bounded", "bounded: a crash may lose some"], ["none", "none: each number waits for the disk"]]
		.map(([value, text]) => h("option", { value, selected: value === was?.gap }, text)));
	const cycle = h("input", { type: "checkbox", name: "cycle", checked: was?.cycle ?? false, onchange: changed });
	const hints = { start: "1", increment: "1", min: "1", max: "9223372036854775807", max_gap: "100000" };
	const numbers = [["First number", "start"], ["Step", "increment"], ["Smallest", "min"], ["Largest", "max"], ["A crash may lose", "max_gap"]]
		.map(([label, key]) => numberField(label, key, was?.[key], changed, was ? {} : { placeholder: hints[key] }));
	return {
		nodes: [div("fields", numbers, labelled("Gaps", gap)), h("label.check", cycle, "begins again at its end: numbers repeat")],
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
			mint("seq create", asOptions(definition), called), `CREATE SEQUENCE ${sqlName(called)}${asSql(definition)};`));
	};
	draw();
	return actForm([labelled("Name", name), fields.nodes, box, buttonsOf(close, "Create")], async () => {
		await api("PUT", pathOf(name.value), { body: fields.read() });
		close(true);
		go(hashOf("sequences", [name.value]));
	});
});

const giveOne = (name) => dialog("Give me a number", (close) => {
	const given = h("output.given.mono");
	const box = copyBox(languages(curl("POST", pathOf(name) + "/next"), redisCli("INCR", name), mint("seq next", [], name), `SELECT nextval(${sqlText(sqlName(name))});`));
	return actForm([h("p", "The next number of ", strongOf(name), ". It is given out for good: nobody gets it again."), box, given,
		para("buttons", buttonTo(() => close(true), "Close"), h("button.primary", { autofocus: true }, "Give me one"))],
	async () => given.prepend(h("div", (await api("POST", pathOf(name) + "/next")).ids.join(" "))));
});

/** What follows when `to` is set as the last number: what the server would refuse is told before. */
const afterSet = ({ last, increment, min, max, cycle }, to) => {
	if (!/^-?\d+$/.test(to)) return `Now the last is ${int(last)}.`;
	const [at, by, least, most] = [to, increment, min, max].map(BigInt);
	if (at < least || at > most) return `It is refused: the numbers go from ${int(min)} to ${int(max)}.`;
	if (last != null && (at - BigInt(last)) * by < 0n) return `It is refused: ${int(to)} is not beyond ${int(last)}, numbers could repeat.`;
	const next = at + by;
	if (next >= least && next <= most) return `The next one is ${int(next)}.`;
	return cycle ? `That is its end: it begins again at ${int(by > 0n ? min : max)}, and numbers repeat.` : "That is its end: there is no next one.";
};

const setForward = (sequence) => dialog("Set forward", (close) => {
	const field = numberField("This was the last number", "value", "", () => draw(), { required: true, autofocus: true });
	const value = () => field.lastChild.value.trim();
	const says = h("p.hint", { role: "status" });
	const box = copyBox([]);
	const { name } = sequence;
	const draw = () => {
		const to = value() || "NUMBER";
		says.textContent = afterSet(sequence, to);
		box.set(languages(curl("POST", pathOf(name) + "/restart", { value: to }), redisCli("SET", name, to), mint("seq set", [], name, to), `SELECT setval(${sqlText(sqlName(name))}, ${to});`));
	};
	draw();
	return actForm([h("p", "Numbers between are skipped for good. It only goes forward from here: going back could repeat numbers."), field, says, box, buttonsOf(close, "Set forward")], async () => {
		toldPending(await api("POST", pathOf(name) + "/restart", { body: { value: value() } }), `${name} goes on behind ${int(value())}`);
		close(true);
	});
});

const alterSequence = (sequence) => dialog("Change the definition", (close) => {
	const { name } = sequence;
	const fields = definitionFields(sequence, () => draw());
	const box = copyBox([]);
	const draw = () => {
		const changes = fields.read();
		box.set(languages(curl("PATCH", pathOf(name), changes), noRedis("changes a definition"), mint("seq alter", asOptions(changes), name), `ALTER SEQUENCE ${sqlName(name)}${asSql({ ...(sequence.gap === "none" && { gap: "none" }), ...changes }, sequence.max_gap)};`));
	};
	draw();
	return actForm([fields.nodes, box, buttonsOf(close, "Change")], async () => {
		const changes = fields.read();
		if (!Object.keys(changes).length) throw new ApiError(0, null, "nothing is changed yet");
		toldPending(await api("PATCH", pathOf(name), { body: changes }), name + " is changed");
		close(true);
	});
});

const dropSequence = (name) => confirmTyped({
	title: "Drop this sequence", word: name, label: "Drop it",
	text: [h("p", "Who asks for its next number is refused from then on. Created again, the name goes on above its numbers."),
		copyBox(languages(curl("DELETE", pathOf(name)), redisCli("DEL", name), mint("seq drop", [], name), `DROP SEQUENCE ${sqlName(name)};`))],
	act: async () => {
		toldPending(await api("DELETE", pathOf(name)), name + " is dropped");
		go("#/sequences");
	},
});

/** The acts; `known(no)` leaves the one that makes a sequence. */
const sequenceActs = (name) => {
	const withIt = (act) => async () => {
		try {
			await act(await get(pathOf(name)));
		} catch (error) { if (error.status !== 401) notice(error.detail ?? error.message, "bad"); }
	};
	const changes = [buttonTo(withIt(setForward), "Set forward"), buttonTo(withIt(alterSequence), "Change"), buttonTo(() => dropSequence(name), "Drop")];
	const bar = div("bar", link("#/sequences", "All sequences"), canChange()
		? div("bar rest", buttonTo(() => giveOne(name), "Give me one", { class: "primary" }), changes)
		: h("span.soft.rest", "Read only: changes are not allowed in this tab."));
	bar.known = (yes) => { for (const one of changes) one.hidden = !yes; };
	return bar;
};

// ---- When they end

const YEAR_S = 31556952;

/** Its step, whether it goes up, its end, and where it is. */
const placeOf = ({ increment, start, last, min, max }) => {
	const by = BigInt(increment);
	const up = by > 0n;
	return { by, up, bound: BigInt(up ? max : min), at: last == null ? BigInt(start) - by : BigInt(last) };
};
/** Seconds to each limit at today's rate: `passed`, or `beyond` the bound, or numbers that are `left` where no rate is known. */
const endings = (one) => {
	const { by, up, bound, at } = placeOf(one);
	const rate = one.forecast?.per_second || one.per_second;
	const to = (limit) => ({ left: (limit - at) / by, seconds: rate ? Number((limit - at) / by) / rate : null });
	// What the server reckons is better than what this page does.
	const told = (name) => {
		const years = one.forecast?.ends?.find((end) => end.limit === name && end.at)?.years;
		return years ? { seconds: years * YEAR_S } : null; // what it rounds to 0 years is near
	};
	const all = POWERS.map(([name, power]) => {
		const limit = up ? (1n << power) - (power === 63n ? 1n : 0n) : -(1n << power);
		if (up ? at >= limit : at <= limit) return { name, passed: true };
		if (up ? bound < limit : bound > limit) return { name, beyond: true };
		return { name, ...to(limit), ...told(name) };
	});
	const end = { name: "bound", ...to(bound), ...told("bound") };
	return [...all, end.left <= 0n ? { name: end.name, passed: true } : end];
};
const urgency = (end) => (end.seconds == null ? "" : end.seconds < YEAR_S ? "bad" : end.seconds < 5 * YEAR_S ? "warn" : "");
const endCell = (end) => (end.passed ? softText("passed") : end.beyond ? h("span.soft", { title: "its bound comes before" }, "never")
	: end.seconds == null ? h("span.soft", { title: "no rate is known" }, fmt.si(Number(end.left)) + " left") : h("span", { class: urgency(end) }, fmt.span(end.seconds)));

const sequenceRow = (one) => {
	const ends = endings(one);
	const first = ends.filter((end) => end.seconds != null).sort((a, b) => a.seconds - b.seconds)[0];
	const near = ends[3].passed ? tagOf(one.cycle ? "begins again" : "is at its end", "bad nowrap")
		: !first ? softText("no rate is known") : tagOf(`${first.name} in ${fmt.span(first.seconds)}`, "nowrap " + (urgency(first) || "good"));
	return [
		[link(hashOf("sequences", [one.name]), one.name), one.moved && [" ", tagOf(one.moved.is.replace("_", " "), "")]],
		int(one.last),
		h("span.rate", spark(one.recent), h("span", one.per_second == null ? softText(one.stock ? "idle here" : "not here") : fmt.rate(one.per_second))),
		one.stock == null ? "–" : h("div", int(one.stock), one.stock_s != null && div("soft", "lasts " + fmt.span(one.stock_s))),
		one.gap === "none" ? "none" : "≤ " + fmt.si(one.max_gap),
		near, ...ends.map(endCell),
		one.lost ? h("span.warn", int(one.lost)) : int(one.lost),
	];
};

const listSequences = async (root, query, life) => {
	let by = SORTS[query.by] ? query.by : "rate";
	let contains = query.contains ?? "";
	let page = max(1, Number.parseInt(query.page, 10) || 1);
	let timer = 0;
	let asked = 0;
	const filter = h("input", { type: "search", value: contains, placeholder: "part of a name", ...PLAIN, label: "Filter by a part of the name", oninput: () => {
		clearTimeout(timer);
		timer = setTimeout(() => { contains = filter.value; page = 1; turn(); }, 250);
	} });
	const sorts = h("div.bar", { role: "group", label: "What comes first" }, Object.entries(SORTS).map(([key, label]) => buttonTo(() => { by = key; page = 1; turn(); }, label, { dataset: { by: key } })));
	const count = h("span.soft", { role: "status" });
	const body = h("div.scroll", { tabindex: "0", role: "region", label: "Sequences" });
	const pages = h("nav.bar", { label: "Pages" });
	root.append(div("bar", filter, sorts, h("span.rest", canChange() && buttonTo(createSequence, "Create a sequence", { class: "primary" }))), count, body, pages);

	const turn = () => {
		setQuery({ by: by === "rate" ? null : by, contains: contains || null, page: page === 1 ? null : page });
		body.setAttribute("aria-busy", true);
		load().catch((error) => showError(body, error));
	};
	const load = async () => {
		const mine = ++asked;
		const top = await get("/v1/top", life, { by, contains, offset: (page - 1) * PAGE_ROWS, limit: PAGE_ROWS });
		if (mine !== asked) return; // somebody asked for something else since
		for (const button of sorts.children) button.setAttribute("aria-pressed", button.dataset.by === by);
		const last = max(1, ceil(top.total / PAGE_ROWS));
		if (page > last) { page = last; return turn(); }
		const from = (page - 1) * PAGE_ROWS;
		const says = top.total ? `${int(from + 1)} to ${int(from + top.sequences.length)} of ${int(top.total)}` : "";
		if (count.textContent !== says) count.textContent = says;
		const at = inUse(body) ? focused().getAttribute("href") : null;
		body.replaceChildren(top.total ? tableOf(["Name", "Last number#", "Rate#", "In memory#", "Gap#", "Ends first", "2^31#", "2^53#", "2^63#", "Bound#", "Lost#"], top.sequences.map(sequenceRow), "Sequences, page " + page)
			: contains ? empty(`No name has “${contains}” in it.`, "Names are compared letter by letter, large and small ones too.")
				: empty(session.token ? "There is no sequence that this token may see." : "There is no sequence yet.", canChange() ? "Create one, or ask for a number of one: its first use makes it, where that is allowed." : "Its first use makes one, where that is allowed: " + redisCli("INCR", "orders")));
		body.setAttribute("aria-busy", false);
		if (at) focusOn([...body.querySelectorAll("a")].find((a) => a.getAttribute("href") === at));
		const step = (label, to) => buttonTo(() => { page = to; turn(); scrollTo(0, 0); }, label, { disabled: to < 1 || to > last || to === page });
		const had = [...pages.children].indexOf(focused());
		putIn(pages, last > 1 && [step("First", 1), step("Back", page - 1), h("span", `page ${int(page)} of ${int(last)}`), step("Next", page + 1), step("Last", last)]);
		if (had >= 0) focusOn(pages.children[had].disabled ? body : pages.children[had]);
	};
	await repeated(5, life, load, (error) => showError(body, error));
};

addView({
	name: "sequences", nav: true, title: (args) => args[0] ?? "Sequences",
	show(root, args, query, life) {
		if (args[0] === undefined) return listSequences(root, query, life);
		const rest = div("stack");
		const acts = sequenceActs(args[0]);
		root.append(acts, rest);
		return showSequence(rest, args[0], query, life, acts.known);
	},
});
