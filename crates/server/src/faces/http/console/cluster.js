// The servers of the store, their clocks, and what the store's class rests on.

/** Offsets as whiskers: each clock minus ours, and how far that may be wrong. */
const whiskers = (servers, width) => {
	const known = servers.filter((one) => one.offset_s != null);
	if (known.every((one) => one.ours) || !width) return null;
	const most = max(0.001, ...known.map((one) => abs(one.offset_s) + (one.offset_error_s ?? 0))) * 1.1;
	const named = min(180, width / 3);
	// Milliseconds and seconds on one scale: even near 0, then each power of ten as wide as the next.
	const bend = (seconds) => Math.asinh(seconds * 1000);
	const x = (seconds) => named + (bend(seconds) / bend(most) + 1) / 2 * (width - named - 12);
	const row = 30;
	const tall = known.length * row + 26;
	let edge = 0;
	const ticks = [1, 10, 100, 1e3, 1e4, 1e5, 1e6].map((ms) => ms / 1000).filter((at) => {
		const fits = at <= most && x(at) - x(0) - edge > 56;
		if (fits) edge = x(at) - x(0);
		return fits;
	});
	return s("svg", { width, height: tall, role: "img", label: known.map((one) => `${one.name}: ${fmt.signed(one.offset_s)}`).join(", ") },
		s("path.axis", { d: `M${x(0)} 0V${tall - 22}` }),
		[0, ...ticks, ...ticks.map((at) => -at)].map((at) => textAt(x(at), tall - 6, fmt.signed(at), x(at) > width - 30 ? "end" : "middle")),
		known.map((one, i) => {
			const y = i * row + 15;
			const error = one.offset_error_s ?? 0;
			const [from, to] = [x(one.offset_s - error), x(one.offset_s + error)];
			const surely = abs(one.offset_s) > error + 0.5;
			return s("g", { class: "whisker" + (surely ? " bad" : "") }, s("title", `${one.name}: ${fmt.signed(one.offset_s)} ± ${fmt.span(error)}`),
				s("text", { x: named - 10, y: y + 4, "text-anchor": "end" }, one.name.length > named / 7.5 ? one.name.slice(0, named / 8) + "…" : one.name),
				s("path", { d: `M${from} ${y}H${to}M${from} ${y - 6}v12M${to} ${y - 6}v12` }), s("circle", { cx: x(one.offset_s), cy: y, r: 5 }));
		}));
};

const rehearse = (shown) => {
	const seconds = h("input", { type: "number", min: 1, max: 600, value: 30, required: true, oninput: () => draw() });
	const box = copyBox([]);
	const draw = () => box.set(languages(curl("PUT", "/v1/rehearsal", { seconds: Number(seconds.value) })));
	draw();
	return confirmTyped({
		title: "Rehearse an outage", word: "rehearse", label: "Begin",
		text: [h("p", "This server treats its store as if it were away. What is in memory goes on; what ends before that is refused, for real. Other servers notice nothing."),
			labelled("For how many seconds (1 to 600)", seconds), box],
		act: async () => {
			await api("PUT", "/v1/rehearsal", { body: { seconds: Number(seconds.value) } });
			notice("The store is treated as away. See what happens under Now.", "good");
			shown();
		},
	});
};

const showCluster = async (root, args, query, life) => {
	let cluster = null;
	const find = h("input", { type: "search", placeholder: "7, or default:7", label: "Find the server that holds a worker", value: query.worker ?? "", ...PLAIN, oninput: () => { setQuery({ worker: find.value || null }); draw(); } });
	const found = h("p", { role: "status", class: "found" });
	const [servers, clocks, store, failed] = [div("scroll"), h("div"), h("div"), h("div")];
	const load = async (gently) => {
		const found = await get("/v1/cluster", life);
		putIn(failed);
		// A link or a button that has the focus is not taken from under it.
		if (gently && cluster && (inUse(servers) || inUse(store))) return;
		cluster = found;
		draw();
		drawClocks();
	};
	const drawClocks = () => { if (cluster) clocks.replaceChildren(whiskers(cluster.servers, clocks.clientWidth) ?? empty("No other server is known yet.", "With a second one on the same store, their clocks are compared here.")); };
	const part = (text) => { const at = text.lastIndexOf(":"); return [text.slice(0, at), text.slice(at + 1)]; };
	const toMap = (worker, text, attrs) => link(hashOf("map", [part(worker)[0]], { worker: part(worker)[1] }), text, attrs);
	const fits = (worker) => {
		const wanted = find.value.trim().replace(/^worker\s+/i, "");
		return wanted !== "" && (worker === wanted || part(worker)[1] === wanted);
	};
	const draw = () => {
		if (!cluster) return;
		const away = live.frame?.store.up === false || cluster.servers.some((one) => !one.workers);
		const holders = cluster.servers.flatMap((one) => (one.workers ?? []).filter(fits).map((worker) => [one, worker]));
		putIn(found, holders.length ? holders.flatMap(([one, worker], i) => [i ? "; " : "", strongOf(one.name), " holds worker ", part(worker)[1], " of ", toMap(worker, part(worker)[0]), away ? " as last known: the store is away" : ""])
			: find.value.trim() ? (away ? "Not known while the store is away." : "No server that is known here holds it.") : "Type a worker to see which server holds it.");
		servers.replaceChildren(tableOf(["Server", "State", "Version", "Heard#", "Clock#", "Workers"], cluster.servers.map((one) => [
			[dotOf(ownerColor(one.instance)), " ", strongOf(one.name), one.ours && " (this one)", div("soft mono", one.instance)],
			tagOf(one.lives ? "lives" : "silent", one.lives ? "good" : "bad"),
			one.version ?? "–", one.ours ? "now" : fmt.span(one.heard_s) + " ago",
			one.offset_s == null ? "–" : fmt.signed(one.offset_s) + (one.offset_error_s == null ? "" : " ± " + fmt.span(one.offset_error_s)),
			one.workers?.length ? div("bar workers", one.workers.slice(0, 60).map((worker) => toMap(worker, worker, { class: fits(worker) ? "tag warn" : "tag" })), one.workers.length > 60 && softText(`and ${int(one.workers.length - 60)} more`)) : softText(away ? "not known" : "none"),
		]), "Servers of the store"));
		const left = cluster.rehearsal_left_s;
		putIn(store, factList([
			["Kind", cluster.scheme], ["Class", `${cluster.class}: ${CLASSES[cluster.class] ?? ""}`],
			["It rests on", cluster.evidence.length ? h("ul.evidence", cluster.evidence.map((line) => h("li", line))) : "nothing is known"],
			["Last failover", cluster.last_failover ?? "none that this server has seen"],
		]), left ? para("bar warn", `A rehearsal: treated as away for ${fmt.span(left)} more.`, canChange() && buttonTo(() => api("PUT", "/v1/rehearsal", { body: { seconds: 0 } }).then(() => load()).catch((error) => notice(error.detail, "bad")), "End it"))
			: canChange() && para("buttons", buttonTo(() => rehearse(load), "Rehearse an outage")));
	};
	root.append(failed, cardOf("", div("bar", h("label.check", h("span", "Who holds worker"), find), found)),
		cardOf("Servers", servers), div("cards", cardOf("Clocks, compared with this server’s", clocks), cardOf("Store", store)));
	whenSized(clocks, life, drawClocks);
	await repeated(3, life, () => load(true), (error) => showError(cluster ? failed : root, error));
};

addView({ name: "cluster", title: "Cluster", nav: true, show: showCluster });
