"use strict";
// The page is whole without this: charts are drawn already. Here they get tooltips, commands a copy button,
// and the list of items a field to search it.
// Vega's script is read, and a chart drawn by it, when the pointer first comes to a chart: opening waits for neither.
const readVega = () => {
  if (typeof vegaEmbed === "function") return;
  const script = document.createElement("script");
  script.textContent = document.getElementById("vega").textContent;
  document.head.append(script);
};
const redraw = (plot) => {
  readVega();
  const spec = JSON.parse(document.getElementById(plot.dataset.spec).textContent);
  spec.width = Number(plot.dataset.width);
  const target = document.createElement("div");
  vegaEmbed(target, spec, { actions: false, ast: true, renderer: "svg", tooltip: { theme: "custom" } })
    .then(() => plot.replaceChildren(target))
    .catch(() => {});
};
for (const plot of document.querySelectorAll(".plot[data-spec]")) {
  plot.addEventListener("pointerenter", () => redraw(plot), { once: true });
}
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const source = document.getElementById(button.dataset.copy);
    const done = () => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    };
    const select = () => getSelection().selectAllChildren(source);
    if (navigator.clipboard) navigator.clipboard.writeText(source.textContent).then(done, select);
    else select();
  });
}
const search = document.getElementById("disagreements-search");
if (search) {
  let items;
  const found = document.getElementById("disagreements-found");
  search.closest("[hidden]").hidden = false;
  search.addEventListener("input", () => {
    items ??= [...document.querySelectorAll("details.item")].map((item) => [item, item.textContent.toLowerCase()]);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const [item, text] of items) item.hidden = !words.every((word) => text.includes(word));
    const left = items.filter(([item]) => !item.hidden).length;
    found.textContent = words.length ? `${left} of ${items.length} items` : "";
  });
}
