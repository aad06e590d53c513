import { element, type Markup } from "../chart/markup.js";
import type { Grid } from "../report.js";

/** A table of so many rows or fewer is open from the start. */
const mostOpenRows = 8;

/**
 * A grid as a table of HTML, which scrolls by itself where the page is too narrow for it. A long one is closed until it
 * is asked for, or printed.
 */
export function pageTable({ caption, name: ownName, columns, rows, footnote }: Grid): Markup {
  const head = columns.map(({ head, align }) =>
    element("th", { scope: "col", class: align }, head.join(" ").trim().replaceAll("/ ", "/")),
  );
  const body = rows.map((row) =>
    element(
      "tr",
      {},
      row.map(({ text, note, tone }, index) =>
        element(
          "td",
          { class: `${columns[index]!.align} ${tone}` },
          text,
          note !== "" && element("small", {}, ` ${note}`),
        ),
      ),
    ),
  );
  const name = caption ?? ownName ?? "Table";
  return element(
    "details",
    { open: rows.length <= mostOpenRows },
    element("summary", {}, name, element("small", {}, rows.length === 1 ? " 1 row" : ` ${rows.length} rows`)),
    element(
      "div",
      { class: "table", tabindex: 0, role: "region", "aria-label": name },
      element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)),
    ),
    footnote !== undefined && element("p", { class: "muted" }, footnote),
  );
}
