import type { EncodedSeries, SampleData } from "../sample-data.js";

/*
 * Shows the samples of any cell in the two charts that a page has of one: a control chooses the cell, and both are drawn
 * anew as src/report/chart draws them, but for samples that can be read one by one. Other scripts hear "redrawn".
 */

/** A cell as it can be chosen. */
interface Cell {
  name: string;
  series: readonly EncodedSeries[];
}

/** What has one colour in a chart: samples in the order in which they were measured, in units that people read. */
interface Party {
  name: string;
  seconds: readonly number[];
  values: readonly number[];
}

/** Where the values of a chart lie in its picture, and what says what they are. */
interface Frame {
  left: number;
  right: number;
  top: number;
  bottom: number;
  acrossLabel: Element;
  upLabel: Element;
}

/** An axis that begins and ends at round numbers. */
interface Scale {
  ticks: readonly number[];
  step: number;
  place: (value: number) => number;
}

type Attributes = Readonly<Record<string, string | number>>;

/** With more samples than these, a mark for each would make the page slow. */
const mostMarks = 2000;
/** The colours there are for curves, which begin again after the last. */
const styleCount = 8;
/** Pixels of a picture, as src/report/chart has them. */
const [legendRow, letterWidth, dotRadius] = [17, 8.6, 2.2];

const data = JSON.parse(document.getElementById("samples")?.textContent ?? "[]") as SampleData;
data.forEach((series, index) => {
  const overTime = document.getElementById(`document-${index + 1}-samples-over-time`);
  const distribution = document.getElementById(`document-${index + 1}-samples-distribution`);
  if (overTime !== null && distribution !== null) offerCells(cellsOf(series), overTime, distribution);
});

function cellsOf(series: readonly EncodedSeries[]): Cell[] {
  const byId = new Map<string, EncodedSeries[]>();
  for (const one of series) {
    const others = byId.get(one.id);
    if (others === undefined) byId.set(one.id, [one]);
    else others.push(one);
  }
  return [...byId.values()].map((members) => {
    const [{ name }] = members as [EncodedSeries];
    const isOne = members.every((one) => one.name === name);
    // The names of a cell's two directions differ in what stands behind the last comma.
    return { name: isOne ? name : name.replace(/, [^,]*$/, ""), series: members };
  });
}

function offerCells(cells: readonly Cell[], overTime: HTMLElement, distribution: HTMLElement): void {
  const choice = document.createElement("select");
  choice.append(...cells.map(({ name }, index) => new Option(name, String(index))));
  const label = document.createElement("label");
  label.className = "control";
  label.append("Samples of: ", choice);
  overTime.append(label);
  const figures = [
    { figure: overTime, draw: drawOverTime },
    { figure: distribution, draw: drawDistribution },
  ].map((one) => ({ ...one, title: captionOf(one.figure).replace(cells[0]!.name, "") }));
  let shown: Cell | undefined;
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
  // Once the page is there, so that the samples of the first cell can be read one by one as well.
  setTimeout(show);
}

function captionOf(figure: HTMLElement): string {
  return figure.querySelector("figcaption")?.textContent ?? "";
}

function drawOverTime(chart: SVGSVGElement, series: readonly EncodedSeries[]): void {
  // More than there are colours are not told apart by process.
  const parties = partiesOf(series, series.length <= styleCount);
  const values = parties.flatMap((party) => party.values);
  const seconds = parties.flatMap((party) => party.seconds);
  const { unit } = series[0]!;
  const frame = clear(chart, parties);
  const x = scaleOf(least(seconds), most(seconds), 8, frame.left, frame.right);
  const y = scaleOf(0, most(values), 5, frame.bottom, frame.top);
  frame.upLabel.textContent = unit;
  drawAxes(chart, frame, x, y);
  const at = y.place(median(values));
  drawMedian(chart, values, unit, { x1: frame.left, x2: frame.right, y1: at, y2: at }, frame.right, at - 5);
  drawParties(chart, parties, (party) => {
    const places = party.values.map(
      (value, index) => [x.place(party.seconds[index]!), y.place(value)] as const,
    );
    if (values.length > mostMarks) return [cloud(places)];
    return places.map(([cx, cy], index) => {
      const figures = `${short(party.seconds[index]!)} s: ${short(party.values[index]!)} ${unit}`;
      const title = `${party.name}, ${figures}, sample ${index + 1} of ${places.length}`;
      return drawn("circle", { class: "dots", cx, cy, r: dotRadius }, title);
    });
  });
}

/** All dots as one path, of which none can be read: two arcs a dot. */
function cloud(places: readonly (readonly [x: number, y: number])[]): SVGElement {
  const arc = (side: 1 | -1) => `a${dotRadius} ${dotRadius} 0 1 1 ${side * 2 * dotRadius} 0`;
  const dots = places.map(([x, y]) => `M${(x - dotRadius).toFixed(1)} ${y.toFixed(1)}${arc(1)}${arc(-1)}`);
  return drawn("path", { class: "dots", d: dots.join("") });
}

function drawDistribution(chart: SVGSVGElement, series: readonly EncodedSeries[]): void {
  const parties = partiesOf(series, false);
  const values = parties.flatMap((party) => party.values);
  const { unit } = series[0]!;
  const frame = clear(chart, parties);
  // About as many columns as the square root of the samples' number, as in src/report/chart/histogram.ts.
  const about = Math.min(Math.max(Math.ceil(Math.sqrt(values.length)), 6), 30);
  const bins = scaleOf(least(values), most(values), about, frame.left, frame.right);
  const starts = bins.ticks.slice(0, -1);
  const countsOf = (party: Party) => {
    const counts = starts.map(() => 0);
    for (const value of party.values) {
      const bin = Math.floor((value - starts[0]!) / bins.step);
      counts[Math.min(Math.max(bin, 0), counts.length - 1)]! += 1;
    }
    return counts;
  };
  const x = scaleOf(starts[0]!, bins.ticks.at(-1)!, 8, frame.left, frame.right);
  const y = scaleOf(0, most(parties.flatMap(countsOf)), 5, frame.bottom, frame.top);
  frame.acrossLabel.textContent = unit;
  drawAxes(chart, frame, x, y);
  const at = x.place(median(values));
  drawMedian(
    chart,
    values,
    unit,
    { x1: at, x2: at, y1: frame.top, y2: frame.bottom },
    at - 5,
    frame.top + 12,
  );
  drawParties(chart, parties, (party) =>
    countsOf(party).map((count, bin) => {
      const [from, to] = [starts[bin]!, starts[bin]! + bins.step];
      const title = `${party.name}, ${tick(from)} to ${tick(to)} ${unit}: ${count} ${count === 1 ? "sample" : "samples"}`;
      const [left, top] = [x.place(from), y.place(count)];
      const place = { x: left, width: x.place(to) - left, y: top, height: frame.bottom - top };
      return drawn("rect", { class: "column", ...place }, title);
    }),
  );
}

/** A party a name, or a name and process, with all of its samples. */
function partiesOf(series: readonly EncodedSeries[], byProcess: boolean): Party[] {
  const parties = new Map<string, { name: string; seconds: number[]; values: number[] }>();
  for (const { name, process, valueStep, values, startSteps } of series) {
    const full = byProcess && process !== null ? `${name}, process ${process + 1}` : name;
    const party = parties.get(full) ?? { name: full, seconds: [], values: [] };
    parties.set(full, party);
    let tenthsOfMs = 0;
    for (const step of startSteps) {
      tenthsOfMs += step;
      party.seconds.push(tenthsOfMs / 1e4);
    }
    party.values.push(...values.map((value) => value * valueStep));
  }
  return [...parties.values()];
}

function describe(series: readonly EncodedSeries[]): string {
  const values = partiesOf(series, false).flatMap((party) => party.values);
  const { unit } = series[0]!;
  return `${values.length} samples from ${short(least(values))} to ${short(most(values))} ${unit}, median ${short(median(values))} ${unit}.`;
}

/** Takes what was drawn out of a picture, but for what names its axes, and draws a legend of these parties. */
function clear(chart: SVGSVGElement, parties: readonly Party[]): Frame {
  const lines = [...chart.querySelectorAll<SVGLineElement>("line.grid")];
  const xs = lines.flatMap(({ x1, x2 }) => [x1.baseVal.value, x2.baseVal.value]);
  const ys = lines.flatMap(({ y1, y2 }) => [y1.baseVal.value, y2.baseVal.value]);
  const [left, right, bottom] = [least(xs), most(xs), most(ys)];
  const labels = [...chart.querySelectorAll(":scope > text:not(.quiet)")];
  const acrossLabel = labels.find((label) => !label.hasAttribute("transform"))!;
  const upLabel = labels.find((label) => label.hasAttribute("transform"))!;
  for (const child of [...chart.children]) {
    // The names of the axes stay, and what another script reads charts with, which may have the focus.
    if (child !== acrossLabel && child !== upLabel && !child.matches(".hair, .reader")) child.remove();
  }
  drawLegend(chart, parties, least(ys));
  return { left, right, top: least(ys), bottom, acrossLabel, upLabel };
}

/** Rows of names above the grid; where there are more than there is room for, the picture grows upwards. */
function drawLegend(chart: SVGSVGElement, parties: readonly Party[], gridTop: number): void {
  const { y, width, height } = chart.viewBox.baseVal;
  let [left, row] = [0, 0];
  const places = parties.map(({ name }) => {
    const needed = 54 + name.length * letterWidth;
    if (left > 0 && left + needed > width) [left, row] = [0, row + 1];
    const place = { left, row };
    left += needed;
    return place;
  });
  const top = Math.min(0, gridTop - 10 - (row + 1) * legendRow);
  chart.setAttribute("viewBox", `0 ${top} ${width} ${y + height - top}`);
  parties.forEach(({ name }, index) => {
    const { left, row } = places[index]!;
    const entry = drawn("g", {
      class: `legend s${index % styleCount}`,
      "data-curve": index,
      transform: `translate(${left} ${top + (row + 0.5) * legendRow})`,
    });
    const text = drawn("text", { x: 38, y: 4 });
    text.textContent = name;
    entry.append(drawn("circle", { class: "mark", cx: 15, cy: 0, r: 4 }), text);
    add(chart, entry);
  });
}

function drawAxes(chart: SVGSVGElement, { left, right, top, bottom }: Frame, x: Scale, y: Scale): void {
  const line = (x1: number, x2: number, y1: number, y2: number) =>
    drawn("line", { class: "grid", x1, x2, y1, y2 });
  const text = (value: number, place: Attributes) => {
    const made = drawn("text", { class: "quiet", ...place });
    made.textContent = tick(value);
    return made;
  };
  for (const value of y.ticks) {
    const at = y.place(value);
    chart.append(line(left, right, at, at), text(value, { x: left - 7, y: at + 4, "text-anchor": "end" }));
  }
  for (const value of x.ticks) {
    const at = x.place(value);
    chart.append(line(at, at, top, bottom), text(value, { x: at, y: bottom + 16, "text-anchor": "middle" }));
  }
}

function drawMedian(
  chart: SVGSVGElement,
  values: readonly number[],
  unit: string,
  ends: Attributes,
  x: number,
  y: number,
): void {
  const group = drawn("g", {});
  const text = drawn("text", { class: "quiet", x, y, "text-anchor": "end" });
  text.textContent = `median ${short(median(values))} ${unit}`;
  group.append(drawn("line", { class: "rule", ...ends }), text);
  add(chart, group);
}

function drawParties(
  chart: SVGSVGElement,
  parties: readonly Party[],
  marksOf: (party: Party) => SVGElement[],
): void {
  parties.forEach((party, index) => {
    const curve = drawn("g", { class: `curve s${index % styleCount}`, "data-curve": index });
    curve.append(...marksOf(party));
    add(chart, curve);
  });
}

/** Steps of 1, 2 or 5 times a power of ten, about so many, as d3-scale chooses them. */
function scaleOf(low: number, high: number, about: number, from: number, to: number): Scale {
  const span = high - low || Math.abs(high) / 100 || 1;
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor =
    rough >= power * Math.sqrt(50)
      ? 10
      : rough >= power * Math.sqrt(10)
        ? 5
        : rough >= power * Math.SQRT2
          ? 2
          : 1;
  const step = power * factor;
  const [first, last] = [
    Math.floor(low / step),
    Math.max(Math.ceil(high / step), Math.floor(low / step) + 1),
  ];
  return {
    step,
    ticks: Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step),
    place: (value) => from + ((value / step - first) / (last - first)) * (to - from),
  };
}

/** Below what stays in a picture. */
function add(chart: SVGSVGElement, ...elements: SVGElement[]): void {
  chart.querySelector(":scope > text:not(.quiet)")!.before(...elements);
}

function drawn(name: string, attributes: Attributes, title = ""): SVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (title !== "") {
    const text = document.createElementNS("http://www.w3.org/2000/svg", "title");
    text.textContent = title;
    made.append(text);
  }
  return made;
}

// Math.min(...list) takes as many arguments as a stack holds.
function least(values: readonly number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
}

function most(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}

function median(values: readonly number[]): number {
  const ordered = [...values].sort((a, b) => a - b);
  const middle = ordered.length >> 1;
  return ordered.length % 2 === 1 ? ordered[middle]! : (ordered[middle - 1]! + ordered[middle]!) / 2;
}

/** Three digits, or all of those before the point. */
function short(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

/** A round number, without the digits that binary fractions would add. */
function tick(value: number): string {
  return String(Number(value.toPrecision(6)));
}
