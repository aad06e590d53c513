import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { exampleNames, examplePage } from "../helpers/example-pages.js";
import { findings, looks, overhang, screens, showHtml, useBrowser } from "./shown-page.js";

/** What holds for a page of every kind. */

useBrowser();

/** Set by `node bench page --screenshots`: where pictures of the pages go. */
const pictures = process.env.PINBENCH_SCREENSHOTS;

/** Flags and times that are broken over two lines. */
const brokenWords = (page: Page) =>
  page
    .locator(".whole-word")
    .evaluateAll((all) => all.filter((one) => one.getClientRects().length > 1).map((one) => one.textContent));

/** Labels of charts that others cover, or that the edge of their chart cuts off. */
const spoiltLabels = (page: Page) =>
  page.evaluate(() => {
    // A line is higher than its letters; the name of an upright axis is turned.
    const boxOf = (text: Element) => {
      const { left, right, top, bottom, width, height } = text.getBoundingClientRect();
      const [aside, above] = text.hasAttribute("transform") ? [width / 5, 0] : [0, height / 5];
      return {
        text: text.firstChild?.textContent,
        ...{ left: left + aside, right: right - aside, top: top + above, bottom: bottom - above },
      };
    };
    return [...document.querySelectorAll("svg.chart")].flatMap((chart) => {
      const edge = chart.getBoundingClientRect();
      const boxes = [...chart.querySelectorAll("text")].map(boxOf).filter(({ left, right }) => right > left);
      const cut = boxes.filter(({ left, right }) => left < edge.left - 1 || right > edge.right + 1);
      const covered = boxes.flatMap((one, index) =>
        boxes.slice(index + 1).flatMap((other) => {
          const isApart =
            one.right <= other.left ||
            other.right <= one.left ||
            one.bottom <= other.top ||
            other.bottom <= one.top;
          return isApart ? [] : [`${one.text} over ${other.text}`];
        }),
      );
      return [...cut.map(({ text }) => `${text} is cut`), ...covered];
    });
  });

it.each(exampleNames)("a page of kind %s is small, accessible and not cut on any screen", async (name) => {
  const html = await examplePage(name);
  expect(Buffer.byteLength(html)).toBeLessThan(300_000);
  const { page, complaints } = await showHtml(html);
  const change = async ({ viewport, colorScheme }: (typeof looks)[number]) => {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
  };
  for (const look of pictures === undefined ? [] : looks) {
    await change(look);
    const path = join(pictures!, `${name}-${look.viewport.width}-${look.colorScheme}.png`);
    await page.screenshot({ path, fullPage: true });
  }
  for (const { look } of screens) {
    await change(look!);
    expect(await findings(page)).toEqual([]);
    expect(await overhang(page)).toBe(0);
    expect(await spoiltLabels(page)).toEqual([]);
    expect(await brokenWords(page)).toEqual([]);
  }
  expect(complaints).toEqual([]);
});
