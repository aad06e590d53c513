import { validateXML } from "xmllint-wasm";
import type { Chart } from "../../src/draw/chart/chart.js";
import { chartPicture } from "../../src/draw/chart/draw-chart.js";

/** Reads what a picture shows out of its SVG. */

export interface Shape {
  name: string;
  attributes: Record<string, string>;
  /** What stands right behind the tag, up to the next one. */
  text: string;
}

/** A picture as it stands in a page. */
export function pictureOf(chart: Chart): string {
  return chartPicture(chart).text;
}

/** The elements in their order. */
export function shapesIn(svg: string): Shape[] {
  return [...svg.matchAll(/<([a-z]+)((?: [\w:-]+="[^"]*")*)>([^<]*)/g)].map(([, name, attributes, text]) => ({
    name: name!,
    text: text!,
    attributes: Object.fromEntries(
      [...attributes!.matchAll(/ ([\w:-]+)="([^"]*)"/g)].map(([, key, value]) => [key!, value!]),
    ),
  }));
}

/** Those of a class, such as "mark" or "grid". */
export function ofClass(svg: string, name: string): Shape[] {
  return shapesIn(svg).filter(({ attributes }) => attributes.class?.split(" ").includes(name));
}

/** A number of an attribute. */
export function number({ attributes }: Shape, key: string): number {
  return Number(attributes[key]);
}

/** Where the marks of the curves are, in pixels: those of the legend lie on whole rows above and have no title. */
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

/** Between which pixels the grid lies. */
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

/** What is wrong with these documents of XML; nothing where all are well formed. */
export async function faultsOfXml(documents: readonly string[]): Promise<string[]> {
  if (documents.length === 0) return [];
  const xml = documents.map((contents, index) => ({ fileName: `${index}.svg`, contents }));
  const { errors } = await validateXML({ xml, normalization: "format" });
  return errors.map(({ rawMessage }) => rawMessage);
}
