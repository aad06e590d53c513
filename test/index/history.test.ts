import { describe, expect, it } from "vitest";
import { history } from "../../src/index.js";
import { buildCourse, buildEntry, buildFigure, historyFolder, pinnedId } from "../helpers/history.js";

const folder = () =>
  historyFolder(
    buildCourse({ checks: 40, steps: { 20: -0.05 } }).map((factor, day) =>
      buildEntry(day, { series: [buildFigure({ figure: 50 * factor })] }),
    ),
  );

describe("history() of the library", () => {
  it("returns the document that --json prints", async () => {
    const path = folder();
    expect(await history({ folder: path })).toMatchObject({
      kind: "history",
      path,
      courses: [{ name: "h2d pinned", steps: [{ after: 20 }] }],
    });
  });

  it("takes cells as text or a list", async () => {
    for (const cells of ["*/pinned/*", [pinnedId]]) {
      const { courses } = await history({ folder: folder(), cells });
      expect(courses.map(({ name }) => name)).toEqual([pinnedId]);
    }
  });

  it("rejects if there is no history, or no such cell", async () => {
    await expect(history({ folder: folder(), cell: "x" } as never)).rejects.toThrow(
      "There is no option cell.",
    );
    await expect(history({ folder: 7 } as never)).rejects.toThrow("The option folder must be text.");
    await expect(history({ folder: "none" })).rejects.toMatchObject({ kind: "usage" });
    await expect(history({ folder: folder(), cells: "*/staged/*" })).rejects.toMatchObject({ kind: "usage" });
  });
});
