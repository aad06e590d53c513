import { validateXML } from "xmllint-wasm";
import type { Chart } from "../../src/draw/chart/chart.js";
import { chartPicture } from "../../src/draw/chart/draw-chart.js";

/** Reads a picture's content from its SVG. */

export interface Shape {
  name: string;
  attributes: Record<string, string>;
  /** The text between the tag and the next one. */
  text: string;
}

/** A picture within a page. */
export function pictureOf(chart: Chart): string {
  return chartPicture(chart).text;
}

/** The elements in order. */
export function shapesIn(svg: string): Shape[] {
  return [...svg.matchAll(/<([a-z]+)((?: [\w:-]+="[^"]*")*)>([^<]*)/g)].map(([, name, attributes, text]) => ({
    name: name!,
    text: text!,
    attributes: Object.fromEntries(
      [...attributes!.matchAll(/ ([\w:-]+)="([^"]*)"/g)].map(([, key, value]) => [key!, value!]),
    ),
  }));
}

/** Elements of a class, such as "mark" or "grid". */
export function ofClass(svg: string, name: string): Shape[] {
  return shapesIn(svg).filter(({ attributes }) => attributes.class?.split(" ").includes(name));
}

/** An attribute's number. */
export function number({ attributes }: Shape, key: string): number {
  return Number(attributes[key]);
}

/** Positions of the curves' marks in pixels; the legend's marks have no title. */
export function marksIn(svg: string): { x: number; y: number; isOpen: boolean }[] {
  const curves = svg.slice(svg.indexOf('class="curve'));
  return ofClass(curves, "mark").map(({ attributes }) => {
    const [x, y] = attributes.transform!.match(/-?[\d.]+/g)!.map(Number) as [number, number];
    return { x, y, isOpen: attributes.class!.includes("open") };
  });
}

/** The corners of a path of straight lines, such as a band's. */
export function cornersOf({ attributes }: Shape): { x: number; y: number }[] {
  const numbers = attributes.d!.match(/-?[\d.]+/g)!.map(Number);
  return numbers.flatMap((x, index) => (index % 2 === 0 ? [{ x, y: numbers[index + 1]! }] : []));
}

/** The grid's limits in pixels. */
export function gridOf(svg: string): { left: number; right: number; top: number; bottom: number } {
  const lines = ofClass(svg, "grid");
  const all = (keys: readonly string[]) => lines.flatMap((line) => keys.map((key) => number(line, key)));
  const [xs, ys] = [all(["x1", "x2"]), all(["y1", "y2"])];
  return {
    left: Math.min(...xs),
    right: Math.max(...xs),
    top: Math.min(...ys),
    bottom: Math.max(...ys),
  };
}

/** Faults of these XML documents; empty if all are well formed. */
export async function faultsOfXml(documents: readonly string[]): Promise<string[]> {
  if (documents.length === 0) return [];
  const xml = documents.map((contents, index) => ({ fileName: `${index}.svg`, contents }));
  const { errors } = await validateXML({ xml, normalization: "format" });
  return errors.map(({ rawMessage }) => rawMessage);
}
