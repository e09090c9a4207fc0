// The frame around the views: where we are, the token, what is old, light and dark.

let leave = null; // ends the view that is shown

const tokenForm = () => {
	const input = h("input", { type: "password", autocomplete: "off", required: true, autofocus: true });
	const had = session.token != null;
	return h("section.card.narrow",
		h("h1", { tabindex: "-1" }, had ? "The token is not accepted" + (session.accepted === session.token ? " any more" : "") : "This server wants a token"),
		h("p", session.refused?.detail ?? ""),
		session.refused?.hint && para("hint", session.refused.hint),
		actForm([
			labelled("Token", input),
			para("hint", "It is kept in this tab only, and sent to this server only."),
			para("buttons", h("button.primary", had ? "Use this one" : "Go on")),
		], async () => session.set(input.value.trim())));
};

const show = (first) => {
	leave?.abort();
	leave = new AbortController();
	for (const box of document.querySelectorAll("dialog[open]")) box.close(); // what they are about is left too
	const main = $("main");
	const { name, args, query } = route();
	const view = views.get(name);
	for (const a of document.querySelectorAll("nav a")) {
		if (a.dataset.view === name) a.setAttribute("aria-current", "page");
		else a.removeAttribute("aria-current");
	}
	if (session.refused) {
		main.replaceChildren(tokenForm());
		document.title = "Token · mint";
		main.querySelector("input").focus();
		return;
	}
	const title = !view ? "Nothing is here" : typeof view.title === "function" ? view.title(args) : view.title;
	document.title = title + " · mint";
	const heading = h("h1", { tabindex: "-1" }, title);
	const root = h("div", { class: "view view-" + (view?.name ?? "none") });
	main.replaceChildren(heading, root);
	if (!first) focusOn(heading);
	if (!view) return root.append(empty("No view has this address.", link("#/now", "See how the server is now")));
	const life = leave.signal;
	Promise.resolve().then(() => view.show(root, args, query, life)).catch((error) => showError(root, error));
};

// ---- Light and dark

const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = {
	wish: kept.get("theme") ?? "auto",
	apply() {
		document.documentElement.dataset.theme = this.wish === "auto" ? (dark.matches ? "dark" : "light") : this.wish;
	},
};
dark.addEventListener("change", () => theme.apply());
theme.apply();

const tools = () => {
	const look = h("select", { label: "Light or dark", onchange: () => {
		theme.wish = look.value;
		kept.set("theme", look.value === "auto" ? null : look.value);
		theme.apply();
	} }, ["auto", "light", "dark"].map((name) => h("option", { value: name, selected: name === theme.wish }, name)));
	const acts = session.needed === false
		? buttonTo(allow, session.open ? "Changes allowed" : "Read only", { class: session.open ? "warn" : "", "aria-pressed": session.open })
		: session.token && buttonTo(() => { session.needed = null; session.set(null); begin(); }, "Forget the token");
	putIn($("tools"), acts, look);
};

/** On a server without tokens nothing is protected by this switch but the reader's own hand. */
const allow = async () => {
	const yes = !session.open && await dialog("Allow changes in this tab?", (close) => [
		h("p", "This server has no tokens: anyone who reaches its port may change what you see here, with curl as well as with this page."),
		h("p", "The switch is against slips of the hand. It is for this tab, until you close it."),
		h("p.buttons",
			buttonTo(() => close(false), "Stay read only"),
			buttonTo(() => close(true), "Allow changes", { class: "primary" })),
	]);
	session.open = yes === true;
	tab.set("changes", session.open ? "yes" : null);
	tools();
	show();
};

const banner = () => {
	const why = live.error ? ": " + live.error.detail : "";
	const says = session.refused ? "" : live.refused() ? `What happens now is not shown${why}.`
		: live.stale ? `The stream is broken${why}. ${live.frame ? `What you see is old, from ${fmt.clock(live.stale, "both")}` : "Nothing was shown yet"}; trying again.`
			: live.stands >= 3 ? `The clock of the server stands at ${fmt.clock(live.frame.at_ms)}.` : "";
	const box = $("banner");
	if (!says) {
		if (box.contains(focused())) focusOn(document.querySelector("h1"));
		box.replaceChildren();
	} else if (!box.firstChild) box.append(h("span", says), " ", buttonTo(() => live.wake(), "Try now", { class: "small" }));
	else if (box.firstChild.textContent !== says) box.firstChild.textContent = says;
	if (says) box.lastChild.hidden = !live.stale || live.refused();
	box.className = says ? "on" : "";
	document.documentElement.classList.toggle("stale", live.stale != null);
	$("server").textContent = live.frame ? live.frame.server + " " + live.frame.version : "";
};

const begin = async () => {
	try {
		session.needed = (await get("/v1/access")).needed;
	} catch (error) {
		// Without the right to see this, a token it is: the server has some.
		if (error.status === 401 || error.status === 403) session.needed = true;
	}
	tools();
};

session.changed = () => {
	tools();
	banner();
	show();
};
document.querySelector(".skip").addEventListener("click", (event) => {
	event.preventDefault();
	$("main").focus();
});
document.querySelector("nav").append(...[...views.values()].filter((view) => view.nav)
	.map((view) => link("#/" + view.name, typeof view.title === "function" ? view.title([]) : view.title, { dataset: { view: view.name } })));
addEventListener("hashchange", () => { if (/^#\/|^$/.test(location.hash)) show(); });
live.watch(banner);
setInterval(banner, 5000);
begin().then(() => { if (!session.refused) show(true); live.run(); });
