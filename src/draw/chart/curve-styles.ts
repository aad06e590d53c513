import {
  type SymbolType,
  symbolCircle,
  symbolCross,
  symbolDiamond,
  symbolSquare,
  symbolStar,
  symbolTriangle,
  symbolWye,
} from "d3-shape";

/**
 * Curves differ in colour and in dashes, each enough alone, and the first seven also in their mark. The
 * colours are by Okabe and Ito (Color Universal Design, 2008), distinct for any colour vision, darkened on
 * white and lightened on dark to a contrast of 3 to 1 (WCAG 2.2, 1.4.11).
 */
export const curveStyles: readonly CurveStyle[] = [
  { onLight: "#0072b2", onDark: "#56b4e9", mark: symbolCircle, dashes: "" },
  { onLight: "#c04a00", onDark: "#ff8c42", mark: symbolSquare, dashes: "7 3" },
  { onLight: "#00795a", onDark: "#2fc79a", mark: symbolTriangle, dashes: "2 2" },
  { onLight: "#a8558a", onDark: "#e39cc6", mark: symbolDiamond, dashes: "9 3 2 3" },
  { onLight: "#9c6b00", onDark: "#f0b53c", mark: symbolCross, dashes: "12 4" },
  { onLight: "#3d3d3d", onDark: "#e6e6e6", mark: symbolStar, dashes: "4 2 1 2" },
  { onLight: "#6a4fb3", onDark: "#b8a5f5", mark: symbolWye, dashes: "1 3" },
  { onLight: "#7d7500", onDark: "#ece133", mark: symbolCircle, dashes: "6 2 2 2 2 2" },
  { onLight: "#0b7285", onDark: "#5cc8d6", mark: symbolSquare, dashes: "3 5" },
  { onLight: "#8f2d2d", onDark: "#f28b82", mark: symbolTriangle, dashes: "10 2" },
  { onLight: "#4d6b00", onDark: "#b7d36b", mark: symbolDiamond, dashes: "1 5" },
];

interface CurveStyle {
  onLight: string;
  onDark: string;
  mark: SymbolType;
  /** SVG's stroke-dasharray; empty for a solid line. */
  dashes: string;
}

export function curveStyle(index: number): CurveStyle {
  return curveStyles[index % curveStyles.length]!;
}

export function styleClass(index: number): string {
  return `s${index % curveStyles.length}`;
}

const grounds = {
  light: { ground: "#ffffff", text: "#1b1f24", quiet: "#57606a", grid: "#e3e6ea", line: "#8c959f" },
  dark: { ground: "#14171a", text: "#e8eaed", quiet: "#a9b1ba", grid: "#2b3036", line: "#6b747e" },
} as const;

/** Style sheet of all charts, with a white background in print. No variables: only browsers support them. */
export function chartStyleSheet(): string {
  return [
    ".chart{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}",
    ".chart .line{fill:none;stroke-width:1.8}",
    ".chart .band{stroke:none;opacity:.18}",
    ".chart .mark{stroke-width:1.4}",
    ".chart .whisker{fill:none;stroke-width:1.4}",
    ".chart .dots{stroke:none;fill-opacity:.8}",
    ".chart .bar{stroke-width:1.2;fill-opacity:.75}",
    ".chart .error{stroke-width:1.2}",
    ".chart .heading{font-weight:600}",
    ".chart .grid,.chart .zero{stroke-width:1}",
    ".chart .rule{fill:none;stroke-width:1.2;stroke-dasharray:5 4}",
    ".chart .halo{paint-order:stroke;stroke-width:3;stroke-linejoin:round}",
    ".chart .caption{font-size:14px;font-weight:600}",
    ...curveStyles.flatMap(({ dashes }, index) =>
      dashes === "" ? [] : [`.chart .${styleClass(index)} .line{stroke-dasharray:${dashes}}`],
    ),
    ...groundRules("light"),
    `@media screen and (prefers-color-scheme:dark){${groundRules("dark").join("")}}`,
  ].join("");
}

function groundRules(name: keyof typeof grounds): string[] {
  const { ground, text, quiet, grid, line } = grounds[name];
  return [
    `.chart .ground{fill:${ground}}`,
    `.chart .halo{stroke:${ground}}`,
    `.chart text{fill:${text}}`,
    `.chart .quiet{fill:${quiet}}`,
    `.chart .grid{stroke:${grid}}`,
    `.chart .rule,.chart .zero{stroke:${line}}`,
    `.chart .error{stroke:${text}}`,
    ...curveStyles.flatMap(({ onLight, onDark }, index) => {
      const colour = name === "light" ? onLight : onDark;
      const of = `.chart .${styleClass(index)}`;
      return [
        `${of} .line,${of} .mark,${of} .whisker,${of} .bar{stroke:${colour}}`,
        `${of} .band,${of} .mark,${of} .dots,${of} .bar{fill:${colour}}`,
        `${of} .open{fill:${ground}}`,
      ];
    }),
  ];
}
