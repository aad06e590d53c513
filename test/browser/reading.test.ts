import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { resultChapter } from "../helpers/drawn.js";
import { showPage, showResults, twoSweeps, useBrowser } from "./shown-page.js";

/** What a hand does to a chart: reading points, hiding curves, laying one result over another. */

useBrowser();

const chartOf = (page: Page, name = "h2d-by-size", document = 1) =>
  page.locator(`#document-${document}-${name}`);
const tipOf = (figure: Locator) => figure.locator(".tip");
const legendOf = (figure: Locator, name: string) => figure.getByRole("button", { name, exact: true });
const readerOf = (figure: Locator) => figure.getByRole("application");
const announced = (page: Page) => page.locator("[aria-live=polite]");

/** The names of the curves that are to be seen, in the order of the legend. */
const shownCurves = (figure: Locator) =>
  figure.evaluate((element) =>
    [...element.querySelectorAll(".curve")]
      .filter((curve) => getComputedStyle(curve).display !== "none")
      .map((curve) => {
        const index = curve.getAttribute("data-curve");
        return element.querySelector(`.legend[data-curve="${index}"] text`)?.textContent;
      }),
  );

/** Where a point is in the window, as the page is before anything is read. */
async function placeOf(figure: Locator, text: string): Promise<{ x: number; y: number }> {
  const box = await figure.evaluate((element, text) => {
    element.scrollIntoView();
    const title = [...element.querySelectorAll("title")].find((one) => one.textContent?.startsWith(text));
    return title?.parentElement?.getBoundingClientRect().toJSON() as DOMRect | undefined;
  }, text);
  if (box === undefined) throw new Error(`The chart has no point ${text}.`);
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

async function showFirst() {
  const shown = await showResults([twoSweeps()[0]]);
  return { ...shown, figure: chartOf(shown.page) };
}

describe("a pointer", () => {
  it("reads the nearest point without having to meet it", async () => {
    const { page, figure } = await showFirst();
    const place = await placeOf(figure, "pinned, 64 MiB");
    await page.mouse.move(place.x + 8, place.y + 20);
    await expect.poll(() => tipOf(figure).textContent()).toMatch(/^pinned 64 MiB: 55\.3 GB\/s/);
  });

  it("reads nothing any more if it has left the chart", async () => {
    const { page, figure } = await showFirst();
    const place = await placeOf(figure, "pinned, 64 MiB");
    await page.mouse.move(place.x, place.y);
    expect(await tipOf(figure).isVisible()).toBe(true);
    await page.mouse.move(2, 2);
    expect(await tipOf(figure).isVisible()).toBe(false);
  });

  it("keeps the text within the figure, at the first point and at the last one", async () => {
    const { page, figure } = await showFirst();
    for (const place of [await placeOf(figure, "pinned, 64 KiB"), await placeOf(figure, "pinned, 256 MiB")]) {
      await page.mouse.move(place.x, place.y);
      const tip = (await tipOf(figure).boundingBox())!;
      const frame = (await figure.boundingBox())!;
      expect(tip.x).toBeGreaterThanOrEqual(frame.x);
      expect(tip.x + tip.width).toBeLessThanOrEqual(frame.x + frame.width);
    }
  });
});

it("a press makes the keyboard go on from the point that was pressed", async () => {
  const { page, figure } = await showFirst();
  const place = await placeOf(figure, "pinned, 64 MiB");
  await page.mouse.click(place.x, place.y);
  await page.keyboard.press("ArrowRight");
  expect(await announced(page).textContent()).toMatch(/^pinned, 256 MiB: /);
});

it("a finger reads a point, which stays when it is lifted", async () => {
  const { page } = await showResults([twoSweeps()[0]], {
    hasTouch: true,
    viewport: { width: 400, height: 800 },
  });
  const figure = chartOf(page);
  const place = await placeOf(figure, "staged, 1 MiB");
  await page.touchscreen.tap(place.x + 3, place.y + 3);
  expect(await tipOf(figure).textContent()).toMatch(/^staged 1 MiB: /);
  expect(await tipOf(figure).isVisible()).toBe(true);
  await page.touchscreen.tap(5, 5);
  expect(await tipOf(figure).isVisible()).toBe(false);
});

describe("the keyboard", () => {
  it("comes to each chart, behind the names of its curves", async () => {
    const { page, figure } = await showFirst();
    await legendOf(figure, "pinned").focus();
    await page.keyboard.press("Tab");
    expect(await readerOf(figure).evaluate((element) => element === document.activeElement)).toBe(true);
  });

  it.each([
    ["at first the first point", [], /^pageable, 64 KiB: 9\.65/],
    ["the next point of the curve", ["ArrowRight"], /^pageable, 1 MiB: /],
    ["the one before", ["ArrowRight", "ArrowRight", "ArrowLeft"], /^pageable, 1 MiB: /],
    ["the first point once more, as there is none before", ["ArrowLeft"], /^pageable, 64 KiB: /],
    ["the same size of the next curve", ["ArrowRight", "ArrowDown"], /^staged, 1 MiB: /],
    ["the last curve above the first one", ["ArrowUp"], /^pinned, 64 KiB: /],
    ["the end of a curve", ["ArrowDown", "End"], /^staged, 256 MiB: /],
    ["its beginning", ["End", "Home"], /^pageable, 64 KiB: /],
  ])("reads %s, and tells it", async (_, keys, text) => {
    const { page, figure } = await showFirst();
    await readerOf(figure).focus();
    for (const key of keys) await page.keyboard.press(key);
    expect(await announced(page).textContent()).toMatch(text);
    expect((await tipOf(figure).textContent())!.replace(" ", ", ")).toMatch(text);
  });

  it("stops reading with Escape, and where the chart is left", async () => {
    const { page, figure } = await showFirst();
    await readerOf(figure).focus();
    await page.keyboard.press("Escape");
    expect(await tipOf(figure).isVisible()).toBe(false);
    await page.keyboard.press("ArrowRight");
    expect(await tipOf(figure).isVisible()).toBe(true);
    await page.keyboard.press("Tab");
    expect(await tipOf(figure).isVisible()).toBe(false);
  });

  it("leaves out curves that are hidden", async () => {
    const { page, figure } = await showFirst();
    await legendOf(figure, "staged").click();
    await readerOf(figure).focus();
    await page.keyboard.press("ArrowDown");
    expect(await announced(page).textContent()).toMatch(/^pinned, 64 KiB: /);
  });
});

describe("a name above a chart", () => {
  it("is a button that says whether its curve is shown", async () => {
    const { figure } = await showFirst();
    const staged = legendOf(figure, "staged");
    expect(await staged.getAttribute("aria-pressed")).toBe("true");
    await staged.click();
    expect(await staged.getAttribute("aria-pressed")).toBe("false");
    expect(await shownCurves(figure)).toEqual(["pageable", "pinned"]);
    await staged.click();
    expect(await staged.getAttribute("aria-pressed")).toBe("true");
    expect(await shownCurves(figure)).toEqual(["pageable", "staged", "pinned"]);
  });

  it.each(["Enter", " "])("is pressed by the key %j", async (key) => {
    const { figure } = await showFirst();
    await legendOf(figure, "staged").press(key);
    expect(await shownCurves(figure)).toEqual(["pageable", "pinned"]);
  });

  it.each([
    ["a double click", (name: Locator) => name.dblclick()],
    ["a click with Shift", (name: Locator) => name.click({ modifiers: ["Shift"] })],
    ["Shift+Enter", (name: Locator) => name.press("Shift+Enter")],
  ])("shows its curve alone by %s, and all of them by another one", async (_, press) => {
    const { figure } = await showFirst();
    await press(legendOf(figure, "staged"));
    expect(await shownCurves(figure)).toEqual(["staged"]);
    await press(legendOf(figure, "staged"));
    expect(await shownCurves(figure)).toEqual(["pageable", "staged", "pinned"]);
  });

  it("leaves other charts alone", async () => {
    const { page, figure } = await showFirst();
    await legendOf(figure, "staged").click();
    expect(await shownCurves(chartOf(page, "d2h-by-size"))).toEqual(["pageable", "staged", "pinned"]);
  });
});

describe("laying over", () => {
  const control = (page: Page) => page.getByLabel(/^Compare all charts with/);
  const laidOver = (figure: Locator) => figure.locator(".curve.over").count();

  it("is not offered if there is one document", async () => {
    const { page } = await showFirst();
    expect(await control(page).count()).toBe(0);
  });

  it("draws the curves of another result in all of its charts, and takes them away again", async () => {
    const { page, complaints } = await showResults(twoSweeps());
    const figure = chartOf(page);
    await control(page).selectOption({ label: "2. NVIDIA H200, 2027-05-20 10:00 UTC" });
    expect(await shownCurves(figure)).toEqual([
      "pageable",
      "staged",
      "pinned",
      "pageable",
      "staged",
      "pinned",
    ]);
    expect(await laidOver(figure)).toBe(3);
    expect(await laidOver(chartOf(page, "d2h-by-size"))).toBe(3);
    expect(await laidOver(chartOf(page, "h2d-by-size", 2))).toBe(0);
    expect(await figure.locator("figcaption").textContent()).toMatch(/hollow, dotted: 2\. NVIDIA H200/);
    await control(page).selectOption({ label: "nothing" });
    expect(await laidOver(figure)).toBe(0);
    expect(complaints).toEqual([]);
  });

  it("is offered for machines whose links have different limits", async () => {
    const [one, other] = twoSweeps();
    const slowLink = other.devices.map((device) => ({ ...device, linkLimitGBps: 31.5 }));
    const { page } = await showResults([one, { ...other, devices: slowLink }]);
    await control(page).selectOption("1");
    expect(await laidOver(chartOf(page))).toBe(3);
  });

  it("lays each point where it lies in its own chart", async () => {
    const { page } = await showResults(twoSweeps());
    const [figure, other] = [chartOf(page), chartOf(page, "h2d-by-size", 2)];
    const places = (from: Locator, selector: string) =>
      from.evaluate((element, selector) => {
        const frame = element.querySelector("line.grid")!.getBoundingClientRect();
        return [...element.querySelectorAll(selector)].map((mark) => {
          const { x, y } = mark.getBoundingClientRect();
          return [Math.round(x - frame.x), Math.round(y - frame.y)];
        });
      }, selector);
    // In one column all pictures are of one size.
    await page.setViewportSize({ width: 1100, height: 900 });
    const before = await places(other, ".curve .mark");
    await control(page).selectOption("1");
    expect(await places(figure, ".curve.over .mark")).toEqual(before);
  });

  it("tells of which document a point is", async () => {
    const { page } = await showResults(twoSweeps());
    const figure = chartOf(page);
    await control(page).selectOption("1");
    await readerOf(figure).focus();
    await page.keyboard.press("ArrowUp");
    expect(await announced(page).textContent()).toMatch(
      /^pinned, 64 KiB: 17\.4 GB\/s.* \(2\. NVIDIA H200, 2027-05-20 10:00 UTC\)$/,
    );
  });

  it("hides a curve together with that of the same name", async () => {
    const { page } = await showResults(twoSweeps());
    const figure = chartOf(page);
    await legendOf(figure, "staged").click();
    await control(page).selectOption("1");
    expect(await shownCurves(figure)).toEqual(["pageable", "pinned", "pageable", "pinned"]);
    await legendOf(figure, "staged").click();
    await legendOf(figure, "pinned").click();
    expect(await shownCurves(figure)).toEqual(["pageable", "staged", "pageable", "staged"]);
  });

  it("is done from the start if the page says what two results differ in: one picture for both", async () => {
    const chapters = twoSweeps().map(resultChapter);
    const { page } = await showPage(chapters, {}, { ...chapters[0]!, charts: [], samples: [] });
    expect(await control(page).inputValue()).toBe("1");
    expect(await laidOver(chartOf(page))).toBe(3);
    expect(await chartOf(page, "h2d-by-size", 2).isVisible()).toBe(false);
    const widths = await page
      .locator("main, #document-1-h2d-by-size, #document-1-d2h-by-size")
      .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().width));
    expect(widths[1]! + widths[2]!).toBeGreaterThan(0.8 * widths[0]!);
    await control(page).selectOption({ label: "nothing" });
    expect(await laidOver(chartOf(page))).toBe(0);
    expect(await chartOf(page, "h2d-by-size", 2).isVisible()).toBe(true);
  });
});
