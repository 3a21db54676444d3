// The panel: the results behind a cell, a point or a claim, which the address names as #r=3,4.
"use strict";
(() => {
  const given = document.getElementById("results");
  const results = JSON.parse(given.textContent);
  const served = given.dataset.served === "yes"; // by the web application, which can do more than show
  const MOST = 200;
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
    add(article, "div", `${r.cpu} CPU s, ${r.wall} s, ${r.peak} MB${r.gpus && `, ${r.gpus}`}, limits by ${r.limits}; load ${r.load}, stolen ${r.steal}${loaded}`);
    add(article, "div", `${r.started} UTC, run ${r.run}, code ${r.code}, commit ${r.commit || "unknown"}, seed ${r.seed}`);
    if (r.log) add(article, "pre", r.log);
    const options = given.dataset.options && `${given.dataset.options} `;
    add(article, "pre", `workbench lab run ${given.dataset.suite} ${options}--id ${r.id.split(".")[0]} --again\nworkbench lab show ${options}${r.id}`);
    if (r.page && served) {
      add(article, "a", "the pipeline, and the run that shows it").href = `${location.pathname}/page/${r.id}`;
    }
  };
  const again = (places) => {
    const form = add(panel, "form");
    form.method = "post";
    form.action = `${location.pathname}/start`;
    const fields = [["again", "on"], ...places.map((place) => ["id", results[place].id])];
    for (const [name, value] of fields) Object.assign(add(form, "input"), { type: "hidden", name, value });
    add(form, "button", places.length === 1 ? "measure it again" : "measure these again").id = "again";
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
    if (served && given.dataset.running === "no" && places.length && places.length <= MOST) again(places);
    places.slice(0, MOST).forEach((place) => show(results[place]));
    if (places.length > MOST) add(panel, "p", `... and ${places.length - MOST} more`);
    panel.scrollTop = 0;
  };
  addEventListener("hashchange", look);
  addEventListener("keydown", (event) => { if (event.key === "Escape" && !panel.hidden) panel.querySelector("button").click(); });
  look();
})();
