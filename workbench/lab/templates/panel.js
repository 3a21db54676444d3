// The panel: the results behind a cell, a point or a claim, which the address names as #r=3,4.
"use strict";
(() => {
  const results = JSON.parse(document.getElementById("results").textContent);
  const panel = document.getElementById("panel");
  const add = (parent, tag, text) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  const listed = (object) => Object.entries(object).map(([name, value]) => `${name} = ${value}`).join(", ");
  const show = (r) => {
    const article = add(panel, "article");
    const head = add(article, "h3", `${r.experiment} `);
    add(head, "span", r.status).className = r.status === "ok" ? "good" : "bad";
    add(article, "div", listed(r.point));
    if (Object.keys(r.outputs).length) add(article, "div", `→ ${listed(r.outputs)}`);
    if (r.reason) add(article, "pre", r.reason);
    const loaded = r.reliable ? "" : ", timings unreliable";
    add(article, "div", `${r.cpu} CPU s, ${r.wall} s, ${r.peak} MB, limits by ${r.limits}; load ${r.load}, stolen ${r.steal}${loaded}`);
    add(article, "div", `${r.started} UTC, run ${r.run}, code ${r.code}, commit ${r.commit || "unknown"}, seed ${r.seed}`);
    if (r.log) add(article, "pre", r.log);
    const suite = document.getElementById("results").dataset.suite;
    add(article, "pre", `workbench lab run ${suite} --id ${r.id.split(".")[0]} --again\nworkbench lab show ${r.id}`);
    if (r.page && location.protocol.startsWith("http")) {
      add(article, "a", "the pipeline, and the run that shows it").href = `${location.pathname}/page/${r.id}`;
    }
  };
  const look = () => {
    const asked = /^#r=([\d,]+)$/.exec(location.hash);
    panel.hidden = !asked;
    panel.replaceChildren();
    if (!asked) return;
    const close = add(panel, "button", "close");
    close.onclick = () => { history.replaceState(null, "", location.pathname + location.search); look(); };
    const places = asked[1].split(",").map(Number).filter((place) => place in results);
    add(panel, "p", places.length === 1 ? "1 measurement" : `${places.length} measurements`);
    places.slice(0, 200).forEach((place) => show(results[place]));
    if (places.length > 200) add(panel, "p", `... and ${places.length - 200} more`);
    panel.scrollTop = 0;
  };
  addEventListener("hashchange", look);
  addEventListener("keydown", (event) => { if (event.key === "Escape" && !panel.hidden) panel.querySelector("button").click(); });
  look();
})();
