import { type SymbolType, symbol } from "d3-shape";
import { wrap } from "../terminal/terminal-text.js";
import { chartWidth, lineHeight, textPixels } from "./chart-frame.js";
import { curveStyle, styleClass } from "./curve-styles.js";
import { element, type Markup } from "./markup.js";

/** The content of a picture, or of a part of it, and how high it is. */
export interface Drawing {
  height: number;
  content: Markup[];
}

/** Square pixels of a point's mark. */
const markArea = 42;

/** The outline of a style's mark around 0. */
export function markPath(style: number): string {
  return rounded(symbol(curveStyle(style).mark, markArea)());
}

/** The outline of a style's mark around a place, with this area in square pixels; a part of a path. */
export function markAt(style: number, area: number, x: number, y: number): string {
  const at = (dx: number, dy: number) => `${tenths(x + dx)} ${tenths(y + dy)}`;
  const steps: string[] = [];
  // What d3's symbols draw with: a part of a canvas' context, whose arcs are full circles here.
  const context = {
    moveTo: (dx: number, dy: number) => steps.push(`M${at(dx, dy)}`),
    lineTo: (dx: number, dy: number) => steps.push(`L${at(dx, dy)}`),
    rect: (dx: number, dy: number, width: number, height: number) =>
      steps.push(`M${at(dx, dy)}h${tenths(width)}v${tenths(height)}h${tenths(-width)}z`),
    // The pen is at the right end already.
    arc: (_x: number, _y: number, radius: number) => {
      const half = (side: 1 | -1) =>
        `a${tenths(radius)} ${tenths(radius)} 0 1 1 ${tenths(side * 2 * radius)} 0`;
      steps.push(half(-1), half(1));
    },
    closePath: () => steps.push("z"),
  };
  curveStyle(style).mark.draw(context as unknown as Parameters<SymbolType["draw"]>[0], area);
  return steps.join("");
}

/** One decimal of a pixel is enough for an eye. */
function tenths(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}

/** A path as d3 makes it, whose numbers have up to 17 digits: one decimal of a pixel is enough for an eye. */
export function rounded(path: string | null): string {
  return (path ?? "").replace(/\d+\.\d+(e-?\d+)?/g, (number) => String(Math.round(Number(number) * 10) / 10));
}

/** What a legend tells of: a curve, or what marks of one kind stand for. */
export interface LegendEntry {
  name: string;
  /** Which of `curveStyles` it has. */
  style: number;
  /** Whether a line joins its points. */
  isJoined?: boolean;
  /** Whether its marks are hollow, and whether it has none. */
  isOpen?: boolean;
  hasNoMarks?: boolean;
}

const sampleWidth = 30;

/** A line of each entry's style with its mark, and its name, side by side in as many rows as they need. */
export function legendOf(entries: readonly LegendEntry[]): Drawing {
  if (entries.length === 0) return { height: 0, content: [] };
  let [left, row] = [0, 0];
  const content = entries.map(
    ({ name, style, isJoined = false, isOpen = false, hasNoMarks = false }, index) => {
      const markWidth = isJoined ? sampleWidth : 12;
      const lines = wrap(name, Math.floor((chartWidth - markWidth - 8) / textPixels("x")));
      const width = markWidth + 8 + Math.max(...lines.map(textPixels)) + 16;
      if (left > 0 && (left + width > chartWidth || lines.length > 1)) [left, row] = [0, row + 1];
      const middle = row * lineHeight + lineHeight / 2;
      const entry = element(
        "g",
        {
          class: `legend ${styleClass(style)}`,
          "data-curve": index,
          transform: `translate(${left} ${middle})`,
        },
        isJoined && element("path", { class: "line", d: `M0,0H${sampleWidth}` }),
        !hasNoMarks &&
          element("path", {
            class: isOpen ? "mark open" : "mark",
            transform: `translate(${markWidth / 2} 0)`,
            d: markPath(style),
          }),
        element(
          "text",
          { x: markWidth + 8, y: 4 },
          lines.length === 1
            ? name
            : lines.map((line, i) =>
                element(
                  "tspan",
                  { x: markWidth + 8, dy: i * lineHeight && lineHeight },
                  `${i > 0 ? " " : ""}${line}`,
                ),
              ),
        ),
      );
      left += width;
      row += lines.length - 1;
      return entry;
    },
  );
  return { height: (row + 1) * lineHeight, content };
}
