/*
 * Shows the points of charts as text: the one nearest to a pointer or finger, or one after the other by keyboard. An
 * element with a <title> is a point. An element with data-curve has the points of one curve.
 */

interface ReadablePoint {
  mark: SVGGraphicsElement;
  curve: Element;
  text: string;
}

/** A rectangle in pixels, relative to the upper left corner of the displayed chart. */
interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

const tipDistance = 10;

const charts = [...document.querySelectorAll<SVGSVGElement>("figure svg.chart")];
const announced = document.createElement("p");
announced.className = "unseen";
announced.setAttribute("aria-live", "polite");

if (charts.length > 0) {
  document.querySelector("main")?.append(announced);
  showHelp();
  for (const chart of charts) makeReadable(chart);
}

function showHelp(): void {
  const help = document.createElement("p");
  help.className = "help muted";
  help.textContent =
    "Point at a chart to read it; a click on a name hides its curve, a double click shows it alone. By keyboard: Tab, then the arrow keys; Enter on a name, or Shift+Enter.";
  charts[0]!.closest("figure")!.append(help);
}

function makeReadable(chart: SVGSVGElement): void {
  const figure = chart.closest("figure")!;
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  figure.append(tip);

  const hair = drawn("line", { class: "hair" });
  const reader = drawn("rect", {
    class: "reader",
    tabindex: 0,
    role: "application",
    "aria-roledescription": "chart",
  });
  chart.append(hair, reader);
  // With the role of an image, screen readers would not see its buttons.
  chart.setAttribute("role", "group");
  for (const child of chart.children) {
    if (!child.matches(".legend, .reader")) child.setAttribute("aria-hidden", "true");
  }
  const title = figure.querySelector("figcaption")?.textContent ?? "";
  const { left, right, top, bottom } = plotArea(chart);
  setAll(hair, { y1: top, y2: bottom });
  setAll(reader, { x: left, y: top, width: right - left, height: bottom - top });
  setAll(reader, { "aria-label": `${title}: read it with the arrow keys` });

  let points: ReadablePoint[] = [];
  let boxes = new Map<ReadablePoint, Box>();
  let current: ReadablePoint | null = null;

  const collect = () => {
    points = pointsOf(chart);
    boxes = new Map(points.map((point) => [point, boxOf(point.mark, chart)]));
    current = points.find(({ mark }) => mark === current?.mark) ?? null;
  };
  const shown = () => points.filter(({ curve }) => !curve.matches(".off"));
  const hide = () => {
    current?.mark.classList.remove("read");
    chart.classList.remove("reading");
    tip.hidden = true;
  };
  const show = (point: ReadablePoint) => {
    hide();
    current = point;
    point.mark.classList.add("read");
    chart.classList.add("reading");
    fillTip(tip, point, chart);
    tip.hidden = false;
    const box = boxOf(point.mark, chart);
    const x = ((box.left + box.right) / 2) * (chart.viewBox.baseVal.width / chart.clientWidth);
    setAll(hair, { x1: x, x2: x });
    placeTip(tip, box, chart, figure);
  };
  const tell = (point: ReadablePoint | undefined) => {
    if (point === undefined) return;
    show(point);
    announced.textContent = point.text;
  };
  const readAt = (event: PointerEvent) => {
    if ((event.target as Element).closest(".legend") !== null) return hide();
    const { left, top } = chart.getBoundingClientRect();
    const point = nearest(shown(), boxes, event.clientX - left, event.clientY - top);
    if (point !== undefined && (point !== current || tip.hidden)) show(point);
  };

  chart.addEventListener("pointerenter", collect);
  chart.addEventListener("pointermove", readAt);
  chart.addEventListener("pointerdown", (event) => {
    collect();
    readAt(event);
  });
  // The keyboard continues from the clicked point.
  chart.addEventListener("click", (event) => {
    if ((event.target as Element).closest(".legend") === null) reader.focus({ preventScroll: true });
  });
  chart.addEventListener("pointerleave", (event) => {
    // A finger "leaves" when it is lifted, but its point should stay readable.
    if (event.pointerType === "mouse") hide();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!chart.contains(event.target as Node)) hide();
  });
  reader.addEventListener("focus", () => {
    collect();
    const readable = shown();
    tell(current !== null && readable.includes(current) ? current : readable[0]);
  });
  reader.addEventListener("blur", hide);
  reader.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") return hide();
    const readable = shown();
    const isReadable = current !== null && readable.includes(current);
    const next = isReadable ? neighbour(event.key, current!, readable, boxes) : readable[0];
    if (next === undefined || !/^(Arrow|Home|End)/.test(event.key)) return;
    event.preventDefault();
    tell(next);
  });
}

function pointsOf(chart: SVGSVGElement): ReadablePoint[] {
  for (const title of chart.querySelectorAll("title")) {
    const mark = title.parentElement as unknown as SVGElement;
    mark.dataset.text = title.textContent ?? "";
    title.remove();
  }
  return [...chart.querySelectorAll<SVGGraphicsElement>("[data-text]")].map((mark) => ({
    mark,
    curve: mark.closest("[data-curve]") ?? chart,
    text: mark.dataset.text ?? "",
  }));
}

function boxOf(mark: Element, chart: Element): Box {
  const { left, top } = chart.getBoundingClientRect();
  const box = mark.getBoundingClientRect();
  return { left: box.left - left, right: box.right - left, top: box.top - top, bottom: box.bottom - top };
}

function nearest(
  points: ReadablePoint[],
  boxes: Map<ReadablePoint, Box>,
  x: number,
  y: number,
): ReadablePoint | undefined {
  let best: ReadablePoint | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const point of points) {
    const { left, right, top, bottom } = boxes.get(point)!;
    // All positions inside a bar are equally near; for small marks the distance to the middle decides.
    const inside = Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
    const distance = inside + Math.hypot((left + right) / 2 - x, (top + bottom) / 2 - y) / 1000;
    if (distance < least) [best, least] = [point, distance];
  }
  return best;
}

function neighbour(
  key: string,
  from: ReadablePoint,
  points: ReadablePoint[],
  boxes: Map<ReadablePoint, Box>,
): ReadablePoint | undefined {
  const rows = inRows(points, boxes);
  const along = rows ?? points.filter(({ curve }) => curve === from.curve);
  const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  if (key === "Home") return along[0];
  if (key === "End") return along.at(-1);
  const curves = [...new Set(points.map(({ curve }) => curve))];
  if (key === "ArrowLeft" || key === "ArrowRight" || curves.length === 1 || rows !== null) {
    return along[along.indexOf(from) + step] ?? from;
  }
  const curve = curves[(curves.indexOf(from.curve) + step + curves.length) % curves.length];
  const middle = (point: ReadablePoint) => boxes.get(point)!.left + boxes.get(point)!.right;
  const away = (point: ReadablePoint) => Math.abs(middle(point) - middle(from));
  return points.filter((point) => point.curve === curve).reduce((a, b) => (away(b) < away(a) ? b : a));
}

/** The points from top to bottom if each has its own row, as in bar charts; null otherwise. */
function inRows(points: ReadablePoint[], boxes: Map<ReadablePoint, Box>): ReadablePoint[] | null {
  if (points.some(({ curve }) => curve.querySelector(".line") !== null)) return null;
  const ordered = [...points].sort((a, b) => boxes.get(a)!.top - boxes.get(b)!.top);
  const areApart = ordered.every(
    (point, index) => index === 0 || boxes.get(ordered[index - 1]!)!.bottom <= boxes.get(point)!.top,
  );
  return areApart ? ordered : null;
}

function fillTip(tip: HTMLElement, { text, curve }: ReadablePoint, chart: Element): void {
  const index = curve.getAttribute("data-curve") ?? "";
  const name = chart.querySelector(`.legend[data-curve="${index}"] text`)?.textContent ?? "";
  tip.replaceChildren();
  if (name !== "" && text.startsWith(`${name}, `)) {
    const strong = document.createElement("strong");
    strong.textContent = name;
    tip.append(strong, ` ${text.slice(name.length + 2)}`);
  } else tip.append(text);
}

function placeTip(tip: HTMLElement, point: Box, chart: Element, figure: Element): void {
  const frame = figure.getBoundingClientRect();
  const { left, top } = chart.getBoundingClientRect();
  const x = left - frame.left + (point.left + point.right) / 2 - tip.offsetWidth / 2;
  const above = top - frame.top + point.top - tipDistance - tip.offsetHeight;
  const below = top - frame.top + point.bottom + tipDistance;
  tip.style.left = `${Math.max(0, Math.min(x, frame.width - tip.offsetWidth))}px`;
  tip.style.top = `${above >= 0 ? above : below}px`;
}

/** The plot area in the picture's units: the grid's extent, or the whole picture without a grid. */
function plotArea(chart: SVGSVGElement): Box {
  const lines = [...chart.querySelectorAll<SVGLineElement>("line.grid")];
  const { width, height } = chart.viewBox.baseVal;
  if (lines.length === 0) return { left: 0, right: width, top: 0, bottom: height };
  const xs = lines.flatMap(({ x1, x2 }) => [x1.baseVal.value, x2.baseVal.value]);
  const ys = lines.flatMap(({ y1, y2 }) => [y1.baseVal.value, y2.baseVal.value]);
  return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
}

function drawn(name: string, attributes: Record<string, string | number>): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name) as SVGElement;
  setAll(made, attributes);
  return made;
}

function setAll(element: Element, attributes: Record<string, string | number>): void {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
}
