// Plots over time: one SVG each, drawn anew when its values, its width or its cursor change.

const COLORS = Array.from({ length: 12 }, (_, i) => "c" + i);
const PLOT = { left: 56, right: 10, top: 10, bottom: 22 };

/** 1, 2 or 5 times a power of ten: the step of an axis with about `wanted` steps. */
const niceStep = (span, wanted) => {
	const rough = span / wanted || 1;
	const power = 10 ** Math.floor(Math.log10(rough));
	return power * [1, 2, 5, 10].find((n) => n * power >= rough * 0.999);
};
const MINUTE = 60000;
const timeStep = (span, wanted) =>
	[10e3, 30e3, MINUTE, 2 * MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, 60 * MINUTE, 120 * MINUTE, 240 * MINUTE, 480 * MINUTE, 1440 * MINUTE]
		.find((step) => span / step <= wanted) ?? 7 * 1440 * MINUTE;

const save = (blob, name) => {
	const url = URL.createObjectURL(blob);
	h("a", { href: url, download: name }).click();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
};
/** As RFC 4180 has it; a text that a spreadsheet would run as a formula gets a quote in front. */
const csvCell = (value) => {
	const text = value == null ? "" : String(value);
	const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? "'" + text : text;
	return /[",\r\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
};
const saveCsv = (rows, name) =>
	save(new Blob([rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("")], { type: "text/csv" }), name + ".csv");

/**
 * A chart of `series` (`{key, label, values, color}`, values as many as `times`, `null` for not known) at `times` in ms.
 * `marks` are `{at, text}`. `set({series, times, marks})` shows other values.
 */
const plot = ({ title, unit = "", series = [], times = [], stacked = false, height = 190, format = fmt.si, marks = [], none }) => {
	const off = new Set();
	let width = 0;
	let at = null; // the cursor: an index of `times`
	const name = title.replace(/\W+/g, "-").toLowerCase();
	const canvas = s("svg", { height, "aria-hidden": true });
	const tip = h("div.tip", { hidden: true });
	const given = new Map();
	/** Its own colour, or the first one that no other series of this plot has. */
	const color = ({ key, color: own }) => {
		if (!given.has(key)) given.set(key, [own, ...COLORS].find((one) => one && ![...given.values()].includes(one)) ?? COLORS[given.size % 12]);
		return given.get(key);
	};
	const shown = () => series.filter((one) => !off.has(one.key));
	const area = h("div", {
		class: "area", tabindex: "0", role: "slider", label: title + ": a point in time", "aria-valuemin": 0,
		onpointermove: (event) => point(event), onpointerdown: (event) => point(event),
		onpointerleave: () => { if (focused() !== area) move(null); },
		onfocus: () => { if (at == null && area.matches(":focus-visible")) move(times.length - 1); },
		onblur: () => move(null),
		onkeydown: (event) => {
			const last = times.length - 1;
			const big = max(10, Math.round(last / 20));
			const to = { ArrowLeft: (at ?? last) - 1, ArrowRight: (at ?? -1) + 1, PageUp: (at ?? last) - big, PageDown: (at ?? last) + big, Home: 0, End: last, Escape: null }[event.key];
			if (to === undefined) return;
			event.preventDefault();
			move(to == null ? null : max(0, min(last, to)));
		},
	}, canvas, tip);

	const spanOf = () => (times.length ? [times[0], max(times.at(-1), times[0] + 1)] : [0, 1]);
	const xOf = (ms) => {
		const [from, until] = spanOf();
		return PLOT.left + (ms - from) / (until - from) * (width - PLOT.left - PLOT.right);
	};
	const point = (event) => {
		if (!times.length) return;
		const x = event.clientX - canvas.getBoundingClientRect().left;
		let low = 0;
		let high = times.length - 1;
		while (high - low > 1) {
			const mid = (low + high) >> 1;
			if (xOf(times[mid]) < x) low = mid; else high = mid;
		}
		move(x - xOf(times[low]) < xOf(times[high]) - x ? low : high);
	};
	const move = (to) => { at = to; cursor(); };
	const exact = (value) => (value == null ? "not known" : format !== fmt.si ? format(value) : value < 100 ? round(value) : int(value));
	const rows = (index) => shown().map((one) => [one, one.values[index]]);

	const cursor = () => {
		canvas.querySelector(".cursor")?.remove();
		tip.hidden = at == null || !times.length;
		area.setAttribute("aria-valuemax", max(0, times.length - 1));
		area.setAttribute("aria-valuenow", at ?? max(0, times.length - 1));
		if (tip.hidden) return area.setAttribute("aria-valuetext", times.length ? "arrow keys move through time" : "no values yet");
		at = min(at, times.length - 1);
		const x = xOf(times[at]);
		canvas.append(s("path.cursor", { d: `M${x} ${PLOT.top}V${height - PLOT.bottom}` }));
		const told = rows(at);
		const total = stacked && told.length > 1 ? told.reduce((sum, [, value]) => sum + (value ?? 0), 0) : null;
		tip.replaceChildren(h("b", fmt.clock(times[at], times.at(-1) - times[0] > 20 * 60 * MINUTE ? "both" : "time")),
			h("table", h("tbody",
				(stacked ? told.reverse() : told).map(([one, value]) => h("tr", h("td", dotOf(color(one)), " ", one.label), h("td.num", exact(value)))),
				total != null && h("tr", h("td", "together"), h("td.num", exact(total))))));
		tip.style.left = x < width / 2 ? x + 12 + "px" : "auto";
		tip.style.right = x < width / 2 ? "auto" : width - x + 12 + "px";
		area.setAttribute("aria-valuetext", fmt.clock(times[at]) + ": " + told.map(([one, value]) => one.label + " " + exact(value)).join(", "));
	};

	const draw = () => {
		if (!width) return;
		canvas.setAttribute("width", width);
		const list = shown();
		const sums = stacked ? times.map(() => 0) : null;
		const layers = list.map((one) => ({ one, low: sums && [...sums], top: one.values.map((value, i) => (sums ? (sums[i] += value ?? 0) : value)) }));
		const top = layers.reduce((most, layer) => layer.top.reduce((m, v) => (v > m ? v : m), most), 0);
		const least = stacked ? 0 : layers.reduce((m, layer) => layer.top.reduce((n, v) => (v != null && v < n ? v : n), m), 0);
		const step = niceStep(top - least || 1, max(2, Math.round(height / 55)));
		const high = ceil((top || (least < 0 ? 0 : 1)) / step - 1e-9) * step;
		const low = Math.floor(least / step) * step;
		const floor = height - PLOT.bottom;
		const y = (value) => floor - (value - low) / (high - low || 1) * (floor - PLOT.top);
		const parts = [];
		for (let tick = low; tick <= high + step / 2; tick += step) {
			const line = Math.round(y(tick)) + 0.5;
			parts.push(s("path.grid", { d: `M${PLOT.left} ${line}H${width - PLOT.right}` }),
				s("text", { x: PLOT.left - 8, y: line + 4, "text-anchor": "end" }, format(abs(tick) < step / 1e6 ? 0 : tick)));
		}
		if (times.length) {
			const [from, until] = spanOf();
			const gap = timeStep(until - from, max(2, (width - PLOT.left) / 90));
			const shift = new Date(from).getTimezoneOffset() * MINUTE;
			for (let tick = ceil((from - shift) / gap) * gap + shift; tick <= until; tick += gap) {
				if (xOf(tick) > width - 24) continue;
				parts.push(s("text", { x: xOf(tick), y: height - 4, "text-anchor": "middle" }, fmt.clock(tick, gap < MINUTE ? "time" : "minute")));
			}
			for (const mark of marks.filter((one) => one.at >= from && one.at <= until)) {
				const x = xOf(mark.at);
				const late = x > width - 150;
				parts.push(s("path.mark", { d: `M${x} ${PLOT.top}V${floor}` }),
					s("text.marked", { x: x + (late ? -4 : 4), y: PLOT.top + 10, "text-anchor": late ? "end" : "start" }, mark.text));
			}
		}
		for (const { one, top: tops, low: lows } of layers) {
			for (const [start, end] of stretches(one.values)) {
				const xs = (i) => xOf(times[i]).toFixed(1);
				let path = "";
				for (let i = start; i <= end; i++) path += (i === start ? "M" : "L") + xs(i) + " " + y(tops[i]).toFixed(1);
				if (stacked) {
					for (let i = end; i >= start; i--) path += "L" + xs(i) + " " + y(lows[i]).toFixed(1);
					parts.push(s("path", { class: "layer " + color(one), d: path + "Z" }));
				} else parts.push(s("path", { class: "line " + color(one), d: start === end ? path + "h1" : path }));
			}
		}
		if (!times.length || !series.length) {
			parts.splice(0, parts.length, s("text.none", { x: (width + PLOT.left) / 2, y: height / 2, "text-anchor": "middle" }, times.length ? none ?? "nothing in this time" : "no values yet"));
		}
		putIn(canvas, parts);
		cursor();
	};

	const legend = h("div.legend", { role: "group", label: title + ": what is shown" });
	let listed = null;
	const list = () => {
		const keys = JSON.stringify(series.map((one) => [one.key, one.label]));
		if (keys === listed) return; // a button under the pointer stays the same
		listed = keys;
		legend.hidden = series.length < 2;
		putIn(legend, series.map((one) => buttonTo((event) => {
			if (!off.delete(one.key)) off.add(one.key);
			event.currentTarget.setAttribute("aria-pressed", !off.has(one.key));
			draw();
		}, [dotOf(color(one)), " ", one.label], { class: "small", "aria-pressed": !off.has(one.key) })));
	};

	const table = h("div.scroll.values", { tabindex: "0", role: "region", label: title + ": values", hidden: true });
	const out = (label, what, onclick) => buttonTo(onclick, label, { class: "plain small", label: `${title}: ${what}` });
	const tabled = out("Table", "values as a table", () => {
		table.hidden = !table.hidden;
		tabled.setAttribute("aria-expanded", !table.hidden);
		// The last 120, as they were when it was opened: a table that changes cannot be read.
		table.replaceChildren(tableOf(["time", ...series.map((one) => one.label + "#")], times.slice(-120).map((_, i) => times.length - 1 - i)
			.map((i) => [fmt.clock(times[i]), ...series.map((one) => exact(one.values[i]))]), `${title}, ${unit}`));
	});
	tabled.setAttribute("aria-expanded", false);
	const figure = h("figure.plot",
		h("figcaption.bar", h("h3", title, unit && softText(" " + unit)),
			h("span.rest", tabled,
				out("SVG", "picture as SVG", () => save(picture(), name + ".svg")),
				out("PNG", "picture as PNG", () => savePng(picture(), width, name)),
				out("CSV", "values as CSV", () => saveCsv([["time", ...series.map((one) => one.key)],
					...times.map((ms, i) => [new Date(ms).toISOString(), ...series.map((one) => one.values[i])])], name)))),
		area, legend, table);

	/** What is seen, with its colours written out, its title and its legend. */
	const picture = () => {
		const copy = canvas.cloneNode(true);
		const mine = [...canvas.querySelectorAll("*")];
		[...copy.querySelectorAll("*")].forEach((node, i) => {
			const look = getComputedStyle(mine[i]);
			for (const key of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font-size", "font-family"]) node.setAttribute(key, look[key]);
			node.removeAttribute("class");
		});
		copy.querySelector(".cursor")?.remove();
		const ink = getComputedStyle(figure);
		const paper = getComputedStyle(figure.closest(".card") ?? document.body).backgroundColor;
		const words = { "font-family": "system-ui, sans-serif", "font-size": 13, fill: ink.color };
		const keys = [];
		let x = PLOT.left;
		let row = 0;
		for (const one of shown()) {
			const wide = 30 + one.label.length * 7.5;
			if (x + wide > width && x > PLOT.left) { x = PLOT.left; row += 1; }
			const y = height + 44 + row * 20;
			keys.push(s("rect", { x, y: y - 9, width: 10, height: 10, rx: 5, fill: getComputedStyle(document.documentElement).getPropertyValue("--" + color(one)).trim() }),
				s("text", { ...words, x: x + 15, y }, one.label));
			x += wide;
		}
		const tall = height + 56 + row * 20;
		const all = s("svg", { xmlns: SVG, width, height: tall, viewBox: `0 0 ${width} ${tall}` },
			s("rect", { width, height: tall, fill: paper }),
			s("text", { ...words, x: 8, y: 18, "font-weight": "bold" }, [title, unit, live.frame?.server].filter(Boolean).join(" · ")),
			s("g", { transform: "translate(0 26)" }, [...copy.childNodes]), keys);
		return new Blob([new XMLSerializer().serializeToString(all)], { type: "image/svg+xml" });
	};

	new ResizeObserver((entries) => {
		const wide = Math.floor(entries[0].contentRect.width);
		if (wide && wide !== width) { width = wide; draw(); }
	}).observe(area);
	figure.set = (next) => {
		const kept = at == null ? null : times[at];
		({ series = series, times = times, marks = marks, none = none } = next);
		// The cursor stays at its time while the plot moves on.
		if (kept != null) at = max(0, times.findIndex((ms) => ms >= kept));
		list();
		draw();
	};
	list();
	return figure;
};

/** The indices from and to which values are known. */
const stretches = (values) => {
	const all = [];
	values.forEach((value, i) => {
		if (value == null) return;
		if (i && values[i - 1] != null) all.at(-1)[1] = i;
		else all.push([i, i]);
	});
	return all;
};

const savePng = (svg, width, name) => {
	const url = URL.createObjectURL(svg);
	const image = new Image();
	image.onload = () => {
		const sharp = 2;
		const canvas = h("canvas", { width: image.width * sharp, height: image.height * sharp });
		canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
		URL.revokeObjectURL(url);
		canvas.toBlob((blob) => (blob ? save(blob, name + ".png") : image.onerror()));
	};
	image.onerror = () => notice("the browser does not make a picture of this", "bad");
	image.src = url;
};

/** A few values as a line, without axes. */
const spark = (values) => {
	const known = (values ?? []).filter((value) => value != null);
	if (known.length < 2) return null;
	const most = max(...known) || 1;
	const x = (i) => (1 + i / (values.length - 1) * 54).toFixed(1);
	const d = stretches(values).map(([from, to]) => values.slice(from, to + 1)
		.map((value, i) => (i ? "L" : "M") + x(from + i) + " " + (20 - value / most * 18).toFixed(1)).join("")).join("");
	return s("svg.spark", { width: 56, height: 22, "aria-hidden": true }, s("path.line", { d }));
};
