import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { ResultDocument } from "../../src/results/schema.js";
import { buildCell, buildDocument, MiB } from "../helpers/result-document.js";
import { openCharts, showResults, useBrowser } from "./shown-page.js";

/** Choosing a cell whose samples are shown. */

useBrowser();

/** The page with the folded charts open, as a click on them would. */
async function showSamples(...args: Parameters<typeof showResults>) {
  const shown = await showResults(...args);
  await openCharts(shown.page);
  return shown;
}

const overTimeOf = (page: Page, document = 1) => page.locator(`#document-${document}-samples-over-time`);
const distributionOf = (page: Page) => page.locator("#document-1-samples-distribution");
const choiceOf = (figure: Locator) => figure.getByLabel(/^Samples of/);
const titles = (figure: Locator, selector: string) =>
  figure.evaluate(
    (element, selector) =>
      [...element.querySelectorAll<SVGElement>(selector)].map(
        (mark) => mark.dataset.text ?? mark.querySelector("title")?.textContent,
      ),
    selector,
  );

/** A pinned cell, which is shown at first, and others, with samples at 1 ms, 2 ms, ... that take this many ns each. */
function sampled(durationsNs: Readonly<Record<string, readonly number[]>>): ResultDocument {
  const cells = Object.entries(durationsNs).map(([key, durationNs]) => {
    const [memory, direction] = key.split(" ") as ["pinned" | "pageable", "h2d" | "bidir"];
    const GBps = direction === "bidir" ? { h2d: 40, d2h: 30, sum: 70 } : 55;
    const cell = buildCell({ memory, direction, GBps });
    const startNs = durationNs.map((_, index) => (index + 1) * 1e6);
    return {
      ...cell,
      samples: cell.samples.map((samples) => ({
        ...samples,
        bytesPerSample: 16 * MiB,
        startNs,
        durationNs: [...durationNs],
        round: durationNs.map(() => 0),
      })),
    };
  });
  return buildDocument({ cells });
}

/** How many ns 16 MiB take at a rate. */
const durationOf = (GBps: number) => (16 * MiB) / GBps;
const [fast, half, slow] = [50, 25, 12.5].map(durationOf) as [number, number, number];
/** Durations at so many rates, in any order, of which a page carries all digits and none is the end of a column. */
const durationsFrom = (least: number, step: number, different: number, count: number) =>
  Array.from({ length: count }, (_, index) => durationOf(least + step * ((index * 37) % different)));

describe("the samples of the first cell", () => {
  it("are folded away, and drawn one by one when somebody looks", async () => {
    const { page } = await showResults([sampled({ "pinned h2d": [fast, half, slow] })]);
    expect(await overTimeOf(page).isVisible()).toBe(false);
    await page.getByText(/^More charts/).click();
    await expect.poll(() => overTimeOf(page).locator(".dots").count()).toBe(3);
    expect(await overTimeOf(page).isVisible()).toBe(true);
  });

  it("are read one by one, in the order in which they were measured", async () => {
    const { page } = await showSamples([sampled({ "pinned h2d": [fast, half, slow] })]);
    await overTimeOf(page).getByRole("application").focus();
    const announced = page.locator("[aria-live=polite]");
    await expect.poll(() => overTimeOf(page).locator(".dots").count()).toBe(3);
    await page.keyboard.press("Home");
    expect(await announced.textContent()).toMatch(/0\.00100 s: 50\.0 GB\/s, sample 1 of 3$/);
    await page.keyboard.press("End");
    expect(await announced.textContent()).toMatch(/0\.00300 s: 12\.5 GB\/s, sample 3 of 3$/);
  });

  it.each([
    ["of very different speed", [fast, half, slow, half]],
    ["that are all the same", [fast, fast, fast]],
    ["that hardly differ", durationsFrom(50.01, 0.02, 50, 50)],
    ["of which there are many", durationsFrom(40.31, 0.1, 97, 900)],
  ])("are drawn by the script in their old places, those %s", async (_, durationsNs) => {
    const document = sampled({ "pinned h2d": durationsNs });
    const textsOf = (figure: Locator) =>
      figure.locator("text.quiet").evaluateAll((texts) =>
        texts
          .map((text) => {
            const [x, y] = [text.getAttribute("x"), text.getAttribute("y")].map(Number) as [number, number];
            return { text: text.firstChild?.textContent ?? "", x, y };
          })
          .sort((a, b) => a.text.localeCompare(b.text) || a.x - b.x),
      );
    const columnsOf = (figure: Locator) =>
      figure
        .locator(".column")
        .evaluateAll((columns) =>
          columns.map((column) =>
            ["x", "y", "width", "height"].map((name) => Math.round(Number(column.getAttribute(name)))),
          ),
        );
    const still = await showSamples([document], { javaScriptEnabled: false });
    const moving = await showSamples([document]);
    await expect.poll(() => overTimeOf(moving.page).locator(".dots").count()).toBe(durationsNs.length);
    expect(await columnsOf(distributionOf(moving.page))).toEqual(await columnsOf(distributionOf(still.page)));
    for (const figure of [overTimeOf, distributionOf]) {
      const before = await textsOf(figure(still.page));
      expect(await textsOf(figure(moving.page))).toEqual(
        before.map(({ text, x, y }) => ({ text, x: expect.closeTo(x, 0), y: expect.closeTo(y, 0) })),
      );
    }
  });
});

it("samples are drawn over the grid, and without a legend if the title says all", async () => {
  const document = sampled({ "pinned h2d": [fast, half, slow] });
  for (const javaScriptEnabled of [false, true]) {
    const { page } = await showSamples([document], { javaScriptEnabled });
    if (javaScriptEnabled) await expect.poll(() => overTimeOf(page).locator(".dots").count()).toBe(3);
    for (const figure of [overTimeOf(page), distributionOf(page)]) {
      const order = await figure
        .locator("svg > *")
        .evaluateAll((parts) => parts.map((part) => part.getAttribute("class") ?? ""));
      const curve = order.findIndex((name) => name.startsWith("curve"));
      expect(order.lastIndexOf("grid")).toBeLessThan(curve);
      expect(order.findIndex((name) => name.includes("halo"))).toBeGreaterThan(curve);
      expect(order.filter((name) => name.startsWith("legend"))).toEqual([]);
    }
  }
});

describe("a cell that is chosen", () => {
  it("replaces the first one in both charts, their titles and their descriptions", async () => {
    const { page, complaints, requests } = await showSamples([
      sampled({ "pinned h2d": [fast, fast, fast], "pageable h2d": [half, slow] }),
    ]);
    await choiceOf(overTimeOf(page)).selectOption("1");
    for (const figure of [overTimeOf(page), distributionOf(page)]) {
      expect(await figure.locator("figcaption").textContent()).toMatch(/pageable/);
      expect(await figure.locator("figcaption").textContent()).not.toMatch(/pinned/);
      expect(await figure.locator("svg").getAttribute("aria-label")).toMatch(
        /pageable.*2 samples from 12\.5 to 25\.0 GB\/s, median 18\.8 GB\/s/,
      );
    }
    expect(await titles(overTimeOf(page), ".dots")).toEqual([
      expect.stringMatching(/ 25\.0 GB\/s, sample 1 of 2$/),
      expect.stringMatching(/ 12\.5 GB\/s, sample 2 of 2$/),
    ]);
    const columns = await titles(distributionOf(page), ".column");
    expect(columns[0]).toMatch(/12 to 14 GB\/s: 1 sample$/);
    expect(columns.at(-1)).toMatch(/24 to 26 GB\/s: 1 sample$/);
    expect(complaints).toEqual([]);
    expect(requests).toEqual([]);
  });

  it("of both directions at once has a curve for each, and buttons that hide them", async () => {
    const { page } = await showSamples([
      sampled({ "pinned h2d": [fast, fast], "pinned bidir": [half, half, slow] }),
    ]);
    const figure = overTimeOf(page);
    await choiceOf(figure).selectOption("1");
    const buttons = figure.getByRole("button");
    expect(await buttons.count()).toBe(2);
    expect(await figure.locator(".curve .dots").count()).toBe(6);
    await buttons.first().click();
    expect(await figure.locator(".curve:not(.off) .dots").count()).toBe(3);
  });

  it("shows all samples if they are too many for marks of their own", async () => {
    const { page } = await showSamples([
      sampled({ "pinned h2d": [fast, fast], "pageable h2d": Array(3000).fill(half) }),
    ]);
    await choiceOf(overTimeOf(page)).selectOption("1");
    expect(await overTimeOf(page).locator(".dots").count()).toBe(3000);
    expect(await titles(overTimeOf(page), ".dots title")).toEqual([]);
    expect(await titles(distributionOf(page), ".column")).toContainEqual(
      expect.stringMatching(/: 3000 samples$/),
    );
  });

  it("keeps the keyboard where it is", async () => {
    const { page } = await showSamples([
      sampled({ "pinned h2d": [fast, fast], "pageable h2d": [half, slow] }),
    ]);
    await choiceOf(overTimeOf(page)).focus();
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => overTimeOf(page).locator("figcaption").textContent()).toMatch(/pageable/);
    expect(await choiceOf(overTimeOf(page)).evaluate((element) => element === document.activeElement)).toBe(
      true,
    );
  });
});

it("each document has its own cells to choose from", async () => {
  const { page } = await showSamples([
    sampled({ "pinned h2d": [fast, fast] }),
    sampled({ "pageable h2d": [half, half], "pinned bidir": [slow, slow] }),
  ]);
  const names = (document: number) =>
    choiceOf(overTimeOf(page, document)).locator("option").allTextContents();
  expect(await names(1)).toHaveLength(1);
  expect(await names(2)).toHaveLength(2);
});
