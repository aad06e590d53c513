import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type { FleetDocument } from "../../src/fleet/fleet-document.js";
import { pageOfDocuments } from "../../src/kinds/draw-documents.js";
import { buildFleet, buildMixedFleet, buildOutlier } from "../helpers/fleet.js";
import { screens, showHtml, useBrowser } from "./shown-page.js";

/** The page of a fleet: its reader is to see first which node is slow, and then find it in each chart. */

useBrowser();

const show = async (document: FleetDocument, look?: Parameters<typeof showHtml>[1]) =>
  showHtml(await pageOfDocuments([{ kind: "fleet", path: null, document }]), look);

/** The lowest pixel of what a selector finds, which all must be seen. */
async function bottomOf(page: Page, selector: string): Promise<number> {
  const boxes = await Promise.all((await page.locator(selector).all()).map((one) => one.boundingBox()));
  return Math.max(...boxes.map((box) => box!.y + box!.height));
}

describe.each(screens)("on $name", ({ look }) => {
  it("the answer and the slow GPUs stand above all charts", async () => {
    const { page } = await show(buildMixedFleet(), look);
    const chart = (await page.locator("figure").first().boundingBox())!.y;
    expect(await bottomOf(page, ".answer")).toBeLessThan(chart);
    expect(await bottomOf(page, ".main-tables tr")).toBeLessThan(chart);
    const answer = await page.locator(".answer").first().innerText();
    expect(answer.replaceAll("\u00a0", " ")).toContain(
      "GPU 1 of n007 (50.0 % slower in H2D pinned 64 MiB x1, since 2026-11-20 09:00 UTC; isolate)",
    );
    expect(await page.locator(".main-tables tbody tr").first().innerText()).toMatch(
      /^n007\s+1\s+50\.0\s%.*isolate$/s,
    );
  });

  it("slow GPUs have the colour that the legend calls slow, and their names beside them", async () => {
    const fleet = buildFleet({ outliers: [buildOutlier("n02")] });
    const second = fleet.groups[0]!.cells[1]!;
    second.values[3] = 0.8 * second.centre;
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
