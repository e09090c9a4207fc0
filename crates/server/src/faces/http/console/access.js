// Who may do what, and what was done.

/** One line of the trail, whatever else it has. */
const actRow = (act) => {
	const { time, what, names, token, peer, face, outcome } = act;
	return [fmt.time(time), strongOf(what ?? "?"), (names ?? []).join(", "), token ?? "–", [face, peer].filter(Boolean).join(" "),
		tagOf(outcome ?? "?", outcome === "done" ? "good" : "bad"),
		h("details", h("summary", "show"), h("pre", JSON.stringify(act, null, 1)))];
};

const showAccess = async (root, args, query, life) => {
	const access = await get("/v1/access", life);
	const trail = div("scroll");
	root.append(
		cardOf("Tokens", !access.needed ? empty("This server has no tokens.", "Anyone who reaches its port may do everything. Tokens are made with: mint token new NAME")
			: div("scroll", tableOf(["Name", "Rights", "Faces", "Expires", "Last used", "Refused#"], access.tokens.map((one) => {
				const over = one.expires && new Date(one.expires) < new Date();
				return [one.name, div("bar", one.may.map((right) => tagOf(right, right === "admin" ? "warn" : ""))),
					one.faces.length ? one.faces.join(", ") : "all",
					one.expires ? [over && tagOf("expired", "bad"), " ", fmt.time(one.expires)] : "never",
					one.last_used ? [fmt.ago(Date.parse(one.last_used)), " ", div("soft", fmt.time(one.last_used))] : "not since the start",
					one.refused ? h("span.warn", int(one.refused)) : "0"];
			}), "Tokens")), access.needed && para("hint", "Their values are not kept here: nobody can read one again.")),
		cardOf("What was done", access.trail ? para("hint", "Acts that need the right admin, the newest first; all of them are in ", codeOf(access.trail)) : null, trail));
	if (!access.trail) return trail.append(empty("No audit trail is written.", "The setting audit.file says where to."));
	await repeated(10, life, async () => {
		if (trail.querySelector("details[open]")) return; // somebody reads
		const { acts } = await get("/v1/trail", life, { limit: 100 });
		trail.replaceChildren(acts.length ? tableOf(["When", "What", "Of what", "Token", "From", "Outcome", "All"], acts.map(actRow), "The audit trail") : empty("Nothing was changed yet."));
	}, (error) => showError(trail, error));
};

addView({ name: "access", title: "Access", nav: true, show: showAccess });
