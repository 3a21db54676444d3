// Walks through the runs of verdicts. The verdicts are as `workbench check --json` prints them; nothing is computed
// here but which of it is shown. A position counts steps from 0 on; in a run that repeats it goes on past the last
// step, round after round. The address says where we are: #run=1&step=3.
"use strict";
(() => {
  const NONE = "·", COLUMNS = 40, PRINTED = 12, MOST_CHANGES = 14, MOST_SLOTS = 6, WIDEST = 14;
  const SCALE = 1.45, LEAST_SHARE = 0.5; // a drawing is fitted to the window unless that makes it unreadable
  const SVG = "http://www.w3.org/2000/svg";
  const verdicts = JSON.parse(document.getElementById("verdicts").textContent);
  const page = document.getElementById("page");
  let view = null;

  // --- small things ---

  function make(tag, given = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(given)) {
      if (value === false || value == null) continue;
      node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child != null && child !== ""));
    return node;
  }

  function drawn(tag, given, text) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(given)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  // what is as it should be is not touched: that would cost a layout
  function say(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  const cut = (text, most) => (text.length <= most ? text : text.slice(0, most - 1) + "…");

  function show(value) {
    if (value === null || value === undefined) return NONE;
    if (Array.isArray(value)) return `(${value.map(show).join(", ")})`;
    if (typeof value === "object") return `{${Object.entries(value).map(([k, v]) => `${k}: ${show(v)}`).join(", ")}}`;
    return String(value);
  }

  // of a long queue only the oldest events are known
  const held = (values, length) => (values && values.length ? values.map(show).join(" ") + (length > values.length ? " …" : "") : NONE);

  // --- a run ---

  class Run {
    constructor(trace, growing) {
      Object.assign(this, trace);
      this.length = this.steps.length;
      const outputs = {};
      for (const [name, pipe] of Object.entries(this.outputs)) (outputs[pipe] ||= []).push(name);
      const pipes = Object.keys(this.steps[0].pipes);
      // the variables of a system that is watched
      this.rows = Object.keys(this.steps[0].system || {}).map((name) => (
        { kind: "smv", name, label: name, cells: this.steps.map((step) => show(step.system[name])) }));
      this.rows.push(...pipes.filter((name) => this.inputs.includes(name)).map((name) => this.pipe("in", name, [])));
      for (const name of pipes) {
        if (this.inputs.includes(name)) continue;
        const faulty = (this.oracles || {})[name];
        const row = this.pipe(faulty ? "fault" : outputs[name] ? "out" : "pipe", name, outputs[name] || []);
        if (faulty) row.label = faulty;
        if (!faulty || row.cells.some((cell) => cell !== NONE)) this.rows.push(row);
      }
      for (const name of Object.keys(this.steps[0].variables || {})) {
        this.rows.push({ kind: "var", name, label: name, cells: this.steps.map((step) => show(step.variables[name])) });
      }
      for (const name of Object.keys(this.steps[0].queues)) this.rows.push(...this.queue(name));
      for (const [name, cells] of Object.entries(growing || {})) {
        this.rows.push({ kind: "match", name, label: name, cells: cells.map((cell) => cell || NONE) });
      }
    }

    pipe(kind, name, outputs) {
      const others = outputs.filter((output) => output !== name);
      const cells = this.steps.map((step) => show(step.pipes[name]));
      return { kind, name, label: others.length ? `${name} = ${others.join(", ")}` : name, cells };
    }

    queue(name) {
      const row = { kind: "queue", name, label: name, capacity: this.capacities[name] };
      row.cells = this.steps.map((step) => String(step.queues[name]));
      row.over = this.steps.map((step) => step.overflows.includes(name));
      if (this.steps.every((step) => !(step.contents[name] || []).length)) return [row];
      return [row, { kind: "held", name, label: "events", cells: this.steps.map((step) => held(step.contents[name], step.queues[name])) }];
    }

    // where a position is: the step shown, and the round of the loop (0 before it ends for the first time)
    at(position) {
      if (position < this.length) return { column: Math.max(position, 0), round: 0 };
      const around = this.length - this.loop, past = position - this.length;
      return { column: this.loop + (past % around), round: 1 + Math.floor(past / around) };
    }

    // the greatest position: a run that repeats has none
    get most() { return this.loop === null ? this.length - 1 : Infinity; }

    marked(column) { return column >= (this.loop === null ? this.length - 1 : this.loop); }

    changed(row, position) {
      const now = this.at(position).column;
      if (position === 0) return row.cells[now] !== (row.kind === "queue" ? "0" : NONE);
      return row.cells[now] !== row.cells[this.at(position - 1).column];
    }
  }

  // --- the drawing ---

  class Drawing {
    constructor(run, svg) {
      this.run = run;
      this.svg = svg;
      this.edges = new Map();
      this.values = new Map();
      this.queues = new Map();
      for (const edge of svg.querySelectorAll("[data-pipe]")) this.edge(edge, edge.dataset.pipe);
      for (const group of svg.querySelectorAll("[data-queue]")) this.place(group, group.dataset.queue);
    }

    edge(edge, pipe) {
      if (!(pipe in this.run.steps[0].pipes)) return;
      if (!this.edges.has(pipe)) this.edges.set(pipe, []);
      this.edges.get(pipe).push(edge);
      // the text that keeps the room for the widest value
      const room = [...edge.querySelectorAll("text")].pop();
      if (!room || room.getAttribute("font-weight") !== "bold") return;
      const { x, y, width, height } = room.getBBox();
      room.remove();
      const badge = drawn("g", { class: "value" });
      const text = drawn("text", { x: x + width / 2, y: y + height + 2, "text-anchor": "middle" });
      const tip = drawn("title", {});
      const box = drawn("rect", { x: x - 4, y: y + 3.5, width: width + 8, height, rx: 4 });
      badge.append(tip, box, text);
      edge.append(badge);
      this.values.set(pipe, { badge, text, tip });
    }

    place(group, queue) {
      const box = group.querySelector("polygon").getBBox();
      group.classList.add("queue");
      const layer = drawn("g", {}), tip = drawn("title", {});
      group.prepend(tip);
      group.append(layer);
      this.queues.set(queue, { group, layer, tip, box });
    }

    update(position) {
      const { column, round } = this.run.at(position), step = this.run.steps[column];
      const changed = new Set();
      for (const row of this.run.rows) {
        if (this.run.changed(row, position)) changed.add(`${row.kind === "queue" || row.kind === "held" ? "q" : "p"}${row.name}`);
      }
      for (const [pipe, edges] of this.edges) {
        const there = step.pipes[pipe] !== null;
        for (const edge of edges) edge.classList.toggle("flows", there);
        const found = this.values.get(pipe);
        if (!found) continue;
        const unknown = round > 0 && this.run.varies.includes(pipe);
        say(found.text, unknown ? "?" : cut(show(step.pipes[pipe]), WIDEST));
        say(found.tip, `${pipe}: ${unknown ? "differs from round to round" : show(step.pipes[pipe])}`);
        found.badge.classList.toggle("none", !there);
        found.badge.classList.toggle("changed", changed.has(`p${pipe}`) && there);
      }
      for (const [queue, parts] of this.queues) this.fill(queue, parts, step, changed.has(`q${queue}`), round);
    }

    // the oldest event is on the right, next to the processor that will take it
    fill(queue, parts, step, changed, round) {
      const { group, layer, tip, box } = parts;
      const values = step.contents[queue] || [], length = step.queues[queue] ?? 0, capacity = this.run.capacities[queue];
      const over = step.overflows.includes(queue);
      group.classList.toggle("changed", changed);
      group.classList.toggle("over", over);
      const unknown = round > 0 && this.run.varies.includes(queue);
      const of = capacity === undefined ? "" : ` of ${capacity}`;
      const words = unknown ? `${queue}: differs from round to round` :
        `${queue}: ${length}${of} waiting${length ? `, oldest first: ${held(values, length)}` : ""}${over ? "; an event arrives at a full queue" : ""}`;
      if (words === tip.textContent && parts.drawn) return;
      parts.drawn = true;
      tip.textContent = words;
      layer.replaceChildren();
      const middle = box.y + box.height / 2 + 3.5;
      const right = box.x + box.width;
      if (capacity !== undefined && capacity <= MOST_SLOTS && !unknown) {
        const width = box.width / Math.max(capacity, 1);
        for (let i = 0; i < capacity; i++) {
          const x = right - (i + 1) * width;
          layer.append(drawn("rect", { class: i < length ? "slot full" : "slot", x, y: box.y, width, height: box.height }));
          if (i < length) {
            const most = Math.max(1, Math.floor((width - 2) / 5.5));
            layer.append(drawn("text", { x: x + width / 2, y: middle, "text-anchor": "middle" }, cut(show(values[i]), most)));
          }
        }
      } else {
        const share = capacity ? Math.min(length / capacity, 1) : length ? 1 : 0;
        layer.append(drawn("rect", { class: "slot", x: box.x, y: box.y, width: box.width, height: box.height }));
        layer.append(drawn("rect", { class: "slot full", x: right - share * box.width, y: box.y, width: share * box.width, height: box.height }));
        const text = unknown ? "?" : length ? cut([...values].reverse().map(show).join(" "), Math.floor((box.width - 4) / 5.5)) : "";
        layer.append(drawn("text", { x: box.x + box.width / 2, y: middle, "text-anchor": "middle" }, text));
      }
      if (over) layer.append(drawn("text", { class: "bang", x: box.x - 6, y: middle, "text-anchor": "middle" }, "!"));
    }
  }

  // --- the table ---

  // the columns `from` to `to` of a run; `cells` remembers what is in each column
  function table(run, from, to, cells) {
    const steps = [...Array(to - from).keys()].map((i) => i + from);
    const mark = (column) => (run.marked(column) ? (run.loop === null ? "last" : "loop") : "");
    const head = make("tr", {}, make("th", { scope: "row", colspan: 2 }, "step"));
    for (const column of steps) {
      const button = make("button", { type: "button", tabindex: -1, "data-step": column }, String(column));
      const cell = make("th", { class: mark(column) || null, scope: "col" }, button);
      cells?.set(column, [cell]);
      head.append(cell);
    }
    head.append(make("th"));
    const body = make("tbody");
    let before = "";
    for (const row of run.rows) {
      const divides = row.kind !== before && (before === "smv" || (row.kind === "queue" && !["", "held"].includes(before)));
      before = row.kind;
      const words = { smv: "smv", in: "in", fault: "fault", out: "out", var: "var", queue: "queue", match: "match" };
      const line = make("tr", { class: divides ? `${row.kind} first` : row.kind },
        make("td", { class: "kind" }, words[row.kind] || ""), make("th", { scope: "row" }, row.label));
      for (const column of steps) {
        const text = row.cells[column], over = row.over?.[column];
        const names = [mark(column), text === NONE || (row.kind === "queue" && text === "0") ? "none" : "", over ? "over" : ""];
        if (column > 0 && row.cells[column] !== row.cells[column - 1]) names.push("changed");
        const title = over ? "an event arrives at a full queue" : text.length > 24 ? text : null;
        const cell = make("td", { class: names.filter(Boolean).join(" ") || null, title }, cut(text, 24) + (over ? "!" : ""));
        cells?.get(column).push(cell);
        line.append(cell);
      }
      line.append(make("td", { class: "of" }, row.capacity === undefined ? "" : `of ${row.capacity}`));
      body.append(line);
    }
    return make("table", { class: "timeline" }, make("thead", {}, head), body, foot(run, from, to));
  }

  // what stands below the columns: ▲ below the last step, a bracket below those that repeat
  function foot(run, from, to) {
    const first = Math.max(run.loop === null ? run.length - 1 : run.loop, from);
    if (first >= to) return make("tfoot");
    const sign = run.loop === null ? "▲" : "↻";
    const kind = run.loop === null ? "last" : "loop";
    return make("tfoot", {}, make("tr", {}, make("td", { colspan: 2 + first - from }), make("td", { class: kind, colspan: to - first }, sign), make("td")));
  }

  // --- one verdict ---

  class View {
    constructor(verdict, number) {
      this.verdict = verdict;
      this.number = number;
      const trace = verdict.trace || verdict.witness;
      this.run = trace && trace.steps.length ? new Run(trace, verdict.growing) : null;
      this.position = 0;
      this.page = -1;
      this.cells = new Map();
      this.node = make("section", { class: verdict.verdict, role: "tabpanel", id: "verdict", "aria-labelledby": `tab-${number}` }, ...this.head(), ...(this.run ? this.body() : []));
    }

    head() {
      const v = this.verdict;
      const title = make("h2", {}, make("span", { class: "outcome" }, `${v.sign} ${v.verdict}`), make("code", {}, v.property), make("span", { class: "of" }, `of ${v.pipeline}`));
      const rests = make("ul", { class: "rests" }, ...(v.assumptions || []).map((text) => make("li", {}, text)));
      const parts = [title, v.reason ? make("p", { class: "reason" }, v.reason) : null];
      if (v.assumptions?.length) parts.push(make("h3", {}, "rests on"), rests);
      const engine = `${v.engine}, ${v.seconds.toFixed(2)} s`;
      if (!this.run) parts.push(make("p", { class: "engine" }, engine), make("p", { class: "norun" }, "No run is needed to show it."));
      else {
        const about = [engine, this.run.replay, this.run.shortest ? "no shorter run shows it" : "a shorter run may show it, too"];
        parts.push(make("p", { class: /^model gap/.test(this.run.replay) ? "engine gap" : "engine" }, about.filter(Boolean).join("; ")));
      }
      return parts.filter(Boolean);
    }

    body() {
      const run = this.run;
      const button = (name, sign, title, act) => {
        const made = make("button", { type: "button", id: name, title, "aria-label": title }, sign);
        made.addEventListener("click", act);
        return made;
      };
      this.first = button("first", "⇤", "first step (Home)", () => this.go(0));
      this.back = button("back", "←", "one step back (left arrow)", () => this.go(this.position - 1));
      this.forward = button("forward", "→", "one step forward (right arrow)", () => this.go(this.position + 1));
      this.end = button("end", "⇥", "last step (End)", () => this.go(run.length - 1));
      this.slider = make("input", { type: "range", id: "slider", min: 0, max: run.length - 1, value: 0, "aria-label": "step" });
      this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
      this.where = make("output", { id: "where" });
      this.word = make("p", { id: "word", class: "shows" });
      this.changes = make("p", { id: "changes", "aria-live": "polite" });
      this.figure = make("figure", { id: "drawing" });
      const kind = this.verdict.trace ? "a run that violates it" : "a run that meets the bound";
      const fit = make("button", { type: "button", id: "fit", "aria-pressed": "false", title: "fit the drawing to the window (f)" }, "fit");
      fit.addEventListener("click", () => this.fit());
      this.fitted = fit;
      this.table = make("div", { class: "scroll", id: "timeline" });
      this.table.addEventListener("click", (event) => {
        const found = event.target.closest("[data-step]");
        if (found) this.go(Number(found.dataset.step));
      });
      const keys = make("p", { class: "keys" }, "Keys: ", make("kbd", {}, "←"), " ", make("kbd", {}, "→"), " a step, ", make("kbd", {}, "Home"), " ", make("kbd", {}, "End"), " its ends, ", make("kbd", {}, "Page ↑"), " ", make("kbd", {}, "Page ↓"), " ten steps", verdicts.length > 1 ? make("span", {}, ", ", make("kbd", {}, "["), " ", make("kbd", {}, "]"), " the other verdicts") : "");
      return [
        make("div", { class: "bar" }, make("h3", {}, kind), make("div", { class: "controls" }, this.first, this.back, this.slider, this.forward, this.end, this.where, fit)),
        this.word, this.figure, this.changes, this.table, keys,
        run.varies.length ? make("p", { class: "varies" }, `The property does not look at ${cut(run.varies.join(", "), 200)}: there, later rounds of the loop may show other values.`) : null,
      ].filter(Boolean);
    }

    // the drawing needs to be in the page to be measured
    mount() {
      if (!this.run || this.drawing !== undefined) return;
      const place = this.verdict.drawing, held = place === null ? null : document.getElementById(`drawing-${place}`);
      const svg = held?.content.querySelector("svg");
      this.drawing = null;
      if (!svg) {
        this.figure.replaceWith(make("p", { class: "engine" }, "Graphviz was not found when this page was written, so there is no drawing."));
        this.fitted.remove();
        return;
      }
      const copy = svg.cloneNode(true);
      copy.setAttribute("role", "img");
      copy.setAttribute("aria-label", `drawing of ${this.verdict.pipeline}`);
      this.figure.append(copy);
      this.drawing = new Drawing(this.run, copy);
      this.natural = copy.viewBox.baseVal.width * SCALE;
      copy.style.width = `${this.natural}px`;
      const share = this.figure.clientWidth / this.natural;
      this.fitted.hidden = share >= 1;
      if (share < 1 && share > LEAST_SHARE) this.fit();
    }

    fit() {
      const on = this.fitted.getAttribute("aria-pressed") !== "true";
      this.fitted.setAttribute("aria-pressed", String(on));
      this.drawing.svg.style.width = on ? "100%" : `${this.natural}px`;
    }

    go(position) {
      const run = this.run;
      if (!run) return;
      this.position = Math.min(Math.max(position, 0), run.most);
      const { column, round } = run.at(this.position);
      this.slider.value = column;
      this.slider.setAttribute("aria-valuetext", `step ${column} of ${run.length - 1}`);
      this.back.disabled = this.first.disabled = this.position === 0;
      this.forward.disabled = this.position >= run.most;
      this.end.disabled = this.position === run.length - 1;
      this.where.replaceChildren(make("b", {}, `step ${column}`), ` of ${run.length - 1}`, round ? make("span", { class: "round" }, ` ↻ round ${round + 1}`) : "");
      this.tell(column);
      this.list();
      this.columns(column);
      this.drawing?.update(this.position);
      const state = `#run=${this.number + 1}&step=${this.position}`;
      try {
        if (location.hash !== state) history.replaceState(null, "", state);
      } catch { /* some browsers allow only so many a minute */ }
    }

    // what the run shows, said at the steps that show it
    tell(column) {
      const run = this.run, here = run.marked(column);
      this.word.classList.toggle("here", here);
      const steps = run.loop === run.length - 1 ? `step ${run.loop}` : `steps ${run.loop} to ${run.length - 1}`;
      const words = run.loop === null ? `▲ step ${run.length - 1}: ` : `↻ ${steps}, again and again: `;
      this.word.replaceChildren(make("b", {}, words), run.shows);
    }

    // the difference to the step before
    list() {
      const run = this.run, { column } = run.at(this.position);
      const found = [];
      for (const row of run.rows) {
        // a queue is told by its contents where they are shown
        if (row.kind === "queue" && run.rows.some((other) => other.kind === "held" && other.name === row.name)) continue;
        if (!run.changed(row, this.position)) continue;
        const old = this.position === 0 ? (row.kind === "queue" ? "0" : NONE) : row.cells[run.at(this.position - 1).column];
        found.push([row, old, row.cells[column]]);
      }
      const shown = found.slice(0, MOST_CHANGES).map(([row, old, now]) =>
        make("span", { class: "change" }, make("code", {}, row.kind === "held" ? `queue ${row.name}` : row.name), ` ${cut(old, 24)} → `, make("b", {}, cut(now, 24))));
      const since = this.position === 0 ? "at the start: " : `since step ${run.at(this.position - 1).column}: `;
      this.changes.replaceChildren(make("span", { class: "since" }, since), ...(shown.length ? shown : ["no change"]),
        found.length > MOST_CHANGES ? make("span", { class: "since" }, `and ${found.length - MOST_CHANGES} more`) : "");
    }

    columns(column) {
      const wanted = Math.floor(column / COLUMNS);
      if (wanted !== this.page) {
        this.page = wanted;
        this.cells.clear();
        const from = wanted * COLUMNS, to = Math.min(from + COLUMNS, this.run.length);
        const parts = [table(this.run, from, to, this.cells)];
        if (this.run.length > COLUMNS) parts.unshift(make("p", { class: "part" }, `steps ${from} to ${to - 1} of ${this.run.length}`));
        this.table.replaceChildren(...parts);
        this.now = null;
      }
      for (const cell of this.cells.get(this.now) || []) cell.classList.remove("now");
      for (const cell of this.cells.get(column)) cell.classList.add("now");
      this.cells.get(column)[0].setAttribute("aria-current", "step");
      if (this.now !== null && this.now !== column) this.cells.get(this.now)?.[0].removeAttribute("aria-current");
      this.now = column;
      this.reveal(this.cells.get(column)[0]);
    }

    // sideways only: the page itself stays where it is
    reveal(cell) {
      const box = this.table, left = cell.offsetLeft - 200, right = cell.offsetLeft + cell.offsetWidth + 60;
      if (left < box.scrollLeft) box.scrollLeft = left;
      else if (right > box.scrollLeft + box.clientWidth) box.scrollLeft = right - box.clientWidth;
    }

    // on paper: the whole run, in blocks
    paper() {
      if (!this.run) return;
      const blocks = [];
      for (let from = 0; from < this.run.length; from += PRINTED) blocks.push(table(this.run, from, Math.min(from + PRINTED, this.run.length)));
      this.table.replaceChildren(...blocks);
      this.page = -1;
    }
  }

  // --- the page ---

  const views = verdicts.map(() => null);
  const tabs = verdicts.map((verdict, number) => {
    const tab = make("button", { type: "button", role: "tab", id: `tab-${number}`, class: verdict.verdict, "aria-controls": "verdict" }, make("span", { class: "outcome" }, verdict.sign), make("code", {}, verdict.property));
    tab.addEventListener("click", () => open(number, 0));
    return tab;
  });

  function open(number, position) {
    const chosen = Math.min(Math.max(number || 0, 0), verdicts.length - 1);
    const fresh = (views[chosen] ||= new View(verdicts[chosen], chosen));
    if (view !== fresh) {
      view = fresh;
      shown.replaceChildren(view.node);
      tabs.forEach((tab, i) => { tab.setAttribute("aria-selected", String(i === chosen)); tab.tabIndex = i === chosen ? 0 : -1; });
      view.mount();
    }
    view.go(position);
  }

  function follow() {
    const given = new URLSearchParams(location.hash.slice(1));
    const number = Number(given.has("run") ? given.get("run") : page.dataset.first) - 1;
    const step = Math.floor(Number(given.get("step")));
    open(number, Number.isSafeInteger(step) ? step : 0);
  }

  const KEYS = {
    ArrowLeft: () => view.go(view.position - 1), ArrowRight: () => view.go(view.position + 1),
    Home: () => view.go(0), End: () => view.run && view.go(view.run.length - 1),
    PageUp: () => view.go(view.position - 10), PageDown: () => view.go(view.position + 10),
    "[": () => open(view.number - 1, 0), "]": () => open(view.number + 1, 0),
    f: () => view.drawing && !view.fitted.hidden && view.fit(),
  };
  addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });
  addEventListener("hashchange", follow);
  addEventListener("beforeprint", () => view?.paper());
  addEventListener("afterprint", () => view?.go(view.position));

  const shown = make("div");
  const many = verdicts.length > 1;
  page.replaceChildren(make("header", {}, make("p", { class: "brand" }, "workbench"), many ? make("nav", { role: "tablist", "aria-label": "verdicts" }, ...tabs) : ""), shown);
  if (!many) page.append(make("div", { hidden: true }, ...tabs));
  follow();
})();
