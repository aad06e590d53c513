import type { EncodedSeries, SampleData } from "../sample-data.js";

/*
 * Shows the samples of any cell in the two charts that a page has for one: a control selects the cell, and both charts
 * are drawn again in the same way as in src/draw/chart, except that samples can be read one by one. Other scripts get
 * the event "redrawn".
 */

/** A cell that can be chosen. */
interface CellChoice {
  name: string;
  series: readonly EncodedSeries[];
}

/** Samples with one colour in a chart, in the order of measuring, in units for people. */
interface Party {
  name: string;
  /** Index of its marks and colour. */
  style: number;
  seconds: readonly number[];
  values: readonly number[];
}

/** The mapping from the values of a chart to its picture, and the axes' names. */
interface PlotFrame {
  left: number;
  right: number;
  top: number;
  bottom: number;
  acrossLabel: Element;
  upLabel: Element;
}

/** The mapping from the values of an axis to pixels. */
interface Scale {
  /** Approximate number. */
  ticks: (about: number) => readonly number[];
  place: (value: number) => number;
}

type SvgAttributes = Readonly<Record<string, string | number>>;

/** Most samples that can be read one by one; nobody finds one among more. */
const mostRead = 2000;
/** From this number on dots shrink, so that they do not hide each other; sizes relative to a mark's. */
const [manyDots, smallDot, largeDot] = [200, Math.sqrt(14 / 42), 1];
/** Pixels of a picture, as in src/draw/chart. */
const [textRow, aboveGrid, letterWidth, betweenTicks, besideTicks] = [17, 10, 8.6, 12, 32];

/** The paths of the marks of all styles, which repeat after the last. */
const marks = dataOf("marks") as readonly string[];
const markOf = (style: number) => marks[style % marks.length]!;
const styleOf = (style: number) => `s${style % marks.length}`;

(dataOf("samples") as SampleData).forEach((series, index) => {
  const overTime = document.getElementById(`document-${index + 1}-samples-over-time`);
  const distribution = document.getElementById(`document-${index + 1}-samples-distribution`);
  if (overTime !== null && distribution !== null) offerCells(cellsOf(series), overTime, distribution);
});

function dataOf(id: string): unknown {
  return JSON.parse(document.getElementById(id)?.textContent ?? "[]");
}

function cellsOf(series: readonly EncodedSeries[]): CellChoice[] {
  const byCell: EncodedSeries[][] = [];
  for (const one of series) {
    byCell[one.cell] ??= [];
    byCell[one.cell]!.push(one);
  }
  return byCell.map((members) => {
    const [{ name }] = members as [EncodedSeries];
    const isOne = members.every((one) => one.name === name);
    // The names of a cell's two directions differ after the last comma.
    return { name: isOne ? name : name.replace(/, [^,]*$/, ""), series: members };
  });
}

function offerCells(cells: readonly CellChoice[], overTime: HTMLElement, distribution: HTMLElement): void {
  const choice = document.createElement("select");
  choice.append(...cells.map(({ name }, index) => new Option(name, String(index))));
  const label = document.createElement("label");
  label.className = "control";
  label.append("Samples of: ", choice);
  overTime.append(label);
  const figures = [
    { figure: overTime, draw: drawOverTime },
    { figure: distribution, draw: drawDistribution },
  ].map((one) => {
    const caption = one.figure.querySelector("figcaption")!.textContent;
    return { ...one, title: caption.replace(cells[0]!.name, "") };
  });
  let shown: CellChoice | undefined;
  const show = () => {
    const cell = cells[Number(choice.value)]!;
    if (cell === shown) return;
    shown = cell;
    for (const { figure, draw, title } of figures) {
      const chart = figure.querySelector<SVGSVGElement>("svg.chart")!;
      draw(chart, cell.series);
      figure.querySelector("figcaption")!.textContent = title + cell.name;
      chart.setAttribute("aria-label", `${title}${cell.name}. ${describe(cell.series)}`);
      chart.dispatchEvent(new Event("redrawn"));
    }
  };
  choice.addEventListener("change", show);
  // The samples of the first cell can also be read one by one, once somebody looks.
  const fold = overTime.closest<HTMLDetailsElement>("details:not([open])");
  if (fold === null) setTimeout(show);
  else fold.addEventListener("toggle", show, { once: true });
}

function drawOverTime(chart: SVGSVGElement, series: readonly EncodedSeries[]): void {
  // With more processes than styles, they are not distinguished.
  const parties = partiesOf(series, series.length <= marks.length);
  const values = parties.flatMap((party) => party.values);
  const { unit } = series[0]!;
  const frame = clear(chart, parties, 0);
  const seconds = parties.flatMap((party) => party.seconds);
  const y = scaleOf(least(values), most(values), frame.bottom, frame.top);
  const letters = y.ticks(5).map((value) => tick(value).length);
  frame.left = Math.max(frame.left, most(letters) * letterWidth + besideTicks);
  const x = scaleOf(0, most(seconds), frame.left, frame.right);
  frame.upLabel.textContent = unit;
  drawAxes(chart, frame, x, y);
  const at = y.place(median(values));
  const told = drawMedian(chart, values, unit, [frame.left, frame.right, at, at], [frame.right, at - 5]);
  drawParties(chart, parties, ({ name, style, seconds, values: own }) => {
    const size = own.length > manyDots ? smallDot : largeDot;
    return own.map((value, index) => {
      const figures = `${short(seconds[index]!)} s: ${short(value)} ${unit}`;
      const title = `${name}, ${figures}, sample ${index + 1} of ${own.length}`;
      const place = `translate(${x.place(seconds[index]!)} ${y.place(value)}) scale(${size})`;
      const dot = { class: "dots", d: markOf(style), transform: place };
      return drawn("path", dot, values.length > mostRead ? "" : title);
    });
  });
  add(chart, told);
}

function drawDistribution(chart: SVGSVGElement, series: readonly EncodedSeries[]): void {
  const parties = partiesOf(series, false);
  const values = parties.flatMap((party) => party.values);
  const { unit } = series[0]!;
  const frame = clear(chart, parties, textRow);
  const { start, width, count } = binsOf(values);
  const countsOf = (party: Party) => {
    const counts = Array<number>(count).fill(0);
    for (const value of party.values) {
      const bin = Math.floor((value - start) / width);
      counts[Math.min(Math.max(bin, 0), count - 1)]! += 1;
    }
    return counts;
  };
  const x = scaleOf(start, start + count * width, frame.left, frame.right);
  const y = scaleOf(0, most(parties.flatMap(countsOf)), frame.bottom, frame.top);
  frame.acrossLabel.textContent = unit;
  drawAxes(chart, frame, x, { ...y, ticks: (about) => y.ticks(about).filter(Number.isInteger) });
  const at = x.place(median(values));
  const labelRow = frame.top - textRow;
  // To the right of its line, or to the left if only that has room.
  const isLeft = at + 5 + medianText(values, unit).length * letterWidth > chart.viewBox.baseVal.width;
  const told = drawMedian(
    chart,
    values,
    unit,
    [at, at, labelRow, frame.bottom],
    [isLeft ? at - 5 : at + 5, labelRow + textRow / 2 + 2],
    isLeft ? "end" : "start",
  );
  drawParties(chart, parties, (party) =>
    countsOf(party).map((count, bin) => {
      const [from, to] = [start + bin * width, start + (bin + 1) * width];
      const title = `${party.name}, ${tick(from)} to ${tick(to)} ${unit}: ${count} ${count === 1 ? "sample" : "samples"}`;
      const [left, top] = [x.place(from), y.place(count)];
      const place = { x: left, width: x.place(to) - left, y: top, height: frame.bottom - top };
      return drawn("rect", { class: "column", ...place }, title);
    }),
  );
  add(chart, told);
}

/** As in src/report/page/sample-charts.ts: about the square root of the number of samples. */
function binsOf(values: readonly number[]): { start: number; width: number; count: number } {
  const [low, high] = [least(values), most(values)];
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= 1e-9 * size) {
    const width = size === 0 ? 1 : size / 100;
    return { start: low - width / 2, width, count: 1 };
  }
  const about = Math.min(Math.max(Math.ceil(Math.sqrt(values.length)), 6), 30);
  const edges = ticksOf(...nice(low, high, about), about);
  const count = edges.length - 1;
  return { start: edges[0]!, width: (edges.at(-1)! - edges[0]!) / count, count };
}

/** The samples of each name, or of each name and process, with consecutive styles. */
function partiesOf(series: readonly EncodedSeries[], byProcess: boolean): Party[] {
  const areAlike = series.every(({ name }) => name === series[0]!.name);
  const parties = new Map<string, { name: string; style: number; seconds: number[]; values: number[] }>();
  for (const { name: cell, process, style, valueStep, leastValue, values, startSteps } of series) {
    const ofProcess = byProcess && process !== null ? `process ${process + 1}` : "";
    const name = areAlike && ofProcess !== "" ? ofProcess : [cell, ofProcess].filter(Boolean).join(", ");
    const party = parties.get(name) ?? { name, style: style + parties.size, seconds: [], values: [] };
    parties.set(name, party);
    let tenthsOfMs = 0;
    for (const step of startSteps) {
      tenthsOfMs += step;
      party.seconds.push(tenthsOfMs / 1e4);
    }
    for (const value of values) party.values.push((leastValue + value) * valueStep);
  }
  return [...parties.values()];
}

function describe(series: readonly EncodedSeries[]): string {
  const values = partiesOf(series, false).flatMap((party) => party.values);
  const unit = series[0]!.unit;
  return `${values.length} samples from ${short(least(values))} to ${short(most(values))} ${unit}, ${medianText(values, unit)}.`;
}

/** Removes the drawn content of a picture, except the axes' names; draws a legend with this much room below it. */
function clear(chart: SVGSVGElement, parties: readonly Party[], belowLegend: number): PlotFrame {
  const lines = [...chart.querySelectorAll<SVGLineElement>("line.grid")];
  const xs = lines.flatMap(({ x1, x2 }) => [x1.baseVal.value, x2.baseVal.value]);
  const ys = lines.flatMap(({ y1, y2 }) => [y1.baseVal.value, y2.baseVal.value]);
  const [left, right, bottom] = [least(xs), most(xs), most(ys)];
  const labels = [...chart.querySelectorAll(":scope > text:not(.quiet)")];
  const acrossLabel = labels.find((label) => !label.hasAttribute("transform"))!;
  const upLabel = labels.find((label) => label.hasAttribute("transform"))!;
  for (const child of [...chart.children]) {
    // The axes' names stay, and the elements of another script for reading charts, which may have the focus.
    if (child !== acrossLabel && child !== upLabel && !child.matches(".hair, .reader")) child.remove();
  }
  // For a single party the title is enough.
  drawLegend(chart, parties.length > 1 ? parties : [], least(ys) - aboveGrid - belowLegend);
  return { left, right, top: least(ys), bottom, acrossLabel, upLabel };
}

/** Rows of names above this height; if they need more room, the picture grows upwards. */
function drawLegend(chart: SVGSVGElement, parties: readonly Party[], bottom: number): void {
  const { y, width, height } = chart.viewBox.baseVal;
  let [left, row] = [0, 0];
  const places = parties.map(({ name }) => {
    const needed = 36 + name.length * letterWidth;
    if (left > 0 && left + needed > width) [left, row] = [0, row + 1];
    const place = { left, row };
    left += needed;
    return place;
  });
  const top = Math.min(0, bottom - (parties.length === 0 ? 0 : row + 1) * textRow);
  chart.setAttribute("viewBox", `0 ${top} ${width} ${y + height - top}`);
  parties.forEach(({ name, style }, index) => {
    const { left, row } = places[index]!;
    const middle = top + (row + 0.5) * textRow;
    const place = { "data-curve": index, transform: `translate(${left} ${middle})` };
    const entry = drawn("g", { class: `legend ${styleOf(style)}`, ...place });
    const text = drawn("text", { x: 20, y: 4 });
    text.textContent = name;
    entry.append(drawn("path", { class: "mark", d: markOf(style), transform: "translate(6 0)" }), text);
    add(chart, entry);
  });
}

function drawAxes(chart: SVGSVGElement, { left, right, top, bottom }: PlotFrame, x: Scale, y: Scale): void {
  const line = (x1: number, x2: number, y1: number, y2: number) =>
    drawn("line", { class: "grid", x1, x2, y1, y2 });
  const text = (value: number, place: SvgAttributes) => {
    const made = drawn("text", { class: "quiet", ...place });
    made.textContent = tick(value);
    return made;
  };
  for (const value of y.ticks(5)) {
    const at = y.place(value);
    add(chart, line(left, right, at, at), text(value, { x: left - 7, y: at + 4, "text-anchor": "end" }));
  }
  for (const value of fitting(x)) {
    const at = x.place(value);
    add(chart, line(at, at, top, bottom), text(value, { x: at, y: bottom + 18, "text-anchor": "middle" }));
  }
}

/** Round numbers far enough apart for their texts. */
function fitting({ ticks, place }: Scale): readonly number[] {
  for (let about = 8; about > 2; --about) {
    const some = ticks(about);
    const isRoomy = some.slice(1).every((next, index) => {
      const letters = (tick(some[index]!).length + tick(next).length) / 2;
      return place(next) - place(some[index]!) >= letters * letterWidth + betweenTicks;
    });
    if (isRoomy) return some;
  }
  return ticks(2);
}

function medianText(values: readonly number[], unit: string): string {
  return `median ${short(median(values))} ${unit}`;
}

/** Draws the line, and returns its label, which is drawn over the samples. */
function drawMedian(
  chart: SVGSVGElement,
  values: readonly number[],
  unit: string,
  [x1, x2, y1, y2]: readonly [number, number, number, number],
  [x, y]: readonly [number, number],
  anchor = "end",
): SVGElement {
  const text = drawn("text", { class: "quiet halo", x, y, "text-anchor": anchor });
  text.textContent = medianText(values, unit);
  add(chart, drawn("line", { class: "rule", x1, x2, y1, y2 }));
  return text;
}

function drawParties(
  chart: SVGSVGElement,
  parties: readonly Party[],
  marksOf: (party: Party) => SVGElement[],
): void {
  parties.forEach((party, index) => {
    const curve = drawn("g", { class: `curve ${styleOf(party.style)}`, "data-curve": index });
    curve.append(...marksOf(party));
    add(chart, curve);
  });
}

/** As in src/draw/chart/chart-frame.ts: from one round number to another, with free ends. */
function scaleOf(low: number, high: number, from: number, to: number): Scale {
  const room = low === high ? Math.abs(low) / 2 || 1 : 0;
  const [first, last] = nice(low - room, high + room, 10);
  const edge = (last - first) * 0.04;
  const [start, stop] = [first === 0 ? 0 : Math.min(first, low - edge), Math.max(last, high + edge)];
  return {
    ticks: (about) => ticksOf(start, stop, about),
    place: (value) => from + ((value - start) / (stop - start)) * (to - from),
  };
}

/** The next round numbers outside of this range. */
function nice(low: number, high: number, about: number): [low: number, high: number] {
  let ends: [number, number] = [low, high];
  for (let step = 0, before = -1; step !== before; ) {
    before = step;
    step = stepOf(ends[1] - ends[0], about);
    ends = [Math.floor(ends[0] / step) * step, Math.ceil(ends[1] / step) * step];
  }
  return ends;
}

function ticksOf(low: number, high: number, about: number): number[] {
  const step = stepOf(high - low, about);
  // Rounding errors must not lose the last one.
  const [first, last] = [Math.ceil(low / step - 1e-6), Math.floor(high / step + 1e-6)];
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** 1, 2 or 5 times a power of ten. */
function stepOf(span: number, about: number): number {
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const share = rough / power;
  if (share >= Math.sqrt(50)) return power * 10;
  if (share >= Math.sqrt(10)) return power * 5;
  return share >= Math.SQRT2 ? power * 2 : power;
}

/** Below the elements that stay in a picture. */
function add(chart: SVGSVGElement, ...elements: SVGElement[]): void {
  chart.querySelector(":scope > text:not(.quiet)")!.before(...elements);
}

function drawn(name: string, attributes: SvgAttributes, title = ""): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (title !== "") {
    const text = document.createElementNS("http://www.w3.org/2000/svg", "title");
    text.textContent = title;
    made.append(text);
  }
  return made;
}

// Math.min(...list) is limited by the stack.
const least = (values: readonly number[]) =>
  values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);

function median(values: readonly number[]): number {
  const ordered = [...values].sort((a, b) => a - b);
  return (ordered[(ordered.length - 1) >> 1]! + ordered[ordered.length >> 1]!) / 2;
}

/** Three digits, or all before the decimal point. */
const short = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** A round number, without the digits that binary fractions would add. */
const tick = (value: number) => String(Number(value.toPrecision(6)));
