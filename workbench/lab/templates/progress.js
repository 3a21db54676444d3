// The progress of a sweep, asked for every second; the page is loaded again when it ends.
(() => {
  const line = document.getElementById("progress");
  const look = async () => {
    const state = await (await fetch(`${location.pathname}/progress`)).json();
    const bar = line.querySelector("progress");
    bar.max = Math.max(state.total, 1);
    bar.value = state.done;
    line.querySelector("span").textContent = [state.line, state.message].filter(Boolean).join(": ");
    if (state.running) setTimeout(look, 1000);
    else location.reload();
  };
  if (line.dataset.running === "yes") setTimeout(look, 500);
})();
