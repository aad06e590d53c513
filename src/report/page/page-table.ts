import { element, type Markup } from "../chart/markup.js";
import type { Grid } from "../report-parts.js";

/** A grid as a table of HTML, which scrolls by itself where the page is too narrow for it. */
export function pageTable({ caption, columns, rows, footnote }: Grid): Markup {
  const head = columns.map(({ head, align }) =>
    element("th", { scope: "col", class: align }, head.join(" ").trim()),
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
  return element(
    "div",
    { class: "table", tabindex: 0, role: "region", "aria-label": caption ?? "table" },
    element(
      "table",
      {},
      caption !== undefined && element("caption", {}, caption),
      element("thead", {}, element("tr", {}, head)),
      element("tbody", {}, body),
    ),
    footnote !== undefined && element("p", { class: "muted" }, footnote),
  );
}
