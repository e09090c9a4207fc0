// One sequence: what it is, when it ends, and what became of the numbers that were reserved.

const putIn = (root, ...children) => { root.replaceChildren(); return build(root, null, children); };
const cardOf = (title, ...children) => h("section.card", title && h("h2", title), children);
const softText = (...text) => h("span.soft", text);
const buttonTo = (onclick, text, attrs) => h("button", { type: "button", onclick, ...attrs }, text);
const drawing = (width, height, attrs, ...children) => s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, ...attrs }, children);
const rectAt = (x, y, width, height, name, attrs) => s("rect", { x, y, width, height, class: name, ...attrs });
const lineAt = (x1, y1, x2, y2, name) => s("line", { x1, y1, x2, y2, class: name });
const textAt = (x, y, text, anchor, name = "tick") => s("text", { x, y, class: name, "text-anchor": anchor }, text);
const codeOf = (text) => h("code", text);
const strongOf = (...text) => h("strong", text);
const svgOf = (label, attrs, ...children) => s("svg", { role: "img", label: label, ...attrs }, children);
const dateOf = (ms) => fmt.clock(ms, "both");
const dotOf = (color) => h("span", { class: "dot " + color });
const tagOf = (text, kind) => h("span", { class: "tag " + kind }, text);

/** A table that is a list of cards on a phone. `Name#` is a column of numbers; the first cell is the row's name. */
const tableOf = (columns, rows, caption) => {
	const names = columns.map((name) => name.replace("#", ""));
	const kind = (i) => (columns[i].endsWith("#") ? "num" : "");
	return h("table.stacked", h("caption.away", caption), h("thead", h("tr", names.map((name, i) => h("th", { scope: "col", class: kind(i) }, name)))),
		h("tbody", rows.map((cells) => h("tr", cells.map((cell, i) => (i ? h("td", { class: kind(i), dataset: { label: names[i] } }, cell) : h("th", { scope: "row", class: kind(0) }, cell)))))));
};
const factList = (facts) => h("dl.facts", facts.map((fact) => fact && [h("dt", fact[0]), h("dd", fact[1])]));

/** Calls `draw(width)` at first, and with every other width until `life` ends. */
const whenSized = (node, life, draw) => {
	let width = 0;
	const observer = new ResizeObserver(() => {
		const now = Math.floor(node.clientWidth);
		if (now > 0 && now !== width) draw(width = now);
	});
	observer.observe(node);
	life.addEventListener("abort", () => observer.disconnect());
};

/** Does `work` now and every so many seconds, unless nobody looks; errors go to `failed`. */
const repeated = (seconds, life, work, failed) => {
	let timer = 0;
	const once = async () => {
		try { await work(); } catch (error) { if (!life.aborted) failed(error); }
		if (!life.aborted) timer = setTimeout(turn, seconds * 1000);
	};
	const turn = () => (document.hidden ? document.addEventListener("visibilitychange", turn, { once: true, signal: life }) : once());
	life.addEventListener("abort", () => clearTimeout(timer));
	return once();
};

/** Many marks as one stop of the tab key: arrows go from one to the next. `step(at, key)` gives another next one. */
const roving = (marks, step) => {
	const turn = (mark) => { for (const other of marks) other.setAttribute("tabindex", other === mark ? 0 : -1); };
	marks.forEach((mark, at) => {
		mark.addEventListener("focus", () => turn(mark));
		mark.addEventListener("keydown", (event) => {
			const last = marks.length - 1;
			const to = { Home: 0, End: last }[event.key] ?? step?.(at, event.key) ?? { ArrowRight: at + 1, ArrowLeft: at - 1 }[event.key];
			if (to === undefined) return;
			event.preventDefault();
			event.stopPropagation();
			marks[max(0, min(last, to))].focus();
		});
	});
	return turn;
};

/** Hatchings, so that nothing is told by colour alone. */
const hatchings = () => s("defs", [["lost", 5, 45], ["back", 5, -45], ["parked", 7, 45], ["earlier", 5, -45]].map(([name, size, turn]) =>
	s("pattern", { id: "hatch-" + name, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` }, lineAt(0, 0, 0, size, "hatch-" + name))));
const hatched = (x, y, width, height, name, attrs) => rectAt(x, y, width, height, "", { fill: `url(#hatch-${name})`, ...attrs });

const DAY_S = 86400;
const POWERS = [["2^31", 31n, "a signed 32-bit column is full"], ["2^53", 53n, "JavaScript begins to round"], ["2^63", 63n, "a signed 64-bit column is full"]];
const TIMES = [0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000];
const PARTS = [["used", "given out"], ["stock", "in memory"], ["lost", "lost"], ["back", "given back"]];
const MOVED = {
	moving: "It gives out nothing until it is moved.",
	beside: "It serves beside the original, which its numbers are taken out of.",
	here: "It was moved here.",
	moved_back: "It was moved back: the original gives the numbers.",
};

/** The limits ahead, the bound last: what they are called, how many numbers away, and what happens there. */
const limits = (sequence) => {
	const { by, up, bound, at } = placeOf(sequence);
	const name = up ? "the maximum" : "the minimum";
	const end = { name, limit: bound, what: sequence.cycle ? "it begins again and repeats its numbers" : "it gives out no more" };
	const found = POWERS.map(([text, power, what]) => ({ name: up ? text : "−" + text, limit: up ? (1n << power) - 1n : -(1n << power), what }));
	const same = found.find((one) => one.limit === bound);
	if (same) end.name = `${same.name}, ${name}`;
	return [...found.filter(({ limit }) => (up ? limit < bound : limit > bound)), end].map((one) => ({ ...one, away: (one.limit - at) / by }));
};
const seconds = (limit, rate) => Number(limit.away) / rate;
const grade = (left) => (left < YEAR_S ? "bad" : left < 5 * YEAR_S ? "warn" : "good");
const day = (left) => {
	const date = new Date(Date.now() + left * 1000);
	return left < 2 * DAY_S ? dateOf(date) : date.toISOString().slice(0, 10);
};

/** When it ends if it continues at so many times its rate: the slider, the sentence and the line of time. */
const forecast = (query) => {
	let sequence = null;
	let rate = null; // numbers a second; null: not known
	const factor = () => TIMES[slider.value];
	const slider = h("input", { type: "range", max: TIMES.length - 1, label: "The rate to reckon with", oninput: () => { setQuery({ times: factor() }); draw(); } });
	const [said, reading, ends, table] = [h("output.sentence"), h("span"), div(""), div("")];
	slider.value = max(TIMES.indexOf(Number(query.times)), 3 * !query.times);

	const draw = () => {
		const perSecond = (rate ?? 1) * factor();
		const found = limits(sequence);
		const next = found.find((limit) => limit.away > 0n) ?? found.at(-1);
		const left = seconds(next, perSecond);
		const pace = !rate ? "At " + fmt.rate(perSecond) : `At ${factor() === 1 ? "today's rate" : factor() + " times the rate of today"} (${fmt.rate(perSecond)})`;
		said.textContent = pace + (next.away <= 0n ? " it is at its end." : ` it reaches ${next.name}, where ${next.what}, ${left < 7000 * YEAR_S ? `in ${fmt.span(left)}: on ${day(left)}.` : `only in ${fmt.span(left)}.`}`);
		reading.textContent = rate ? "× " + factor() : fmt.rate(perSecond);
		slider.setAttribute("aria-valuetext", said.textContent);
		putIn(table, tableOf(["Limit", "Number#", "In#", "On#"], found.map((limit) => {
			const left = seconds(limit, perSecond);
			const passed = limit.away <= 0n;
			return [limit.name, int(limit.limit), h("span", { class: passed ? "" : grade(left) }, passed ? "passed" : fmt.span(left)), passed || left > 7000 * YEAR_S ? "–" : day(left)];
		}), "Limits ahead"));
		putIn(ends, ruler(found, perSecond));
	};

	// From an hour to a million years, each power of ten as wide as the next.
	const ruler = (found, perSecond) => {
		const least = Math.log(3600);
		const x = (left) => 2 + 96 * max(0, min(1, (Math.log(max(left, 1)) - least) / (Math.log(1e6 * YEAR_S) - least)));
		const zone = (from, to, name) => rectAt(x(from) + "%", 26, x(to) - x(from) + "%", 6, "zone " + name);
		return svgOf(said.textContent, { width: "100%", height: 56 }, zone(1, YEAR_S, "bad"), zone(YEAR_S, 5 * YEAR_S, "warn"), zone(5 * YEAR_S, 1e6 * YEAR_S, "good"),
			found.map((limit) => [limit, seconds(limit, perSecond)]).filter(([, left]) => left > 0 && left < 1e6 * YEAR_S).map(([limit, left]) => s("g", { class: "mark " + grade(left) },
				s("circle", { cx: x(left) + "%", cy: 29, r: 6 }), textAt(x(left) + "%", 14, limit.name.replace(/, .*/, ""), x(left) < 10 ? "start" : x(left) > 85 ? "end" : "middle", ""))),
			[[DAY_S, "1 day"], [YEAR_S, "1 year"], [100 * YEAR_S, "100 years"], [1e6 * YEAR_S, "1 M years"]].map(([at, text]) => textAt(x(at) + "%", 50, text, at > 1e5 * YEAR_S ? "end" : "middle")));
	};

	return { box: cardOf("When it ends", said, div("slide", slider, reading), ends, table), set(document, known) {
		sequence = document;
		rate = known;
		draw();
	} };
};

/** What became of a block: what is neither given out, nor lost, nor given back is in memory still. */
const parts = ({ count, used, lost, given_back: back }) => ({ used, stock: max(0, count - used - lost - back), lost, back });
const tell = (of) => PARTS.filter(([part]) => of[part] > 0).map(([part, text]) => `${int(of[part])} ${text}`).join(", ");
const area = (part, ...place) => (part === "lost" || part === "back" ? [rectAt(...place, "under " + part), hatched(...place, part)] : rectAt(...place, part));

/** The blocks on a line of time, and below each how long the store took. */
const blocks = (life) => {
	let list = [];
	const [plot, told, key, note] = [div("blocks"), div("told"), h("ul.key"), para("hint")];
	const all = div("", plot, key, told);
	const say = (block) => putIn(told, strongOf(`${int(block.first)} – ${int(block.last)}`), h("span", tell(parts(block))), softText("reserved ", fmt.time(block.at), `, the store took ${fmt.us(block.took_us)}`));

	const draw = (width = plot.clientWidth) => {
		if (!width || !list.length) return;
		const had = plot.querySelector("g:focus")?.dataset.first;
		const [high, low] = [150, 46];
		const at = list.map((block) => Date.parse(block.at));
		const until = max(Date.now(), at.at(-1) + 1000);
		const scale = (ms) => width * (ms - at[0]) / (until - at[0]);
		const evenly = at.filter((ms, i) => scale(at[i + 1] ?? until) - scale(ms) < 3).length > list.length / 3;
		const most = max(...list.map((block) => block.count));
		const slowest = max(...list.map((block) => block.took_us), 1);
		const bars = list.map((block, i) => {
			const x = evenly ? width * i / list.length : scale(at[i]);
			const wide = max(2, evenly ? min(60, width / list.length - 1.5) : scale(at[i + 1] ?? until) - x - 1.5);
			const tall = max(10, high * block.count / most);
			const of = parts(block);
			let y = high;
			const stack = PARTS.map(([part]) => {
				const share = tall * of[part] / max(1, block.count);
				y -= share;
				return share > 0 && area(part, x, y, wide, share);
			});
			return s("g", { role: "img", dataset: { first: block.first }, label: `${int(block.first)} to ${int(block.last)}: ${tell(of)}; reserved ${dateOf(block.at)}, the store took ${fmt.us(block.took_us)}`,
				onpointerenter: () => say(block), onfocus: () => say(block) }, rectAt(x - 0.75, 0, wide + 1.5, high + low + 20, "hit"), stack, rectAt(x, high - tall, wide, tall, "frame"),
			rectAt(x, high + 18, wide, max(1.5, low * block.took_us / slowest), "took"));
		});
		const foot = high + low + 33;
		putIn(plot, drawing(width, foot + 3, { role: "group", label: "Blocks, the oldest first: left and right arrows go from one to the next" },
			hatchings(), lineAt(0, high + 0.5, width, high + 0.5, "axis"), bars, textAt(0, high + 13, "the store took up to " + fmt.us(slowest)),
			textAt(0, foot, evenly ? "the oldest first, evenly spaced" : dateOf(at[0]), "start"), textAt(width, foot, evenly ? "the newest" : "now", "end")));
		const turn = roving(bars);
		const again = bars.find((bar) => bar.dataset.first === had);
		turn(again ?? bars.at(-1));
		focusOn(again);
	};

	whenSized(plot, life, draw);
	return { box: cardOf("Its blocks", note, all), set(document) {
		list = document.blocks;
		all.hidden = !list.length;
		note.textContent = `${document.server} has reserved nothing of it since it started.`;
		if (!list.length) return;
		const sum = { used: 0, stock: 0, lost: 0, back: 0 };
		for (const block of list) for (const [part, n] of Object.entries(parts(block))) sum[part] += n;
		const took = list.map((block) => block.took_us).sort((a, b) => a - b);
		note.textContent = `${list.length === 1 ? "1 block" : int(list.length) + " blocks"} that ${document.server} remembers. The store took ${fmt.us(took[took.length >> 1])} for half of them, ${fmt.us(took.at(-1))} at most.`;
		putIn(key, PARTS.map(([part, text]) => h("li", drawing(14, 14, { "aria-hidden": true }, area(part, 0, 0, 14, 14)), `${int(sum[part])} ${text}`)));
		draw();
		if (!told.firstChild) say(list.at(-1));
	} };
};

const moved = (of) => of && cardOf("Where it is in a move", h("p", MOVED[of.is] ?? of.is),
	factList([of.source && ["The original", codeOf(of.source)], of.key && ["Its key there", codeOf(of.key)], ["The move", link("#/move", of.id)]]));
const defined = (sequence) => cardOf("What it is", factList([["Start", "start"], ["Increment", "increment"], ["Smallest", "min"], ["Largest", "max"]].map(([name, key]) => [name, int(sequence[key])]).concat([["At its end", sequence.cycle ? "it begins again: its numbers repeat" : "it gives out no more"],
	["Gaps", sequence.gap === "none" ? "none: every answer waits for its own sync" : `one crash loses ${int(sequence.max_gap)} numbers at most`], ["Order", sequence.order]])));
const tile = (name, what, more, title) => h("div.tile", { title }, softText(name), strongOf(what), more && softText(more));

const showSequence = async (root, name, query, life, known) => {
	const path = "/v1/sequences/" + seg(name);
	const ends = forecast(query);
	const made = blocks(life);
	const [tiles, definition, move, wrong, blocks_wrong] = [div("tiles"), div(""), div(""), div(""), div("")];
	let sequence = null;
	let top = null; // what /v1/top knows of it

	const draw = () => {
		if (!sequence) return;
		const now = live.frame?.busiest?.find((busy) => busy.name === name)?.per_second ?? top?.per_second;
		const today = sequence.forecast?.per_second;
		putIn(tiles, tile("Last number", int(sequence.last), sequence.last == null && "none is known to be given out"),
			tile("Now, this server", now != null ? fmt.rate(now) : top?.stock ? "idle" : "not in use here", today == null ? "no rate of the last day" : `all servers, over the last day: ${fmt.rate(today)}`),
			top?.stock != null && tile("In memory here", int(top.stock), top.stock_s != null && `for ${fmt.span(top.stock_s)} without the store`),
			top?.lost != null && tile("Lost", int(top.lost), sequence.gap === "none" ? "a crash loses none" : `one crash loses ${int(sequence.max_gap)} at most`, "known to this process"));
		ends.set(sequence, today || now || null);
	};

	live.on(draw, life);
	await repeated(5, life, async () => {
		sequence = await get(path, life);
		known(true);
		if (!tiles.isConnected) putIn(root, wrong, tiles, move, ends.box, made.box, blocks_wrong, definition);
		// What this server knows of its use says more, and is not worth an error.
		top = (await get("/v1/top", life, { by: "name", contains: name }).catch(() => null))?.sequences.find((one) => one.name === name);
		putIn(wrong);
		putIn(definition, defined(sequence));
		putIn(move, moved(sequence.moved));
		draw();
		try {
			made.set(await get(path + "/blocks", life));
			putIn(blocks_wrong);
		} catch (error) { showError(blocks_wrong, error); }
	}, (error) => {
		if (error.status === 404) known(false);
		showError(tiles.isConnected ? wrong : root, error);
	});
};
