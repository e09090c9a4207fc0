// The window map: time across, workers down, who holds which worker until when.

const WORKERS = 100; // on a page
const DAY = 1440 * MINUTE;
const STEPS = [1000, 5000, 15000, 30000, ...[1, 5, 15, 30, 60, 180, 360, 720].map((n) => n * MINUTE), ...[1, 7, 30, 91, 365, 3650].map((n) => n * DAY)];
const IS = { held: "held", passed: "passed", released: "released", parked: "parked far ahead by a wrong clock", earlier: "taken over since" };

const choosePool = async (root, life) => {
	const { pools, next } = await get("/v1/pools", life, { limit: 1000 });
	if (!pools.length) return root.append(empty("There is no pool.", "A pool is a layout of ids and its workers: mint pool create NAME"));
	putIn(root, para("soft", "Who holds which worker, until when? Choose a pool" + (next ? ` of the first ${int(pools.length)}.` : ".")), tableOf(["Pool", "Kind", "Workers#", "Held#", "Parked#", "Worker here#", "A window#", "Ids end#"], pools.map((pool) => [link("#/map/" + seg(pool.name), pool.name),
		pool.layout?.match(/;name=([^;]+)/)?.[1] ?? pool.kind, int(pool.workers), int(pool.workers_held), pool.parked ? tagOf(int(pool.parked.workers), "warn") : "–", pool.worker ?? "–", fmt.span(pool.window_ms / 1000), fmt.time(pool.ends)]), "Pools"));
};

const called = (one) => one.name || one.owner;
const windowLabel = (one) => `worker ${one.worker}, ${called(one)}: ${IS[one.is] ?? one.is}, ${dateOf(one.from_ms)} to ${dateOf(one.until_ms)}${one.ours ? ", held by this server" : ""}`;
const signed = (by_s) => `${by_s < 0 ? "−" : "+"}${abs(by_s)} s`;
const keyOf = (one) => [one.worker, one.from_ms, one.is === "earlier"].join();
const bodyOf = (is, color, ...place) => [rectAt(...place, "body " + color), (is === "parked" || is === "earlier") && hatched(...place, is)];
const swatch = (is, color = "c7") => drawing(22, 14, { "aria-hidden": true, class: "win " + is }, bodyOf(is, color, 0, 0, 22, 14));

const showMap = async (root, name, query, life) => {
	const path = "/v1/pools/" + seg(name);
	let page = null; // what is shown
	let got = 0; // when, by the steady clock of this browser
	let from = Number(query.from) || 0;
	const before = []; // where earlier pages began
	let view = query.until > query.since ? [Number(query.since), Number(query.until)] : null; // [first, last] in milliseconds; null: around now
	let servers = []; // of the store
	let noted = 0;
	let sought = query.worker == null ? null : Number(query.worker);
	let picked = null; // the key of the window that is told about
	let everyone = null; // all windows, for the overview
	let asked = 0; // counts, so that a late answer replaces nothing

	const plot = h("div.map", { tabindex: 0, role: "group", label: "Windows over time. Plus and minus zoom, left and right arrows move in time, 0 goes back to now, f shows all; the tab key goes to the windows." });
	const told = div("told", softText("Point at a window, or go to one with the tab key and the arrows."));
	const [legend, overview, wrong, steps, status] = [h("ul.key"), div(""), div(""), para("hint"), h("span.soft", { role: "status" })];
	const fail = (error) => showError(page ? wrong : root, error);

	const now = () => page.now_ms + (performance.now() - got);
	const span = () => view ?? [now() - 2.5 * page.window_ms, now() + 1.5 * page.window_ms];
	const look = (next) => {
		view = next;
		draw();
		clearTimeout(noted); // browsers refuse an address that changes all the time
		noted = setTimeout(() => { if (!life.aborted) setQuery({ since: view && Math.round(view[0]), until: view && Math.round(view[1]) }); }, 300);
	};
	const zoom = (by, at = 0.5) => {
		const [first, last] = span();
		const wide = max(2000, min(200 * 365 * DAY, (last - first) * by));
		const middle = first + (last - first) * at;
		look([middle - wide * at, middle + wide * (1 - at)]);
	};
	const pan = (share) => {
		const [first, last] = span();
		look([first, last].map((ms) => ms + share * (last - first)));
	};
	const toNow = () => look(null);
	const fit = () => {
		const of = page.windows.flatMap((one) => [one.from_ms, one.until_ms]).concat(now());
		const [first, last] = [min(...of), max(...of)];
		look([first - (last - first) * 0.03, last + (last - first) * 0.03]);
	};
	const gutterOf = (width) => (width > 700 ? 150 : 76);

	const release = (one) => confirmTyped({ title: `Release worker ${one.worker}`, word: String(one.worker), label: "Release",
		text: [h("p", one.until_ms > now() ? ["This window of ", called(one), " lasts until ", fmt.time(one.until_ms), ": until then this is refused."]
			: `The window of ${called(one)} in pool ${name} is freed, so that anyone may take the worker at once. Whatever held it must not mint any more.`),
		copyBox(languages(curl("DELETE", `${path}/windows/${one.worker}`, {}), "", mint("pool release", [], name, String(one.worker))))],
		act: async () => {
			await api("DELETE", `${path}/windows/${one.worker}`, { body: {} });
			notice(`worker ${one.worker} is free`, "good");
			load().catch(fail);
		} });

	let said = null; // the window that is told about, as it was then
	const say = (one) => {
		said = one;
		putIn(told, strongOf(`Worker ${one.worker}`), swatch(one.is, ownerColor(one.owner)),
		h("span", one.name || "no name", one.ours && " (this server)"), h("span", IS[one.is] ?? one.is),
		softText(fmt.time(one.from_ms), " – ", fmt.time(one.until_ms), ` (${fmt.ago(one.until_ms)})`), softText("owner ", codeOf(one.owner)),
		one.version != null && softText(`version ${one.version}`), one.first_id && softText("ids ", codeOf(one.first_id), " – ", codeOf(one.last_id)),
		softText("written ", fmt.time(one.written_ms)), canChange() && one.is !== "earlier" && one.is !== "released" && buttonTo(() => release(one), "Release …", { class: "small push" }));
	};
	/** What is told goes with the time; whoever acted there is on the map again. */
	const sayAgain = () => {
		const one = said && page.windows.find((one) => keyOf(one) === keyOf(said));
		if (!one || one.is === said.is && (one.version === said.version || inUse(told))) return;
		const had = told.contains(focused());
		say(one);
		if (had) plot.querySelector(`[data-key="${keyOf(one)}"]`)?.focus();
	};
	const pick = (one) => {
		picked = picked === keyOf(one) ? null : keyOf(one);
		say(one);
		draw();
	};

	const draw = (width = plot.clientWidth) => {
		if (!page || !width) return;
		const had = focused()?.closest?.(".map g[data-key]")?.dataset.key;
		const windows = page.windows;
		const workers = [...new Set(windows.map((one) => one.worker))];
		const gutter = gutterOf(width);
		const tall = workers.length <= 30 ? 22 : workers.length <= 60 ? 16 : 13;
		const [first, last] = span();
		const x = (ms) => gutter + (width - gutter) * (ms - first) / (last - first);
		// A small space where workers between are free.
		let y = 26;
		const line = new Map(workers.map((worker, i) => [worker, y += i === 0 ? 4 : worker === workers[i - 1] + 1 ? tall : tall + 4]));
		const high = y + tall + 8;
		const step = STEPS.find((ms) => (last - first) / ms < (width - gutter) / 90) ?? STEPS.at(-1);
		const zone = new Date().getTimezoneOffset() * MINUTE;
		const ticks = [];
		for (let at = ceil((first - zone) / step) * step + zone; at < last; at += step) ticks.push(at);
		const written = (at) => {
			const minute = fmt.clock(at, "minute");
			return step >= DAY || minute === "00:00" ? dateOf(at).slice(0, 10) : step >= MINUTE ? minute : fmt.clock(at);
		};

		const marks = windows.map((one) => {
			const top = line.get(one.worker) + 2;
			const [left, right] = [one.from_ms, one.until_ms].map((ms) => max(gutter - 4, min(width + 4, x(ms))));
			const wide = max(2, right - left);
			const out = right <= gutter ? -1 : left >= width ? 1 : 0; // out of sight: before, after
			return s("g", { class: `win ${one.is}`, role: "button", label: windowLabel(one), "aria-pressed": String(keyOf(one) === picked), dataset: { key: keyOf(one) },
				onpointerenter: () => { if (!picked) say(one); }, onfocus: () => say(one), onclick: () => pick(one),
				onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(one); } } },
			out ? s("path", { d: `M${out < 0 ? gutter + 2 : width - 2} ${top + tall / 2 - 2}l${-6 * out} -4v8z`, class: ownerColor(one.owner) })
				: [bodyOf(one.is, ownerColor(one.owner), left, top, wide, tall - 4), one.ours && rectAt(left, top + tall - 7, wide, 3, "mine")]);
		});
		const here = x(now());
		const stepped = page.steps.map((one) => x(one.at_ms)).filter((at) => at > gutter && at < width).map((at) => lineAt(at, 26, at, high, "step"));
		const most = Math.floor((gutter - 42) / 6.6);
		const names = workers.map((worker) => {
			const text = called(windows.findLast((one) => one.worker === worker));
			const at = line.get(worker) + tall / 2 + 4;
			return [textAt(36, at, worker, "end"), textAt(42, at, text.length > most ? text.slice(0, most - 1) + "…" : text), worker === sought && rectAt(0, line.get(worker), width - 1, tall, "sought")];
		});
		putIn(plot, drawing(width, high + 18, null, hatchings(), s("clipPath", { id: "inside" }, rectAt(gutter, 0, width - gutter, high + 18)),
			workers.map((worker) => lineAt(gutter, line.get(worker) + tall / 2, width, line.get(worker) + tall / 2, "axis")),
			s("g", { "clip-path": "url(#inside)" }, ticks.map((at) => [lineAt(x(at), 20, x(at), high, "axis"), x(at) > gutter + 16 && x(at) < width - 30 && textAt(x(at), 14, written(at), "middle")]), marks, stepped,
				s("g.now", lineAt(here, 20, here, high), textAt(here, high + 12, "now", "middle", ""))), names));
		const turn = roving(marks, (at, key) => {
			const by = { ArrowDown: 1, ArrowUp: -1 }[key];
			const to = by && windows.findIndex((one) => one.worker === workers[workers.indexOf(windows[at].worker) + by]);
			return to === -1 ? at : to;
		});
		const of = (key) => marks.find((mark) => mark.dataset.key === key);
		turn(of(had ?? picked) ?? marks[0]);
		focusOn(of(had));
	};

	const drawLegend = () => {
		const owners = new Map(servers.filter((one) => one.lives).map((one) => [one.instance, { name: one.name, n: 0 }]));
		for (const one of everyone ?? page.windows) if (one.is === "held" || one.is === "parked") owners.set(one.owner, { name: called(one), n: (owners.get(one.owner)?.n ?? 0) + 1 });
		const list = [...owners].sort((a, b) => b[1].n - a[1].n);
		const silent = (token) => servers.some((one) => one.instance === token && !one.lives);
		putIn(legend, list.slice(0, 24).map(([token, { name, n }]) => h("li", { title: token }, dotOf(ownerColor(token)), `${name}: ${int(n)}${silent(token) ? ", silent" : ""}`)), list.length > 24 && h("li", `and ${int(list.length - 24)} more`));
	};

	/** Every worker of the layout as a small square, or as many as there is room for. */
	const drawOverview = (width = overview.clientWidth) => {
		if (!everyone || !width || page.workers <= WORKERS) return;
		const side = page.workers <= 1024 ? 10 : 7;
		const across = Math.floor(width / side);
		const each = ceil(page.workers / 2048);
		const place = (worker, size = side - 1) => [(Math.floor(worker / each) % across) * side, Math.floor(worker / each / across) * side, size, size];
		const high = ceil(page.workers / each / across) * side;
		const windows = everyone.filter((one) => one.is !== "earlier");
		const sum = Object.keys(IS).map((is) => [windows.filter((one) => one.is === is).length, is]).filter(([n]) => n).map(([n, is]) => `${int(n)} ${is}`).join(", ") || "none held";
		putIn(overview, para("soft", `${int(page.workers)} workers: ${sum}. ${each > 1 ? `A square is ${each} of them. ` : ""}Click a square to go there.`),
			drawing(width, high, { role: "img", label: `All workers: ${sum}`, class: "overview", onclick: (event) => {
				const box = event.currentTarget.getBoundingClientRect();
				find((Math.floor((event.clientY - box.top) / side) * across + Math.floor((event.clientX - box.left) / side)) * each);
			} }, s("pattern", { id: "free", width: side, height: side, patternUnits: "userSpaceOnUse" }, rectAt(0, 0, side - 1, side - 1, "free")), rectAt(0, 0, across * side, high, "", { fill: "url(#free)" }),
			windows.map((one) => s("g", { class: "win " + one.is }, bodyOf(one.is, ownerColor(one.owner), ...place(one.worker))))));
	};

	const load = async () => {
		const turn = ++asked;
		const [next_page, cluster] = await Promise.all([get(path + "/map", life, { from, limit: WORKERS }), get("/v1/cluster", life).catch(() => null)]);
		if (turn !== asked) return;
		page = next_page;
		servers = cluster?.servers ?? servers;
		got = performance.now();
		putIn(wrong);
		const workers = new Set(page.windows.map((one) => one.worker)).size;
		status.textContent = workers ? `${int(workers)} workers with windows, ${page.windows[0].worker} to ${page.windows.at(-1).worker}` : from ? "no windows from here on" : "nobody has held a worker yet";
		steps.textContent = page.steps.length ? `The wall clock of this server was stepped: ${page.steps.map((one) => `${signed(one.by_s)} at ${dateOf(one.at_ms)}`).join(", ")}.` : "";
		back.disabled = !from;
		next.disabled = page.next_from == null;
		const { next_from } = page;
		if (next_from == null && !from) everyone = page.windows;
		else everyone = everyone?.filter((one) => one.worker < from || (next_from != null && one.worker >= next_from)).concat(page.windows).sort((a, b) => a.worker - b.worker);
		draw();
		sayAgain();
		drawOverview();
		drawLegend();
	};
	const loadAll = async () => {
		if (!page || (page.next_from == null && !from)) return;
		const all = [];
		for (let at = 0; at != null && all.length < 20000;) {
			const part = await get(path + "/map", life, { from: at, limit: 1000 });
			all.push(...part.windows);
			at = part.next_from;
		}
		everyone = all;
		drawOverview();
		drawLegend();
	};
	const turnTo = (at) => { from = at; setQuery({ from: at || null }); return load().catch(fail); };
	const find = async (worker) => {
		const last = page.workers - 1;
		putIn(found, !(worker <= last) && `That is no worker of this layout: they go from 0 to ${int(last)}.`);
		if (!(worker <= last)) return;
		sought = worker;
		setQuery({ worker });
		const here = () => page.windows.findLast((one) => one.worker === worker);
		if (!here()) {
			before.push(from);
			await turnTo(worker);
		}
		picked = here() ? keyOf(here()) : null;
		draw();
		if (here()) {
			say(here());
			plot.querySelector(".sought").scrollIntoView({ block: "nearest" });
		} else putIn(found, `Worker ${worker} is free: nobody has a window of it. ` + (page.windows.length ? "Shown is what comes after it." : "No later one has either."));
	};

	const back = buttonTo(() => turnTo(before.pop() ?? max(0, from - WORKERS)), "‹ Back", { label: "Back: workers before these" });
	const next = buttonTo(() => { before.push(from); turnTo(page.next_from); }, "Next ›", { label: "Next: workers after these" });
	const worker = h("input", { inputmode: "numeric", ...PLAIN, label: "Find worker", placeholder: "worker", value: query.worker ?? "" });
	const found = h("p.soft", { role: "status" });

	plot.addEventListener("keydown", (event) => {
		if (event.ctrlKey || event.metaKey || event.altKey || !page) return;
		const act = { "+": () => zoom(0.7), "=": () => zoom(0.7), "-": () => zoom(1.4), ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), 0: toNow, f: fit }[event.key];
		if (!act) return;
		event.preventDefault();
		act();
	});
	// The wheel belongs to the page until the map has the focus: the map is often taller than the screen.
	plot.addEventListener("wheel", (event) => {
		if (!page || !(event.ctrlKey || plot.contains(focused()))) return;
		event.preventDefault();
		const { left, width } = plot.getBoundingClientRect();
		const gutter = gutterOf(width);
		if (abs(event.deltaX) > abs(event.deltaY)) pan(event.deltaX / width);
		else zoom(Math.exp(max(-50, min(50, event.deltaY)) / 200), max(0, min(1, (event.clientX - left - gutter) / (width - gutter))));
	}, { passive: false });
	let grip = null; // where the pointer took hold, and what was shown then
	plot.addEventListener("pointerdown", (event) => { if (page && !event.button) grip = [event.clientX, ...span()]; });
	addEventListener("pointermove", (event) => {
		if (!grip) return;
		const [x, first, last] = grip;
		const by = (event.clientX - x) / (plot.clientWidth - gutterOf(plot.clientWidth));
		if (view || abs(by) > 0.005) look([first, last].map((ms) => ms - by * (last - first)));
	}, { signal: life });
	for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { grip = null; }, { signal: life });

	const ifShown = (act) => () => page && act();
	putIn(root, wrong, h("section.card",
		div("bar", [["−", () => zoom(1.4), "Zoom out"], ["+", () => zoom(0.7), "Zoom in"], ["‹", () => pan(-0.3), "Earlier"], ["›", () => pan(0.3), "Later"], ["Now", toNow, "Now"], ["Fit all", fit, "Fit all"]]
			.map(([text, act, name]) => buttonTo(ifShown(act), text, { label: name })),
		h("form.find.push", { onsubmit: (event) => { event.preventDefault(); if (page) find(/^\d+$/.test(worker.value.trim()) ? Number(worker.value) : NaN); } }, worker, h("button", "Find"))), found,
		plot, told, h("ul.key", Object.keys(IS).map((is) => h("li", swatch(is), IS[is])), h("li", drawing(22, 14, { "aria-hidden": true }, rectAt(0, 9, 22, 3, "mine")), "this server"), h("li", "◂ ▸ out of sight")), steps,
		div("bar", back, next, status, link("#/map", "all pools", { class: "push" }))),
	cardOf("Owners", legend, overview));
	whenSized(plot, life, draw);
	whenSized(overview, life, drawOverview);
	await repeated(3, life, load, fail);
	if (life.aborted || !page) return;
	if (sought !== null) await find(sought);
	await repeated(30, life, loadAll, fail);
};

addView({
	name: "map", nav: true, title: (args) => (args[0] ? "Windows of " + args[0] : "Window map"),
	show: (root, args, query, life) => (args[0] === undefined ? choosePool(root, life) : showMap(root, args[0], query, life)),
});
