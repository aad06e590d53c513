import { describe, expect, it } from "vitest";
import { findings, openTables, overhang, screens, showResults, twoSweeps, useBrowser } from "./shown-page.js";

/** How a page looks: to anybody, on any screen, on paper, and without JavaScript. */

useBrowser();

it("the accessibility check of these tests finds a missing language and a low contrast", async () => {
  const { page } = await showResults([twoSweeps()[0]]);
  await page.evaluate(() => {
    document.documentElement.removeAttribute("lang");
    document.querySelector("h2")!.style.color = "#eee";
  });
  expect((await findings(page)).map((finding) => finding.split(":")[0]).sort()).toEqual([
    "color-contrast",
    "html-has-lang",
  ]);
});

describe.each(screens)("a page of two results on $name", ({ look }) => {
  it("has no accessibility fault and nothing outside the window, with tables open and a chart in use", async () => {
    const { page, complaints, requests } = await showResults(twoSweeps(), look);
    await openTables(page);
    expect(await overhang(page)).toBe(0);
    await page.locator("figure").first().getByRole("button").first().click();
    await page.locator("figure").first().getByRole("application").focus();
    expect(await findings(page)).toEqual([]);
    expect(complaints).toEqual([]);
    expect(requests).toEqual([]);
  });
});

it("the headings of a page with two results are nested without a gap", async () => {
  const { page } = await showResults(twoSweeps());
  const levels = await page
    .locator("h1, h2, h3, h4, h5, h6")
    .evaluateAll((headings) => headings.map(({ tagName }) => tagName).join(" "));
  expect(levels).toBe("H1 H2 H3 H3 H3 H2 H3 H3 H3");
});

it.each([
  ["beside its figures and table", 1280],
  ["between its figures and table", 390],
])("the first chart of a page stands %s on a screen of %i pixels", async (_, width) => {
  const { page } = await showResults([twoSweeps()[0]], { viewport: { width, height: 900 } });
  const [figures, chart, table] = await Promise.all(
    [".headline", "figure", ".main-tables"].map((name) => page.locator(name).first().boundingBox()),
  );
  const isBeside = width > 900;
  expect(chart!.x > figures!.x + figures!.width).toBe(isBeside);
  expect(chart!.y > figures!.y + figures!.height).toBe(!isBeside);
  expect(table!.y > chart!.y + chart!.height).toBe(!isBeside);
});

it("a link in a page's table of contents scrolls to its document", async () => {
  const { page } = await showResults(twoSweeps(), { viewport: { width: 400, height: 800 } });
  await page.getByRole("navigation").getByRole("link", { name: /2027/ }).click();
  expect(await page.locator("#document-2 h2").boundingBox()).toMatchObject({ y: expect.closeTo(0, -2) });
});

it("a chart's curves differ by their dashes if the reader's system sets all colours", async () => {
  const { page } = await showResults([twoSweeps()[0]], { forcedColors: "active" });
  const strokes = await page
    .locator("#document-1-h2d-by-size .curve .line")
    .evaluateAll((lines) =>
      lines.map((line) => getComputedStyle(line)).map((style) => [style.stroke, style.strokeDasharray]),
    );
  expect(new Set(strokes.map(([stroke]) => stroke)).size).toBe(1);
  expect(new Set(strokes.map(([, dashes]) => dashes)).size).toBe(3);
});

describe("a page without JavaScript", () => {
  const look = { javaScriptEnabled: false };

  it("shows all charts, with the values of each point as its title", async () => {
    const [withScripts, without] = [await showResults(twoSweeps()), await showResults(twoSweeps(), look)];
    const charts = without.page.locator("figure svg.chart");
    expect(await charts.count()).toBe(await withScripts.page.locator("figure svg.chart").count());
    for (const chart of await charts.all()) {
      expect((await chart.boundingBox())!.height).toBeGreaterThan(50);
      expect(await chart.getAttribute("aria-label")).toMatch(/\w{3}/);
    }
    expect(await without.page.locator("#document-1-h2d-by-size .mark title").count()).toBe(15);
  });

  it("shows no control that needs JavaScript", async () => {
    const { page } = await showResults(twoSweeps(), look);
    expect(await page.locator("button, select, [role=button], [role=application], .help").count()).toBe(0);
  });

  it("lets the reader open each table", async () => {
    const { page } = await showResults([twoSweeps()[0]], look);
    const tables = page.locator("details");
    expect(await tables.count()).toBeGreaterThan(1);
    for (const table of await tables.all()) {
      if ((await table.getAttribute("open")) === null) await table.locator("summary").click();
      expect(await table.locator("table").isVisible()).toBe(true);
    }
  });
});

describe("a printed page", () => {
  it.each([true, false])("shows all tables open, with JavaScript enabled: %s", async (javaScriptEnabled) => {
    const { page } = await showResults([twoSweeps()[0]], { javaScriptEnabled });
    await page.emulateMedia({ media: "print" });
    for (const row of await page.locator("tbody tr:last-child").all()) {
      expect((await row.boundingBox())!.height).toBeGreaterThan(5);
    }
  });

  it("contains no control that needs a screen", async () => {
    const { page } = await showResults(twoSweeps());
    await page.locator("figure").first().getByRole("application").focus();
    await page.emulateMedia({ media: "print" });
    for (const element of await page.locator("nav, select, .tip, .help").all()) {
      expect(await element.isVisible()).toBe(false);
    }
  });

  it("is white even if the screen is dark, and breaks no chart over two sheets", async () => {
    const { page } = await showResults([twoSweeps()[0]], { colorScheme: "dark" });
    await page.emulateMedia({ media: "print" });
    const colour = (selector: string, name: "backgroundColor" | "fill") =>
      page
        .locator(selector)
        .first()
        .evaluate((element, name) => getComputedStyle(element)[name], name);
    expect(await colour("body", "backgroundColor")).toBe("rgb(255, 255, 255)");
    expect(await colour(".chart .quiet", "fill")).toBe("rgb(87, 96, 106)");
    const breaks = await page
      .locator("figure")
      .evaluateAll((figures) => figures.map((figure) => getComputedStyle(figure).breakInside));
    expect(new Set(breaks)).toEqual(new Set(["avoid"]));
  });
});
