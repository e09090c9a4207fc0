// What every view uses: elements, requests, the live stream, numbers and dialogs.
//
// No text from elsewhere becomes markup: elements are made one by one, and texts are text nodes.

const SVG = "http://www.w3.org/2000/svg";

const { max, min, abs, ceil } = Math;
const focusOn = (node) => node?.focus({ preventScroll: true });
const focused = () => document.activeElement;

const build = (node, attrs, children) => {
	for (const [key, value] of Object.entries(attrs ?? {})) {
		if (typeof value === "function") node.addEventListener(key.slice(2), value);
		else if (key === "dataset") Object.assign(node.dataset, value);
		else if (key === "style") throw new TypeError("the policy of this page refuses style attributes");
		else if (value == null) continue;
		else if (key === "value" && "value" in node) node.value = value;
		else if (typeof value === "boolean" && !key.startsWith("aria-")) node.toggleAttribute(key, value);
		else node.setAttribute(key === "label" ? "aria-label" : key, value);
	}
	for (const child of children.flat(Infinity)) {
		if (child == null || child === false || child === true) continue;
		node.append(child instanceof Node ? child : String(child));
	}
	return node;
};
/** `h("p.hint.wide", attrs, ...children)` is a `p` of two classes; attributes may be left out. */
const maker = (make) => (tag, ...rest) => {
	const [name, ...classes] = tag.split(".");
	const attrs = rest[0]?.constructor === Object ? rest.shift() : {};
	return build(make(name), { class: classes.join(" ") || null, ...attrs }, rest);
};
const h = maker((name) => document.createElement(name));
const s = maker((name) => document.createElementNS(SVG, name));
const labelled = (text, ...children) => h("label", h("span", text), children);
const div = (name, ...children) => h("div", { class: name }, children);
const para = (name, ...children) => h("p", { class: name || null }, children);
/** Whether the focus is in it, or will be once a dialog is closed, so that it must not be drawn anew under somebody's hands. */
const inUse = (node) => node.contains(focused()) || document.querySelector("dialog[open]") !== null;
const PLAIN = { autocomplete: "off", spellcheck: "false" };
const $ = (id) => document.getElementById(id);

/** What a browser keeps, if it keeps anything: private windows may refuse. */
const keep = (where) => ({
	get: (key) => { try { return window[where].getItem("mint." + key); } catch { return null; } },
	set: (key, value) => {
		try {
			if (value == null) window[where].removeItem("mint." + key);
			else window[where].setItem("mint." + key, value);
		} catch { /* it lasts as long as the page then */ }
	},
});
const kept = keep("localStorage");
const tab = keep("sessionStorage");

// ---- Requests

class ApiError extends Error {
	constructor(status, code, detail, hint) {
		super(detail);
		Object.assign(this, { status, code, detail, hint });
	}
}

/** The token of this tab, and what the server wants of it. */
const session = {
	token: tab.get("token"),
	needed: null, // whether the server has tokens; null: not known yet
	open: tab.get("changes") === "yes", // changes are allowed in this tab, on a server without tokens
	refused: null, // why a token is asked for now
	accepted: null, // the token that the server took last
	changed: () => {},
	set(token) {
		this.token = token;
		this.refused = null;
		tab.set("token", token);
		live.forget();
		this.changed();
	},
	refuse(error, token) {
		if (token !== this.token || this.refused) return; // of a token that was replaced meanwhile, or asked for already
		this.needed = true;
		this.refused = error;
		this.changed();
	},
};

/** Whether acts are shown. What a token lacks the server refuses, in its own words. */
const canChange = () => (session.needed === false ? session.open : session.token != null);

const seg = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

/** Relative, so that a proxy may serve the console in a folder. */
const address = (path, query) => path.replace(/^\//, "") + queryOf(query);
/** What is empty is left out. */
const queryOf = (query) => {
	const given = Object.entries(query ?? {}).filter(([, value]) => value != null && value !== "");
	return given.length ? "?" + new URLSearchParams(given) : "";
};

const problem = async (response) => {
	const text = await response.text().catch(() => "");
	let told = {};
	try { told = JSON.parse(text); } catch { /* a proxy's page: its words are of no use here */ }
	return new ApiError(response.status, told.code ?? "http_" + response.status,
		told.detail ?? told.title ?? `the server replied ${response.status} ${response.statusText}`, told.hint);
};

const request = async (method, path, { query, body, raw, type, signal, accept } = {}) => {
	const token = session.token;
	const headers = { accept: accept ?? "application/json" };
	if (token) headers.authorization = "Bearer " + token;
	if (body !== undefined) headers["content-type"] = "application/json";
	else if (raw !== undefined && type) headers["content-type"] = type;
	let response;
	try {
		response = await fetch(address(path, query), {
			method, headers, signal, cache: "no-store", credentials: "omit",
			body: body !== undefined ? JSON.stringify(body) : raw,
		});
	} catch (error) {
		if (error.name === "AbortError") throw error;
		throw new ApiError(0, "unreachable", "the server does not answer",
			method === "GET" ? "is it running, and can this browser reach it?" : "whether it did this is unknown: look before you do it again");
	}
	if (response.status !== 401) session.accepted = token;
	if (!response.ok) {
		const error = await problem(response);
		if (response.status === 401) session.refuse(error, token);
		throw error;
	}
	return response;
};

/** Asks the server. `body` is sent as JSON, `raw` as it is, as media type `type`. */
const api = async (method, path, options) => {
	const response = await request(method, path, options);
	const text = await response.text();
	return text && JSON.parse(text);
};

const get = (path, signal, query) => api("GET", path, { signal, query });

// ---- The live stream

const live = {
	frame: null,
	stale: null, // since when the picture is old, in milliseconds since 1970; null: it is not
	stands: 0, // frames in a row with one time: the clock of the server stands
	listeners: new Set(),
	watchers: new Set(),
	/** Calls `fn(frame)` at once, if there is a frame, and with every further one until `life` ends. */
	on(fn, life) {
		this.listeners.add(fn);
		life?.addEventListener("abort", () => this.listeners.delete(fn));
		if (this.frame) fn(this.frame);
	},
	/** Calls `fn()` when `stale` or `stands` may have changed. */
	watch(fn, life) {
		this.watchers.add(fn);
		life?.addEventListener("abort", () => this.watchers.delete(fn));
	},
	take(frame) {
		this.stands = this.frame && this.frame.at_ms === frame.at_ms ? this.stands + 1 : 0;
		this.frame = frame;
		this.heard = Date.now();
		this.stale = this.error = null;
		this.tell(this.watchers);
		this.tell(this.listeners, frame);
	},
	broken() {
		this.stale ??= this.heard ?? Date.now();
		this.tell(this.watchers);
	},
	tell(whom, frame) {
		for (const fn of [...whom]) {
			try { fn(frame); } catch (error) { console.error(error); } // one plot that fails stops no other
		}
	},
	async run() {
		for (let wait = 500; ; wait = min(wait * 2, 15000)) {
			const { heard, woken } = this;
			let error = null;
			try {
				await this.read();
			} catch (thrown) {
				if (thrown.name !== "AbortError") error = thrown;
			}
			if (woken === this.woken) {
				this.error = error;
				this.broken();
				if (this.heard !== heard) wait = 500;
				// Who was refused is refused again, until there is another token.
				const again = this.refused() ? [] : [new Promise((done) => setTimeout(done, wait * (0.75 + Math.random() / 2)))];
				await Promise.race([woken, ...again]);
			}
			if (woken !== this.woken) wait = 250;
		}
	},
	refused() {
		return [401, 403].includes(this.error?.status);
	},
	/** Reads one connection to its end; one that is silent for 8 s counts as broken. */
	async read() {
		const stop = this.stop = new AbortController();
		let last = Date.now();
		const guard = setInterval(() => {
			if (Date.now() - last > 3500) this.broken();
			if (Date.now() - last > 8000) stop.abort();
		}, 1000);
		try {
			const response = await request("GET", "/v1/live", { accept: "text/event-stream", signal: stop.signal });
			const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
			for (let rest = ""; ;) {
				const { done, value } = await reader.read();
				if (done) return;
				last = Date.now();
				const events = (rest + value).split(/\r?\n\r?\n/);
				rest = events.pop();
				for (const event of events) {
					const data = event.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim());
					if (data.length) this.take(JSON.parse(data.join("\n")));
				}
			}
		} finally {
			clearInterval(guard);
			stop.abort();
		}
	},
	/** Connects anew, at once. */
	wake() {
		this.release?.();
		this.woken = new Promise((done) => { this.release = done; });
		this.stop?.abort();
	},
	/** Another token: nothing that came with the one before counts. */
	forget() {
		this.frame = this.heard = this.stale = this.error = null;
		this.wake();
	},
};
live.wake();

// ---- Numbers and times as people read them

const round = (n, digits = 3) => {
	const text = Number(n).toPrecision(digits);
	return String(text.includes("e") ? Math.round(Number(text)) : Number(text));
};
/** 1,234,567: of a number, a text or a BigInt. */
const int = (n) => (n == null ? "–" : String(typeof n === "number" ? Math.round(n) : n).replace(/\B(?=(\d{3})+$)/g, ","));
const fmt = {
	/** 12.3 k */
	si: (n) => {
		if (n == null) return "–";
		const of = abs(n);
		for (const [size, letter] of [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
			if (of >= size * 0.9995) return round(n / size) + " " + letter;
		}
		return of < 0.0005 ? "0" : round(n);
	},
	rate: (n) => (n == null ? "–" : fmt.si(n) + "/s"),
	us: (n) => (n == null ? "–" : n >= 999500 ? round(n / 1e6) + " s" : n >= 999.5 ? round(n / 1e3) + " ms" : round(n) + " µs"),
	span: (seconds) => {
		if (seconds == null) return "–";
		const of = abs(seconds);
		const days = seconds / 86400;
		const years = days / 365.2425;
		if (of < 1e-6) return "0 s";
		if (of < 0.001) return round(seconds * 1e6) + " µs";
		if (of < 1) return round(seconds * 1000) + " ms";
		if (of < 120) return (of < 10 ? round(seconds, 2) : Math.round(seconds)) + " s";
		if (of < 7200) return Math.round(seconds / 60) + " min";
		if (of < 172800) return Math.round(seconds / 3600) + " hours";
		if (of < 63072000) return int(days) + " days";
		return years < 1000 ? round(years) + " years" : years < 1e6 ? int(years) + " years" : "> 1 M years";
	},
	/** An element: the local time, with UTC as its title. */
	time: (when, parts) => {
		const date = new Date(when);
		if (when == null || Number.isNaN(date.getTime())) return h("span", when == null ? "–" : String(when));
		const iso = date.toISOString();
		return h("time", { datetime: iso, title: iso.replace("T", " ").replace(/\.000Z|Z$/, " UTC") }, fmt.clock(date, parts ?? "both"));
	},
	/** The same as a text: `parts` is `time`, `minute` or `both`. */
	clock: (when, parts = "time") => {
		const date = new Date(when);
		const two = (n) => String(n).padStart(2, "0");
		const minute = two(date.getHours()) + ":" + two(date.getMinutes());
		if (parts === "minute") return minute;
		const time = minute + ":" + two(date.getSeconds());
		return parts === "time" ? time : `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
	},
	/** With its sign. */
	signed: (seconds) => (seconds === 0 ? "0" : (seconds < 0 ? "−" : "+") + fmt.span(abs(seconds))),
	ago: (ms) => {
		const seconds = (Date.now() - ms) / 1000;
		return abs(seconds) < 1.5 ? "now" : seconds < 0 ? "in " + fmt.span(-seconds) : fmt.span(seconds) + " ago";
	},
};

/** One of twelve classes: by the text, or the next one that no other text has, and then the same in every view. */
const owners = new Map();
const ownerColor = (text) => {
	if (!owners.has(text)) {
		let hash = 2166136261;
		for (const c of String(text)) hash = Math.imul(hash ^ c.codePointAt(0), 16777619) >>> 0;
		hash = ((hash ^ (hash >>> 15)) >>> 0) % 12;
		const taken = owners.size < 12 ? [...owners.values()] : [];
		while (taken.includes("c" + hash)) hash = (hash + 1) % 12;
		owners.set(text, "c" + hash);
	}
	return owners.get(text);
};

// ---- Where we are

const views = new Map();
const addView = (view) => views.set(view.name, view);

const route = () => {
	const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
	const [name, ...args] = path.split("/").map((part) => {
		try { return decodeURIComponent(part); } catch { return part; }
	});
	return { name: name || "now", args: args.filter((arg) => arg !== ""), query: Object.fromEntries(new URLSearchParams(query ?? "")) };
};
/** `#/name/arg?key=value`: the parts are encoded here. */
const hashOf = (name, args = [], query) => "#/" + [name, ...args].map(seg).join("/") + queryOf(query);
const go = (hash) => { location.hash = hash; };
const link = (hash, text, attrs) => h("a", { href: hash, ...attrs }, text);
/** Changes the query of the address, and shows nothing anew; `null` takes a part away. */
const setQuery = (changes) => {
	const { name, args, query } = route();
	history.replaceState(null, "", hashOf(name, args, { ...query, ...changes }));
};

// ---- What is said

const errorBox = (error) => h("div.error", { role: "alert" },
	h("p", error.detail ?? error.message ?? String(error)),
	error.hint && para("hint", error.hint),
	error.code && para("code", error.code + (error.status ? ` (${error.status})` : "")));

/** Shows an error instead of what is in `root`; that a view was left is none, and for a token the page asks itself. */
const showError = (root, error) => {
	if (error.name === "AbortError" || error.status === 401) return;
	if (!(error instanceof ApiError)) console.error(error);
	root.replaceChildren(errorBox(error));
};
const empty = (text, hint) => div("empty", h("p", text), hint && para("hint", hint));

/** Says something for some seconds; `kind`: `good`, `bad` or nothing. */
const notice = (text, kind = "") => {
	const close = () => box.remove();
	const box = h("div", { class: "notice " + kind }, h("span", text), buttonTo(close, "×", { class: "plain", label: "close" }));
	$("notices").append(box);
	setTimeout(close, kind === "bad" ? 15000 : 6000);
};

/** A dialog; `make(close)` gives what is in it. The promise has what it was closed with. */
const dialog = (title, make) => new Promise((done) => {
	const id = "d" + Math.random().toString(36).slice(2);
	const box = h("dialog", { "aria-labelledby": id }, h("h2", { id }, title));
	const by = focused();
	const close = (value) => { box.returned = value; box.close(); };
	box.append(...[make(close)].flat());
	box.addEventListener("close", () => {
		box.remove();
		// The button that opened it may have been drawn anew.
		if (focused() === document.body) (by.isConnected && by !== document.body ? by : [...document.querySelectorAll("main button")].find((one) => one.textContent === by.textContent) ?? document.querySelector("h1"))?.focus();
		done(box.returned ?? null);
	});
	document.body.append(box);
	box.showModal();
});

/** A form that does something: while it runs its buttons are off; what the server refuses is shown in it. */
const actForm = (children, act) => {
	const said = div("said");
	const form = h("form", { onsubmit: async (event) => {
		event.preventDefault();
		const had = focused();
		const buttons = [...form.querySelectorAll("button")].filter((button) => !button.disabled);
		for (const button of buttons) button.disabled = true;
		said.replaceChildren();
		try {
			await act(form);
		} catch (error) {
			showError(said, error);
		}
		for (const button of buttons) button.disabled = false;
		// A button that is off loses the focus.
		if (form.contains(had) && !form.contains(focused())) focusOn(had);
	} }, children, said);
	return form;
};

/** Does `act` only when `word` was typed. The promise: whether it was done. */
const confirmTyped = ({ title, text, word, act, label }) => dialog(title, (close) => {
	const button = h("button.danger", { disabled: true }, label ?? title);
	const input = h("input", { ...PLAIN, autofocus: true, label: `Type ${word}`,
		oninput: () => { button.disabled = input.value !== word; } });
	return actForm([
		div("stack", text),
		labelled(["Type ", codeOf(word), " to go on"], input),
		para("buttons", buttonTo(() => close(false), "Cancel"), button),
	], async () => {
		if (input.value !== word) return;
		await act();
		close(true);
	});
});

const copyText = async (text) => {
	try {
		if (navigator.clipboard) await navigator.clipboard.writeText(text);
		else {
			// Without HTTPS there is no clipboard but this one.
			const area = h("textarea", { readonly: true, class: "away", value: text });
			(document.querySelector("dialog[open]") ?? document.body).append(area);
			area.select();
			const done = document.execCommand("copy");
			area.remove();
			if (!done) throw new Error("refused");
		}
		notice("copied", "good");
	} catch {
		notice("the browser does not let this page copy: select the text", "bad");
	}
};

/** The same act in several languages, to copy. `set(items)` replaces the texts. */
const copyBox = (items) => {
	const id = "c" + Math.random().toString(36).slice(2);
	let chosen = kept.get("language") ?? items[0]?.label;
	const tabs = h("div", { role: "tablist", label: "The same elsewhere", onkeydown: (event) => {
		const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
		if (!by) return;
		event.preventDefault();
		const at = items.findIndex((item) => item.label === shown().label);
		pick(items[(at + by + items.length) % items.length].label);
		tabs.querySelector("[aria-selected=true]").focus();
	} });
	const text = h("pre", { tabindex: "0", role: "tabpanel", id: id + "p", label: "Command" });
	const shown = () => items.find((item) => item.label === chosen) ?? items[0];
	const pick = (label) => { chosen = label; kept.set("language", label); draw(); };
	const draw = () => {
		putIn(tabs, items.map((item) => buttonTo(() => pick(item.label), item.label, {
			role: "tab", "aria-selected": item === shown(), "aria-controls": id + "p", tabindex: item === shown() ? 0 : -1,
		})));
		text.textContent = shown()?.text ?? "";
	};
	const box = div("copy", div("bar", tabs,
		buttonTo(() => copyText(text.textContent), "Copy", { class: "plain" })), text);
	box.set = (next) => { items = next; draw(); };
	draw();
	return box;
};
