import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { FleetDocument } from "../../src/fleet/fleet-document.js";
import { pageOfDocuments } from "../../src/kinds/draw-documents.js";
import { buildFleet, buildMixedFleet, buildOutlier, pinnedFrom } from "../helpers/fleet.js";
import { screens, showHtml, useBrowser } from "./shown-page.js";

/** The page of a fleet: its reader is to see first which node is slow, and then find it in each chart. */

useBrowser();

const show = async (document: FleetDocument, look?: Parameters<typeof showHtml>[1]) =>
  showHtml(await pageOfDocuments([{ kind: "fleet", path: null, document }]), look);

/** The lowest pixel of the elements that a selector finds, all of which must be visible. */
async function bottomOf(page: Page, selector: string): Promise<number> {
  const boxes = await Promise.all((await page.locator(selector).all()).map((one) => one.boundingBox()));
  return Math.max(...boxes.map((box) => box!.y + box!.height));
}

describe.each(screens)("the HTML page of a fleet on $name", ({ look }) => {
  it("shows the answer above or beside the first chart, and the table of slow GPUs below the answer", async () => {
    const { page } = await show(buildMixedFleet(), look);
    const chart = (await page.locator("figure").first().boundingBox())!;
    const answers = (await page.locator(".first > div").first().boundingBox())!;
    expect(answers.y + answers.height <= chart.y || answers.x + answers.width <= chart.x).toBe(true);
    expect(await bottomOf(page, ".answer")).toBeLessThan(
      (await page.locator(".main-tables").boundingBox())!.y,
    );
    const answer = await page.locator(".answer").nth(1).innerText();
    expect(answer.replaceAll("\u00a0", " ")).toContain(
      "2 of 96 nodes are slow: GPU 1 of n007 (50.0 % slower) and all GPUs of n042",
    );
    expect(await page.locator(".main-tables tbody tr").first().innerText()).toMatch(
      /^n007\s+1\s+50\.0\s%\s+isolate/,
    );
  });

  it("draws slow GPUs in the legend's colour for slow, with their names next to them", async () => {
    const [inFirst] = buildOutlier("n02").cells;
    const cells = [inFirst!, { ...pinnedFrom, figure: 42.4, expected: 53.1, change: -0.2 }];
    const fleet = buildFleet({ outliers: [buildOutlier("n02", { cells })] });
    const { page } = await show(fleet, look);
    const colour = (selector: string) =>
      page.locator(selector).evaluateAll((all) => [...new Set(all.map((one) => getComputedStyle(one).fill))]);
    const slow = await colour(".legend:has(text:text-is('slow')) .mark");
    expect(slow).toHaveLength(1);
    expect(await colour("figure .curve .mark")).toEqual(slow);
    expect(await colour("figure .curve .dots")).not.toEqual(slow);
    const marks = await page.locator("figure .curve .mark").all();
    const names = await page.locator("figure .curve text").all();
    expect([marks.length, names.length]).toEqual([2, 2]);
    for (const [i, mark] of marks.entries()) {
      const [of, name] = [(await mark.boundingBox())!, (await names[i]!.boundingBox())!];
      expect(await names[i]!.textContent()).toBe("n02 GPU 1");
      const apart = Math.max(name.x - (of.x + of.width), of.x - (name.x + name.width));
      expect(apart).toBeGreaterThan(-3);
      expect(apart).toBeLessThan(12);
      expect(Math.abs(name.y + name.height / 2 - (of.y + of.height / 2))).toBeLessThan(6);
    }
  });
});
