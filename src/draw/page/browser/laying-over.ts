/*
 * Where the same chart stands in several documents of a page, a control below it lays the curves of another one over it.
 * What is laid over has the class "over". Charts are the same where their names (data-chart) and all their axes are.
 */

const laidOver = "over";

for (const figure of document.querySelectorAll<HTMLElement>("figure[data-chart]")) {
  const chart = chartOf(figure);
  const same = [
    ...document.querySelectorAll<HTMLElement>(`figure[data-chart="${figure.dataset.chart ?? ""}"]`),
  ].filter((other) => other !== figure && axesOf(chartOf(other)) === axesOf(chart));
  if (same.length > 0 && chart.querySelector(".curve .line") !== null) addControl(figure, chart, same);
}

function chartOf(figure: HTMLElement): SVGSVGElement {
  return figure.querySelector("svg.chart")!;
}

/** What its axes are marked with and where, so that two charts can be compared; lines across them may differ. */
function axesOf(chart: SVGSVGElement): string {
  const { left, top } = corner(chart);
  const texts = [...chart.querySelectorAll<SVGTextElement>(":scope > text.quiet:not(.halo)")].map(
    (text) =>
      `${text.textContent}@${Math.round(number(text, "x") - left)},${Math.round(number(text, "y") - top)}`,
  );
  return texts.join("|");
}

/** The upper left corner of the grid, which lies lower where the legend has more rows. */
function corner(chart: SVGSVGElement): { left: number; top: number } {
  const lines = [...chart.querySelectorAll<SVGLineElement>("line.grid")];
  const least = (one: string, other: string) =>
    Math.min(...lines.flatMap((line) => [number(line, one), number(line, other)]));
  return { left: least("x1", "x2"), top: least("y1", "y2") };
}

function number(element: Element, attribute: string): number {
  return Number(element.getAttribute(attribute));
}

function titleOf(figure: HTMLElement): string {
  return figure.closest(".chapter")?.querySelector("h2")?.textContent ?? "";
}

function addControl(figure: HTMLElement, chart: SVGSVGElement, others: HTMLElement[]): void {
  const choice = document.createElement("select");
  choice.append(
    new Option("nothing", ""),
    ...others.map((other, i) => new Option(titleOf(other), String(i))),
  );
  const label = document.createElement("label");
  label.className = "control";
  label.append("Lay over, hollow and dotted: ", choice);
  figure.append(label);
  choice.addEventListener("change", () => {
    for (const old of chart.querySelectorAll(`.curve.${laidOver}`)) old.remove();
    const other = others[Number(choice.value)];
    if (choice.value !== "" && other !== undefined) layOver(chart, other);
  });
}

function layOver(chart: SVGSVGElement, other: HTMLElement): void {
  const source = chartOf(other);
  const [to, from] = [corner(chart), corner(source)];
  const last = [...chart.querySelectorAll(".curve")].at(-1)!;
  const copies = [...source.querySelectorAll<SVGGElement>(`.curve:not(.${laidOver})`)].map((curve) => {
    const copy = curve.cloneNode(true) as SVGGElement;
    copy.classList.add(laidOver);
    copy.classList.remove("off");
    copy.setAttribute("aria-hidden", "true");
    copy.setAttribute("transform", `translate(${to.left - from.left} ${to.top - from.top})`);
    for (const read of copy.querySelectorAll(".read")) read.classList.remove("read");
    const of = ` (${titleOf(other)})`;
    for (const title of copy.querySelectorAll("title")) title.append(of);
    for (const mark of copy.querySelectorAll<SVGElement>("[data-text]")) mark.dataset.text += of;
    // One press hides the curves of one name, whichever document they are of.
    const name = nameOf(source, curve.dataset.curve ?? "");
    const own = [...chart.querySelectorAll<SVGGElement>(".legend")].find(
      (entry) => nameOf(chart, entry.dataset.curve ?? "") === name,
    );
    if (own?.dataset.curve === undefined) copy.dataset.curve = "other";
    else copy.dataset.curve = own.dataset.curve;
    copy.classList.toggle("off", own?.classList.contains("off") ?? false);
    return copy;
  });
  last.after(...copies);
}

function nameOf(chart: SVGSVGElement, curve: string): string {
  return chart.querySelector(`.legend[data-curve="${curve}"] text`)?.textContent ?? "";
}
