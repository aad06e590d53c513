/*
 * Makes the names above a chart into toggle buttons for their curves. A click or Enter hides a curve or shows it again.
 * A double click, or one with Shift, shows only that curve, or all again. Hidden elements have the class "off".
 */

for (const chart of document.querySelectorAll<SVGSVGElement>("figure svg.chart")) prepare(chart);

function prepare(chart: SVGSVGElement): void {
  const names = [...chart.querySelectorAll<SVGGElement>(".legend[data-curve]")];
  for (const name of names) {
    makeButton(name);
    name.addEventListener("click", (event) => {
      if (event.shiftKey) showAlone(chart, names, name);
      else show(chart, name, isOff(name));
    });
    // Its two clicks hide the curve and show it again.
    name.addEventListener("dblclick", () => showAlone(chart, names, name));
    name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      if (event.shiftKey) showAlone(chart, names, name);
      else show(chart, name, isOff(name));
    });
  }
}

function makeButton(name: SVGGElement): void {
  name.setAttribute("role", "button");
  name.setAttribute("tabindex", "0");
  name.setAttribute("aria-pressed", "true");
  name.setAttribute("aria-label", name.querySelector("text")?.textContent ?? "");
  // Makes the gaps between line, mark and name clickable too.
  const { x, y, width, height } = name.getBBox();
  const hit = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ x: x - 4, y: y - 3, width: width + 8, height: height + 6 })) {
    hit.setAttribute(key, String(value));
  }
  hit.classList.add("hit");
  name.prepend(hit);
}

function isOff(name: SVGGElement): boolean {
  return name.classList.contains("off");
}

function show(chart: SVGSVGElement, name: SVGGElement, isShown: boolean): void {
  name.setAttribute("aria-pressed", String(isShown));
  for (const part of chart.querySelectorAll(`[data-curve="${name.dataset.curve ?? ""}"]`)) {
    part.classList.toggle("off", !isShown);
  }
}

function showAlone(chart: SVGSVGElement, names: SVGGElement[], alone: SVGGElement): void {
  const isAlone = names.every((name) => isOff(name) !== (name === alone));
  for (const name of names) show(chart, name, isAlone || name === alone);
}
