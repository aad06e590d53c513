/*
 * One control of the page overlays the curves of one document on the same charts of all others. Overlaid elements have
 * the class "over". Charts are the same if their names (data-chart) and all their axes are. If a page shows the
 * difference of two documents, they are overlaid from the start, and the second one's charts are hidden.
 */

const laidOver = "over";
const main = document.querySelector("main")!;
const chapters = [...main.querySelectorAll<HTMLElement>(".chapter:not(.whole)")];

/** A chart, and the same chart of each document that has it. */
interface Shared {
  figure: HTMLElement;
  others: ReadonlyMap<HTMLElement, HTMLElement>;
}

const shared = [...main.querySelectorAll<HTMLElement>(".chapter:not(.whole) figure[data-chart]")].flatMap(
  (figure): Shared[] => {
    const chart = chartOf(figure);
    if (chart.querySelector(".curve .line") === null) return [];
    const others = new Map(
      chapters.flatMap((chapter) => {
        const other = chapter.querySelector<HTMLElement>(
          `figure[data-chart="${figure.dataset.chart ?? ""}"]`,
        );
        const isSame = other !== null && other !== figure && axesOf(chartOf(other)) === axesOf(chart);
        return isSame && !chapter.contains(figure) ? [[chapter, other] as const] : [];
      }),
    );
    return others.size === 0 ? [] : [{ figure, others }];
  },
);
if (shared.length > 0) addControl();

function chartOf(figure: HTMLElement): SVGSVGElement {
  return figure.querySelector("svg.chart")!;
}

/** The marks of its axes and their places, which must be equal for two charts to be compared; rules may differ. */
function axesOf(chart: SVGSVGElement): string {
  const { left, top } = corner(chart);
  const texts = [...chart.querySelectorAll<SVGTextElement>(":scope > text.quiet:not(.halo)")].map(
    (text) =>
      `${text.textContent}@${Math.round(number(text, "x") - left)},${Math.round(number(text, "y") - top)}`,
  );
  return texts.join("|");
}

/** The upper left corner of the grid, which is lower below a larger legend. */
function corner(chart: SVGSVGElement): { left: number; top: number } {
  const lines = [...chart.querySelectorAll<SVGLineElement>("line.grid")];
  const least = (one: string, other: string) =>
    Math.min(...lines.flatMap((line) => [number(line, one), number(line, other)]));
  return { left: least("x1", "x2"), top: least("y1", "y2") };
}

function number(element: Element, attribute: string): number {
  return Number(element.getAttribute(attribute));
}

function titleOf(element: HTMLElement): string {
  return element.closest<HTMLElement>(".chapter")?.dataset.label ?? "";
}

function addControl(): void {
  const choice = document.createElement("select");
  choice.append(
    new Option("nothing", ""),
    ...chapters.map((chapter, i) => new Option(titleOf(chapter), String(i))),
  );
  const label = document.createElement("label");
  label.className = "control";
  label.append("Compare all charts with: ", choice);
  chapters[0]!.before(label);
  const show = () => layOverAll(chapters[Number(choice.value || "-1")]);
  choice.addEventListener("change", show);
  if (main.querySelector(".whole") === null) return;
  choice.value = "1";
  show();
}

function layOverAll(chosen: HTMLElement | undefined): void {
  for (const old of main.querySelectorAll(`.curve.${laidOver}, figcaption small`)) old.remove();
  for (const { figure, others } of shared) {
    const other = chosen && others.get(chosen);
    if (other === undefined) continue;
    layOver(chartOf(figure), other);
    const names = document.createElement("small");
    names.textContent = ` filled: ${titleOf(figure)}; hollow, dotted: ${titleOf(other)}`;
    figure.querySelector("figcaption")!.append(names);
  }
  // For two documents one picture is enough, if both have the chart.
  const isDouble = (figure: Element) => shared.some((one) => one.figure === figure);
  const [first, second] = chapters.map((chapter) => [
    ...chapter.querySelectorAll(":scope > div > .charts > figure"),
  ]);
  const isPair = chapters.length === 2 && [...(first ?? []), ...(second ?? [])].every(isDouble);
  main.classList.toggle("overlaid", chosen !== undefined && isPair);
  for (const chapter of chapters) chapter.classList.toggle("drawn-elsewhere", chapter === chosen);
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
    // One press hides the curves of a name in both documents.
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
