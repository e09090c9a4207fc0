// Counters that come from other systems, stand beside them, or go back.

const AGAIN = " If it stays here, run the same command again: it goes on.";
/** What a phase means: here, at the source, and how far that is on the way. */
const PHASES = {
	planned: ["as it was", "serves", "Nothing has changed yet. The command that began it goes on.", ""],
	fencing: ["refuses for a moment", "serves, or is fenced", "The source is being closed." + AGAIN, "warn"],
	fenced: ["refuses for a moment", "is fenced", "Ours is set to its first number." + AGAIN, "warn"],
	open: ["serves", "is fenced, or serves below its ceiling", "Moved: this server gives the numbers.", "good"],
	beside: ["serves what it takes", "serves", "Both give numbers; ours are taken out of the source.", "good"],
	returning: ["refuses for a moment", "is fenced", "It is on its way back." + AGAIN, "warn"],
	returned: ["refuses", "serves above our last number", "Moved back: the source gives the numbers.", ""],
};
const WAY = { open: ["planned", "fencing", "fenced", "open"], beside: ["planned", "beside"], returned: ["open", "returning", "returned"] };

const moveCard = ({ name, record, move, version }) => {
	const it = move ?? record;
	const [ours, source, means, kind] = PHASES[it.phase] ?? ["?", "?", "This console does not know the phase.", ""];
	const way = it.phase === "beside" ? WAY.beside : it.phase.startsWith("return") ? WAY.returned : WAY.open;
	const number = (label, value) => value != null && [label, int(value)];
	return h("section.card",
		div("bar", h("h2.flush", link(hashOf("sequences", [name]), name)), h("span", { class: "tag " + kind }, it.phase), h("span.soft.rest", "since ", fmt.time(it.at_ms))),
		h("ol.way", { label: "Phases" }, way.map((phase) => h("li", { "aria-current": phase === it.phase ? "step" : null, class: way.indexOf(phase) < way.indexOf(it.phase) ? "done" : "" }, phase))),
		h("p", means),
		factList([["From", `${it.kind} ${it.source}`], ["Its key there", it.key], ["Ours", ours], ["The source", source],
			number("The source never gives out", it.mark), number("Ours begins at", it.first), number("Ceiling of the source", it.ceiling), number("Largest in its columns", it.highest),
			number("Reserved here at most", it.issued), number("Skipped above the mark", it.advance), number("Numbers a take", it.take),
			it.former?.length && ["Taken back before", int(it.former.length) + (it.former.length > 1 ? " times" : " time")],
			["Move", h("span.mono", `${it.id}, version ${version}`)]]));
};

const showMove = async (root, args, query, life) => {
	const list = div("cards");
	root.append(para("soft", "Moves are made with mint import; here you see how far they are."), list);
	await repeated(5, life, async () => {
		const { moves } = await get("/v1/moves", life);
		if (inUse(list)) return;
		putIn(list, moves.length ? moves.map(moveCard) : empty("Nothing was moved here.", "mint import brings counters from PostgreSQL, MySQL, Redis and others, without a repeat."));
	}, (error) => showError(list, error));
};

addView({ name: "move", title: "Move", nav: true, show: showMove });
