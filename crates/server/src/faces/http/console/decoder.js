// The decoder: what an id is, down to its bits, and whether it was given out here; many ids; and whole files.

const MANY = 1000;
const B62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LOWER = B62.slice(36);
const B36 = B62.slice(0, 10) + LOWER;
const HEX = B36.slice(0, 16);
const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Digits and length of a format's text, and how many bits its digits have beyond the id. */
const TEXTS = {
	ulid: [CROCKFORD, 26], tsid: [CROCKFORD, 13], ksuid: [B62, 27], ksuidms: [B62, 27], timeflake: [B62, 22], flake: [B62, 0], objectid: [HEX, 24], xid: [B36.slice(0, 32), 20, 4n],
	tid: ["234567" + LOWER, 13], scru128: [B36, 25], scru64: [B36, 12], pushid: ["-" + B62.slice(0, 36) + "_" + LOWER, 20], snowflake: [B62.slice(0, 10), 0], sequence: [B62.slice(0, 10), 0],
};
const FORMS = [["decimal", B62.slice(0, 10)], ["hexadecimal", HEX], ["base32, Crockford's", CROCKFORD], ["base36", B36], ["base62", B62], ["base58", B62.replace(/[0OIl]/g, "")]];
const ROLES = { time: ["c0", "time"], worker: ["c1", "who made it"], sequence: ["c2", "count"], rollback: ["c2", "count"], random: ["c6", "random or made of a name"], constant: ["c7", "fixed"] };
const SPANS = [["second", 1e3], ["hour", 36e5], ["day", 864e5]];
const VERDICTS = { issued: ["given out", "good"], reserved: ["reserved", "good"], possible: ["possible", "warn"], not_yet: ["not yet", ""], never: ["never", "bad"] };

const numberToDigits = (n, digits, length = 1) => {
	let text = "";
	for (const base = BigInt(digits.length); n > 0n; n /= base) text = digits[Number(n % base)] + text;
	return text.padStart(length, digits[0]);
};
const digitsToNumber = (text, digits) => [...text].reduce((n, c) => (n === null || !digits.includes(c) ? null : n * BigInt(digits.length) + BigInt(digits.indexOf(c))), 0n);
const ones = (bits) => (1n << BigInt(bits)) - 1n;
const slice = (n, field) => (n >> BigInt(field.shift)) & ones(field.bits);
const sum = (fields) => fields.reduce((bits, field) => bits + field.bits, 0);
const hyphened = (n) => numberToDigits(n, HEX, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
const percent = (reading) => `${Math.round(reading.confidence * 100)} %`;
const toMs = (reading) => Number(BigInt(reading.unix_ns) / 1000000n);

/** The formats and layouts that the server knows: asked for once. */
let formats = null;
let presets = null;
const know = async (life) => {
	const byName = async (what) => new Map((await get("/v1/" + what, life))[what].map((one) => [one.name, one]));
	if (!presets) [formats, presets] = await Promise.all([byName("formats"), byName("presets")]);
};
const formatOf = (reading) => (reading.format === "uuid" && reading.variant === "rfc9562" ? "uuid" + reading.version : reading.format);
const title = (reading) => (reading.format === "uuid" ? "UUID" + (reading.version ? " version " + reading.version : "") : reading.preset ? "Snowflake, " + reading.preset : formats.get(reading.format)?.title ?? reading.format)
	+ (reading.form ? " as " + reading.form : "");
const roleOf = (name) => (/^(version|variant|0)$/.test(name) ? "constant" : /time|unix|steps/.test(name) ? "time" : /count|ctr|seq/.test(name) ? "sequence" : /worker|node|machine|pid|clock|domain|local/.test(name) ? "worker" : "random");

/** The fields of a reading, the highest bits first, or null where they are not known to the bit. */
const fieldsOf = (reading) => {
	const preset = presets.get(reading.preset);
	const rest = preset ? max(64, preset.bits) - preset.bits : 0;
	if (preset) return rest ? [{ name: "unused", bits: rest, shift: preset.bits, role: "constant" }, ...preset.fields] : preset.fields;
	const format = formats.get(reading.format === "typeid" ? "uuid7" : formatOf(reading));
	if (!format?.bits || format.name === "uuid") return null;
	const fields = [...format.diagram.matchAll(/\| (?:([^|]+?) )(\d+)(?: = \d+)?(?= \|)/g)].map(([, name, bits]) => ({ name, bits: Number(bits), role: roleOf(name) }));
	let shift = sum(fields);
	if (shift !== format.bits) return null;
	for (const field of fields) field.shift = shift -= field.bits;
	return fields;
};

/** The id as a number, or null where this page cannot read its text: base58 of a Snowflake has digits of its own. */
const valueOf = (input, { format, form, fields }) => {
	const hex = (fields.uuid ?? input).toLowerCase().replace(/^urn:uuid:|[-{}]/g, "");
	if ((fields.uuid || format === "uuid") && /^[0-9a-f]{32}$/.test(hex)) return digitsToNumber(hex, HEX);
	if (input[0] === "-" && form == null && format in TEXTS && TEXTS[format][1] === 0) return BigInt.asUintN(64, BigInt(input));
	const [digits, , spare = 0n] = form ? [(format === "uuid" || !/58|32/.test(form)) && FORMS.find(([name]) => name.startsWith(form))?.[1]] : TEXTS[format] ?? [];
	if (!digits) return null;
	const n = digitsToNumber(digits === CROCKFORD ? input.toUpperCase().replace(/[OIL]/g, (c) => (c === "O" ? "0" : "1")) : digits.includes("A") ? input : input.toLowerCase(), digits);
	return n === null ? null : n >> spare;
};
const textOf = (n, reading) => {
	if (reading.version) return hyphened(n);
	const [digits, length, spare = 0n] = TEXTS[reading.format] ?? [];
	return digits ? numberToDigits(n << spare, digits, length || 1) : null;
};

/** The smallest and the largest id of a span of time; null where the time is not in the highest bits, or the format is another's. */
const rangeOf = (reading, fields, from_ms, until_ms) => {
	const source = presets.get(reading.preset) ?? formats.get(formatOf(reading))?.time;
	const times = fields.filter((field) => field.role === "time");
	if (!source || fields.find((field) => field.role !== "constant") !== times[0] || (times.length > 1 && reading.version !== 6) || textOf(0n, reading) === null) return null;
	const tick = BigInt(source.tick_ns);
	const epoch = source.epoch ? BigInt(Date.parse(source.epoch)) * 1000000n : BigInt(source.first_unix_ns);
	const [low, after] = [from_ms, until_ms].map((ms) => (BigInt(ms) * 1000000n - epoch + tick - 1n) / tick);
	if (low < 0n || after <= low || (after - 1n) >> BigInt(sum(times))) return null;
	return [[low, 0n], [after - 1n, -1n]].map(([ticks, fill]) => {
		let left = sum(times);
		return textOf(fields.reduce((n, { name, bits, shift, role }) => {
			const part = role === "time" ? ticks >> BigInt(left -= bits) : name === "version" ? BigInt(reading.version) : name === "variant" ? 2n : role === "constant" ? 0n : fill;
			return n | ((part & ones(bits)) << BigInt(shift));
		}, 0n), reading);
	});
};

// ---- One id

const copyable = (name, text) => [name, [codeOf(text), " ", buttonTo(() => copyText(text), "Copy", { class: "small plain", label: "Copy " + name })]];

/** Its bits in rows, each in the colour of its field; a bit that is 1 is full. */
const ruler = (n, fields, life) => {
	const box = div("ruler");
	const all = sum(fields);
	whenSized(box, life, (width) => {
		const across = width > 760 ? 64 : 32;
		const side = min(18, width / across);
		const tall = side + 16;
		const high = ceil(all / across) * tall;
		putIn(box, drawing(width, high, { role: "img", label: `The ${all} bits: ${fields.map((field) => `${field.name} ${field.bits}`).join(", ")}` }, fields.map((field) => {
			const from = all - field.shift - field.bits;
			const fits = field.name.length * 6.2 < min(field.bits, across - (from % across)) * side;
			return s("g", s("title", `${field.name}: ${slice(n, field)}`), Array.from({ length: field.bits }, (_, bit) => {
				const at = from + bit;
				return rectAt((at % across) * side + 0.5, Math.floor(at / across) * tall + 14, side - 1, side - 1, ROLES[field.role][0] + ((n >> BigInt(all - 1 - at)) & 1n ? "" : " zero"), { rx: 2 });
			}), fits && textAt((from % across) * side + 1, Math.floor(from / across) * tall + 10, field.name));
		})));
	});
	return [box, tableOf(["Field", "Is", "Bits#", "Decimal#", "Hexadecimal#"], fields.map((field) => [[dotOf(ROLES[field.role][0]), " ", field.name], ROLES[field.role][1], field.bits, slice(n, field),
		codeOf(numberToDigits(slice(n, field), HEX, ceil(field.bits / 4)))]), "Fields")];
};

const otherForms = (n, bits, reading) => cardOf("The same in other forms", factList([
	...(bits === 128 ? [copyable("UUID", hyphened(n)), reading.format !== "ulid" && copyable("ULID", numberToDigits(n, CROCKFORD, 26))] : []),
	...FORMS.slice(0, bits === 128 ? 6 : 5).map(([name, digits]) => copyable(name, numberToDigits(n, digits, name === "hexadecimal" || (bits === 128 && name !== "decimal") ? ceil(bits / Math.log2(digits.length)) : 1))),
	bits === 64 && n >> 63n > 0n && copyable("signed", BigInt.asIntN(64, n).toString())]));

const sameTime = (reading, fields) => {
	const at = toMs(reading);
	const rows = SPANS.flatMap(([name, ms]) => (rangeOf(reading, fields, at - at % ms, at - at % ms + ms) ?? []).map((text, i) => copyable(`${i ? "Largest" : "Smallest"} of its ${name}`, text)));
	return rows.length > 0 && cardOf("Ids of the same time (UTC)", factList(rows));
};

const originOf = ({ of, name, verdict, says, server, block, window: at }) => h("li", tagOf(...(VERDICTS[verdict] ?? [verdict, ""])), " ", strongOf(of, " ", link((of === "pool" ? "#/map/" : "#/sequences/") + seg(name), name)), h("p", says),
	para("soft", server && `Server ${server}. `, block && [`Block ${int(block.first)} – ${int(block.last)}, reserved `, fmt.time(block.at), ". "],
		at && [`Window of worker ${at.worker}, ${at.name || at.owner}, `, fmt.time(at.from), " – ", fmt.time(at.until), ". ", link(`#/map/${seg(name)}?worker=${at.worker}`, "See it on the map")]));
const askOrigin = (id, { sequence, pool }, life) => {
	const said = h("div", { role: "status" }, "Looking …");
	const none = "o sequence and no pool here can have given it out";
	get("/v1/explain/" + seg(id), life, { sequence, pool }).then((found) => putIn(said, found.origins.length ? h("ol.origins", found.origins.map(originOf)) : h("p", `N${none}.`),
		found.notes.filter((note) => note !== "n" + none).map((note) => para("hint", note))), (error) => showError(said, error));
	return cardOf("Given out here?", said);
};

const showId = async (root, id, query, life) => {
	const { input, readings: sure, at_a_stretch: guesses = [], no_id, nearly, tried } = await get("/v1/inspect/" + seg(id), life);
	const readings = sure.length ? sure : guesses;
	const [shown, list] = [div("view"), div("bar")];
	const pick = (i) => {
		const reading = readings[i];
		const fields = fieldsOf(reading);
		const bits = fields ? sum(fields) : 64;
		const n = valueOf(input, reading);
		const known = n !== null && n >> BigInt(bits) === 0n;
		const told = known && fields ? fields.map((field) => field.name) : [];
		const others = Object.entries(reading.fields).filter(([name]) => !told.includes(name));
		putIn(list, readings.length > 1 && readings.map((other, at) => buttonTo(() => { setQuery({ reading: at || null }); pick(at); list.children[at].focus(); }, [title(other), " ", softText(percent(other))], { "aria-pressed": String(at === i) })));
		putIn(shown, cardOf([title(reading), " ", tagOf(percent(reading) + " sure", reading.confidence >= 0.8 ? "good" : reading.confidence < 0.5 ? "warn" : "")], h("p", reading.why, "."),
			reading.time && para("made", "Made ", strongOf(fmt.time(reading.time)), softText(` ${fmt.ago(Date.parse(reading.time))}, ${reading.time}`)),
			known && fields && ruler(n, fields, life), others.length > 0 && factList(others.map(([name, value]) => [name, codeOf(value)])), reading.notes?.map((note) => para("hint", note))),
		known && otherForms(n, bits, reading), known && fields && reading.unix_ns && sameTime(reading, fields));
	};
	const about = [no_id && h("p", `This is no id: ${no_id}.`), nearly && para("warn", `It is nearly an id: ${nearly}.`), !sure.length && h("p", readings.length ? "Nothing is known for sure. These are guesses:" : "Nothing is known of it.")];
	putIn(root, (readings.length > 1 || about.some(Boolean)) && cardOf("", about, list,
		tried && h("details", h("summary", `${tried.length} formats that it is not`), factList(tried.map(({ format, form, why }) => [format + (form ? ", " + form : ""), why])))), shown, askOrigin(input, query, life));
	if (readings.length) pick(min(Number(query.reading) || 0, readings.length - 1));
};

// ---- Many ids, and a file of them

const bars = (counts, name) => {
	const most = max(...counts.map(([, n]) => n), 1);
	return h("table.bars", h("caption.away", name), h("tbody", counts.slice(0, 24).map(([text, n]) => h("tr", h("th", { scope: "row" }, text),
		h("td", drawing(100, 10, { preserveAspectRatio: "none", "aria-hidden": true }, rectAt(0, 0, 100 * n / most, 10, "used"))), h("td.num", int(n))))));
};
const columns = (counts, label) => drawing(1000, 90, { preserveAspectRatio: "none", class: "full", role: "img", label: label },
	counts.map((n, i) => rectAt(1000 * i / counts.length, 90 - 88 * n / max(...counts, 1), 940 / counts.length, 88 * n / max(...counts, 1), "used")));
/** A dot for each time, on as many lines as keep neighbours apart. */
const dots = (times) => {
	const [first, last] = [min(...times), max(...times)];
	return svgOf(`${times.length} times from ${dateOf(first)} to ${dateOf(last)}`, { width: "100%", height: 90 }, lineAt(0, 70.5, "100%", 70.5, "axis"),
		times.map((ms, i) => s("circle", { cx: 1 + 98 * (last > first ? (ms - first) / (last - first) : 0.5) + "%", cy: 64 - (i * 7) % 60, r: 2.5, class: "used" })),
		textAt(0, 85, dateOf(first)), last > first && textAt("100%", 85, dateOf(last), "end"));
};

const showIds = async (root, ids, life) => {
	const asked = ids.slice(0, MANY);
	const found = [];
	const progress = h("progress", { max: asked.length, label: "Ids read" });
	const said = h("p.soft", { role: "status" });
	putIn(root, said, progress);
	let next = 0;
	const turn = async () => {
		while (next < asked.length && !life.aborted) {
			const at = next++;
			// One that is refused, for its length say, is no reason to stop.
			found[at] = await get("/v1/inspect/" + seg(asked[at]), life).then((got) => got.readings[0] ?? { title: "nothing known" }, (error) => ({ title: error.detail }));
			progress.value = at + 1;
			if (at % 20 === 0) said.textContent = `decoded ${int(at)} of ${int(asked.length)}`;
		}
	};
	await Promise.all([turn(), turn(), turn(), turn()]);
	if (life.aborted) return;
	const count = (list) => [...list.reduce((counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1), new Map())].sort((a, b) => b[1] - a[1]);
	const rows = found.map((reading) => ({ ...reading, title: reading.title ?? title(reading),
		by: reading.format ? (fieldsOf(reading) ?? []).filter(({ role, name }) => role === "worker" && name in reading.fields).map(({ name }) => reading.fields[name]).join(" / ") : "" }));
	const times = rows.filter((row) => row.unix_ns).map(toMs);
	const makers = count(rows.map((row) => row.by).filter(Boolean));
	const repeats = asked.length - new Set(asked).size;
	putIn(root, cardOf(`${int(asked.length)} ids`, ids.length > MANY && para("warn", `The first ${int(MANY)} of ${int(ids.length)} are read. A file with all of them can be audited: drop it here.`),
		tagOf(repeats ? `${int(repeats)} repeated` : "none is repeated", repeats ? "bad" : "good"), bars(count(rows.map((row) => row.title)), "What they are")),
	times.length > 0 && cardOf("When they were made", dots(times)), makers.length > 0 && cardOf("By whom", bars(makers, "Ids of each worker")),
	cardOf("Each", h("div.scroll.tall", { tabindex: 0, role: "region", label: "Each id" }, tableOf(["Id", "Most likely", "Sure", "Made", "By"],
		rows.map((row, i) => [link("#/decode/" + seg(asked[i]), codeOf(asked[i])), row.title, row.format ? percent(row) : "–", row.time ? fmt.time(row.time) : "–", row.by || "–"]), "Each id"))));
};

const auditReport = (file, { verdict, ids, formats: kinds, layout, repeats, without, unreadable, order, numbers, times, workers, shards, ranges, hash }) => {
	const list = (of, show) => of?.length > 0 && h("ul", of.slice(0, 20).map((each) => h("li", show(each))));
	const lines = (n) => (n === 1 ? "1 line" : n ? int(n) + " lines" : "none");
	const at = (us) => fmt.time(us / 1000);
	const spread = (name, of) => of && [name, of.even ? "good" : "warn", of.even ? "even" : "uneven", of.words, columns(of.counts, `${of.shards} shards: ${of.counts.join(", ")}`)];
	const rows = [
		["Read", "good", `${int(ids)} ids`, kinds.map((one) => `${int(one.ids)} ${one.format}${one.version ? " " + one.version : ""}`).join(", "), layout && `; layout ${layout.name}${layout.guessed ? ", guessed" : ""}`],
		["Repeats", repeats.ids ? "bad" : "good", repeats.ids ? int(repeats.ids) + " repeated" : "none", list(repeats.listed, (each) => [codeOf(each.id), ` ${each.times} times: ${each.places.join(", ")}`])],
		["No id", without.lines ? "bad" : "good", lines(without.lines), list(without.listed, (each) => each.join(": "))],
		["Unreadable", unreadable.lines ? "bad" : "good", lines(unreadable.lines), list(unreadable.listed, (each) => [each].flat().join(": "))],
		order && ["Order", order.to_move ? "warn" : "good", order.to_move ? `${int(order.to_move)} of ${int(order.compared)} rows would have to move` : "in order", order.first && `the first at ${order.first}`],
		numbers && ["Gaps", numbers.gaps ? "warn" : "good", numbers.gaps ? `${int(numbers.lost)} missing in ${int(numbers.gaps)} gaps` : "none", `${int(numbers.min)} to ${int(numbers.max)}`,
			list(numbers.largest, (gap) => `${int(gap.lost)} between ${int(gap.after)} and ${int(gap.before)}`)],
		times?.ids > 0 && ["Time", times.future ? "bad" : "good", times.future ? `${int(times.future)} in the future` : fmt.span((times.last_us - times.first_us) / 1e6), at(times.first_us), " – ", at(times.last_us)],
		workers?.count > 0 && ["Workers", workers.steps_back ? "warn" : "good", int(workers.count) + (workers.more ? " or more" : ""), workers.steps_back > 0 && `clocks went back ${int(workers.steps_back)} times`],
		spread("Shards by id % N", shards), spread("Ranges of keys", ranges), spread("Shards by a hash", hash),
	];
	return [cardOf([`Audit of ${file.name} `, verdict.sound ? tagOf("sound", "good") : tagOf("not sound", "bad")], list(verdict.faults, (fault) => fault.words), list(verdict.remarks, (remark) => softText(remark.words)),
		h("table.audit", h("tbody", rows.map((row) => row && h("tr", h("th", { scope: "row" }, row[0]), h("td", tagOf(row[2], row[1]), " ", row.slice(3))))))),
	para("hint", "The command mint audit takes files of any size, and more options.")];
};

const showDecoder = async (root, args, query, life) => {
	const shown = div("view");
	let inner = new AbortController(); // ends what is shown when something else is
	life.addEventListener("abort", () => inner.abort());
	const doing = async (address, said, work) => {
		history.replaceState(null, "", address);
		inner.abort();
		inner = new AbortController();
		const mine = inner.signal;
		putIn(shown, h("p.soft", { role: "status" }, said));
		busy(true);
		try {
			await know(life);
			await work(mine);
		} catch (error) {
			if (!mine.aborted) showError(shown, error);
		}
		if (!mine.aborted) busy(false);
	};
	let had = null; // what had the focus: a button that is off loses it
	const busy = (yes) => {
		if (yes) had = focused();
		shown.setAttribute("aria-busy", yes);
		button.disabled = yes;
		if (focused() === document.body) focusOn(had);
	};
	const button = h("button.primary", "Decode");
	const decode = (query = {}) => {
		const ids = area.value.split(/[\s,;]+/).map((text) => text.replace(/^["']+|["']+$/g, "")).filter(Boolean);
		if (ids.length === 1) return doing(hashOf("decode", ids, query), "Reading …", (mine) => showId(shown, ids[0], query, mine));
		return doing(hashOf("decode"), "", (mine) => (ids.length ? showIds(shown, ids, mine) : putIn(shown)));
	};
	const audit = (chosen) => chosen && doing(hashOf("decode"), `The server audits ${chosen.name}, ${fmt.si(chosen.size)}B …`, async (mine) => {
		try {
			const got = await api("POST", "/v1/audit", { query: { input: /\.(csv|tsv|jsonl)$/.exec(chosen.name)?.[1], header: header.checked ? null : "false" }, raw: chosen, type: "application/octet-stream", signal: mine });
			putIn(shown, auditReport(chosen, got));
		} catch (error) {
			if (error.status === 413) error.hint ??= "the command has no limit: mint audit FILE";
			throw error;
		}
	});
	const header = h("input", { type: "checkbox", checked: true });
	const area = h("textarea", { rows: 2, spellcheck: "false", autocomplete: "off", value: args[0] ?? "", placeholder: "One id, or up to a thousand", onpaste: () => setTimeout(decode),
		onkeydown: (event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); decode(); } } });
	const file = h("input", { type: "file", class: "away", tabindex: -1, label: "A file of ids", onchange: () => { audit(file.files[0]); file.value = ""; } });
	const box = h("form.card", { onsubmit: (event) => { event.preventDefault(); decode(); } }, labelled("Ids of any kind", area),
		div("bar", button, buttonTo(() => file.click(), "Audit a file …"), file, h("label.check", header, h("span", "its first row is a header")), h("span.hint", "or drop it anywhere here")));
	for (const type of ["dragover", "dragleave", "drop"]) {
		addEventListener(type, (event) => {
			if (!event.dataTransfer?.types.includes("Files")) return;
			event.preventDefault();
			box.classList.toggle("drop", type === "dragover");
			if (type === "drop") audit(event.dataTransfer.files[0]);
		}, { signal: life });
	}
	putIn(root, box, shown);
	if (args[0]) await decode(query);
};

addView({ name: "decode", title: "Decoder", nav: true, show: showDecoder });
