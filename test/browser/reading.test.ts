import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { showResults, twoSweeps, useBrowser } from "./shown-page.js";

/** How a reader uses a chart: reading points and hiding curves. */

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

/** Where a point is in the window, before any point is read. */
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

describe("the mouse on a chart", () => {
  it("shows the values of the nearest point, even some pixels away from it", async () => {
    const { page, figure } = await showFirst();
    const place = await placeOf(figure, "pinned, 64 MiB");
    await page.mouse.move(place.x + 8, place.y + 20);
    await expect.poll(() => tipOf(figure).textContent()).toMatch(/^pinned 64 MiB: 55\.3 GB\/s/);
  });

  it("hides the values of a point when it leaves the chart", async () => {
    const { page, figure } = await showFirst();
    const place = await placeOf(figure, "pinned, 64 MiB");
    await page.mouse.move(place.x, place.y);
    expect(await tipOf(figure).isVisible()).toBe(true);
    await page.mouse.move(2, 2);
    expect(await tipOf(figure).isVisible()).toBe(false);
  });

  it("shows the values inside the figure at the first and the last point", async () => {
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

it("after a click on a chart's point, the arrow keys go on from that point", async () => {
  const { page, figure } = await showFirst();
  const place = await placeOf(figure, "pinned, 64 MiB");
  await page.mouse.click(place.x, place.y);
  await page.keyboard.press("ArrowRight");
  expect(await announced(page).textContent()).toMatch(/^pinned, 256 MiB: /);
});

it("a tap shows the values of a chart's point until the next tap elsewhere", async () => {
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

describe("the keyboard on a chart", () => {
  it("reaches the chart with Tab, after the names of its curves", async () => {
    const { page, figure } = await showFirst();
    await legendOf(figure, "pinned").focus();
    await page.keyboard.press("Tab");
    expect(await readerOf(figure).evaluate((element) => element === document.activeElement)).toBe(true);
  });

  it.each([
    ["the first point on focus", [], /^pageable, 64 KiB: 9\.65/],
    ["the next point with ArrowRight", ["ArrowRight"], /^pageable, 1 MiB: /],
    ["the point before with ArrowLeft", ["ArrowRight", "ArrowRight", "ArrowLeft"], /^pageable, 1 MiB: /],
    ["the first point with ArrowLeft if none is before it", ["ArrowLeft"], /^pageable, 64 KiB: /],
    ["the same size on the next curve with ArrowDown", ["ArrowRight", "ArrowDown"], /^staged, 1 MiB: /],
    ["the last curve with ArrowUp on the first one", ["ArrowUp"], /^pinned, 64 KiB: /],
    ["the last point of a curve with End", ["ArrowDown", "End"], /^staged, 256 MiB: /],
    ["the first point of a curve with Home", ["End", "Home"], /^pageable, 64 KiB: /],
  ])("reads %s, and announces it to screen readers", async (_, keys, text) => {
    const { page, figure } = await showFirst();
    await readerOf(figure).focus();
    for (const key of keys) await page.keyboard.press(key);
    expect(await announced(page).textContent()).toMatch(text);
    expect((await tipOf(figure).textContent())!.replace(" ", ", ")).toMatch(text);
  });

  it("hides the values of a point with Escape, and when the chart loses focus", async () => {
    const { page, figure } = await showFirst();
    await readerOf(figure).focus();
    await page.keyboard.press("Escape");
    expect(await tipOf(figure).isVisible()).toBe(false);
    await page.keyboard.press("ArrowRight");
    expect(await tipOf(figure).isVisible()).toBe(true);
    await page.keyboard.press("Tab");
    expect(await tipOf(figure).isVisible()).toBe(false);
  });

  it("skips hidden curves", async () => {
    const { page, figure } = await showFirst();
    await legendOf(figure, "staged").click();
    await readerOf(figure).focus();
    await page.keyboard.press("ArrowDown");
    expect(await announced(page).textContent()).toMatch(/^pinned, 64 KiB: /);
  });
});

describe("a curve's name above a chart", () => {
  it("is a button that hides and shows the curve, and tells screen readers which", async () => {
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

  it.each(["Enter", " "])("hides the curve when the key %j is pressed", async (key) => {
    const { figure } = await showFirst();
    await legendOf(figure, "staged").press(key);
    expect(await shownCurves(figure)).toEqual(["pageable", "pinned"]);
  });

  it.each([
    ["a double click", (name: Locator) => name.dblclick()],
    ["a click with Shift", (name: Locator) => name.click({ modifiers: ["Shift"] })],
    ["Shift+Enter", (name: Locator) => name.press("Shift+Enter")],
  ])("shows its curve alone after %s, and all curves after another one", async (_, press) => {
    const { figure } = await showFirst();
    await press(legendOf(figure, "staged"));
    expect(await shownCurves(figure)).toEqual(["staged"]);
    await press(legendOf(figure, "staged"));
    expect(await shownCurves(figure)).toEqual(["pageable", "staged", "pinned"]);
  });

  it("hides the curve in no other chart", async () => {
    const { page, figure } = await showFirst();
    await legendOf(figure, "staged").click();
    expect(await shownCurves(chartOf(page, "d2h-by-size"))).toEqual(["pageable", "staged", "pinned"]);
  });
});
