/*
 * Lines and marks in characters. Each character is a cell of several dots: a braille pattern of 2 × 4 dots, or in ASCII
 * one of the signs at the top, in the middle or at the bottom of a line.
 */

/** Colours a piece of text, or leaves it as it is. */
export type Paint = (text: string) => string;

/** A place on the canvas in cells from its upper left corner: (0.5, 0.5) is the middle of the first cell. */
export interface CanvasPlace {
  column: number;
  row: number;
}

/** The dots of a cell, and the sign for a set of them: bit `dotRow * across + dotColumn` is a dot. */
interface DotSigns {
  across: number;
  down: number;
  sign: (dots: number) => string;
}

/** The bit of U+2800 for each dot: the patterns had six dots at first, and got their lowest row later. */
const brailleBits = [0, 3, 1, 4, 2, 5, 6, 7];

const braille: DotSigns = {
  across: 2,
  down: 4,
  sign: (dots) =>
    String.fromCodePoint(brailleBits.reduce((code, to, from) => code + (((dots >> from) & 1) << to), 0x2800)),
};

const ascii: DotSigns = { across: 1, down: 3, sign: (dots) => " '-'.:.|"[dots]! };

interface Sign {
  text: string;
  paint: Paint;
}

/** A cell shows its mark, or else its dots, or else its ground. */
interface CanvasCell {
  ground: Sign;
  dots: number;
  paint: Paint;
  mark: Sign | null;
}

const blank: Sign = { text: " ", paint: String };

/** Columns by which a mark is moved, tried in turn until a cell is free. */
const nearby = [0, 1, -1, 2, -2];

/** A rectangle of characters; marks cover lines, and later marks cover earlier ones. */
export class PlotCanvas {
  readonly #cells: CanvasCell[][];
  readonly #signs: DotSigns;

  /** `columns` and `rows` in characters; uses ASCII or braille patterns. */
  constructor(columns: number, rows: number, isAscii: boolean) {
    this.#signs = isAscii ? ascii : braille;
    this.#cells = Array.from({ length: rows }, () =>
      Array.from({ length: columns }, () => ({ ground: blank, dots: 0, paint: String, mark: null })),
    );
  }

  /** Puts a text below everything drawn, from the left end of a line on. */
  ground(row: number, text: string, paint: Paint): void {
    for (const [column, sign] of [...text].entries()) {
      const cell = this.#cells[row]?.[column];
      if (cell !== undefined) cell.ground = { text: sign, paint };
    }
  }

  /** A straight line; a dashed one leaves out every second cell. */
  line(from: CanvasPlace, to: CanvasPlace, paint: Paint, isDashed = false): void {
    const { across, down } = this.#signs;
    const [x, y] = [from.column * across, from.row * down];
    const [width, height] = [to.column * across - x, to.row * down - y];
    const first = Math.floor(from.column) + Math.floor(from.row);
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(width), Math.abs(height))));
    for (let step = 0; step <= steps; ++step) {
      const dotColumn = Math.floor(x + (width * step) / steps);
      const dotRow = Math.floor(y + (height * step) / steps);
      const [column, row] = [Math.floor(dotColumn / across), Math.floor(dotRow / down)];
      const cell = this.#cells[row]?.[column];
      if (cell === undefined || (isDashed && (column + row - first) % 2 !== 0)) continue;
      cell.dots |= 1 << ((dotRow % down) * across + (dotColumn % across));
      cell.paint = paint;
    }
  }

  /** A sign in the cell of that place, or next to it if another mark is there. */
  mark({ column, row }: CanvasPlace, text: string, paint: Paint): void {
    const cells = this.#cells[Math.floor(row)] ?? [];
    const near = nearby.flatMap((right) => cells[Math.floor(column) + right] ?? []);
    const cell = near.find(({ mark }) => mark === null) ?? near[0];
    if (cell !== undefined) cell.mark = { text, paint };
  }

  /** The picture's lines, without blanks at the end. */
  lines(): string[] {
    return this.#cells.map((cells) => {
      const signs = cells.map(({ ground, dots, paint, mark }) => {
        return mark ?? (dots > 0 ? { text: this.#signs.sign(dots), paint } : ground);
      });
      const end = signs.findLastIndex(({ text }) => text !== " ") + 1;
      let line = "";
      for (let from = 0; from < end; ) {
        const { paint } = signs[from]!;
        const next = signs.findIndex((sign, index) => index > from && sign.paint !== paint);
        const to = next < 0 ? end : Math.min(next, end);
        line += paint(
          signs
            .slice(from, to)
            .map(({ text }) => text)
            .join(""),
        );
        from = to;
      }
      return line;
    });
  }
}
