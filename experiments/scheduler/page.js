// Shows one moment of a run at a time. The address says which: #moment-3.
"use strict";
(() => {
  const figures = [...document.querySelectorAll("figure")];
  const [bar, slider, back, on, where] = [".bar", "#slider", "#back", "#on", "#where"].map((each) => document.querySelector(each));
  let at = 0;

  function show(place) {
    at = Math.max(0, Math.min(figures.length - 1, place));
    figures.forEach((figure, i) => (figure.hidden = i !== at));
    slider.value = at + 1;
    where.textContent = `${at + 1} of ${figures.length}`;
    [back.disabled, on.disabled] = [at === 0, at === figures.length - 1];
    history.replaceState(null, "", `#moment-${at + 1}`);
  }

  const named = () => (Number((location.hash.match(/^#moment-(\d+)$/) || [])[1]) || 1) - 1;
  slider.addEventListener("input", () => show(slider.value - 1));
  back.addEventListener("click", () => show(at - 1));
  on.addEventListener("click", () => show(at + 1));
  window.addEventListener("hashchange", () => show(named()));
  document.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: figures.length - 1 }[event.key];
    if (way === undefined || event.target === slider || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    show(way);
  });
  if (figures.length) {
    bar.hidden = false;
    show(named());
  }
})();
