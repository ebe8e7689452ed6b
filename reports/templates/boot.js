"use strict";
// The page is whole without this: charts are drawn already. Here they get tooltips, and commands a copy button.
for (const plot of document.querySelectorAll(".plot[data-spec]")) {
  if (typeof vegaEmbed !== "function") break;
  const spec = JSON.parse(document.getElementById(plot.dataset.spec).textContent);
  spec.width = Number(plot.dataset.width);
  const target = document.createElement("div");
  vegaEmbed(target, spec, { actions: false, ast: true, renderer: "svg", tooltip: { theme: "custom" } })
    .then(() => plot.replaceChildren(target))
    .catch(() => {});
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
