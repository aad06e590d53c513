import { describe, expect, it } from "vitest";
import { countIn, fieldOf, listNames, readBytes, readStart, readText } from "../../src/host/files.js";
import { fixtureRoot } from "../helpers/fixture-root.js";

describe("files in /proc and /sys", () => {
  const root = fixtureRoot({ "proc/a": "  0123456789  " });

  it("are read whole and trimmed, or their first bytes alone", () => {
    expect(readText(root, "proc/a")).toBe("0123456789");
    expect(readStart(root, "proc/a", 5)).toBe("  012");
    expect(readBytes(root, "proc/a", 5)?.toString()).toBe("  012");
    expect(readBytes(root, "proc/a", 100)?.toString()).toBe("  0123456789  \n");
  });

  it("that do not exist are null", () => {
    const nothing = [readText(root, "b"), readStart(root, "b", 5), readBytes(root, "b", 5)];
    expect(nothing).toEqual([null, null, null]);
    expect(listNames(root, "b")).toEqual([]);
    expect(listNames(root, "proc")).toEqual(["a"]);
  });

  it("have values after the first colon of the first line with a key", () => {
    const text = "Names: other\nName:\ta: b\nName: c";
    expect(fieldOf(text, "Name")).toBe("a: b");
    expect([fieldOf(text, "b"), fieldOf(null, "Name")]).toEqual([null, null]);
  });

  it("give a count only if it is whole, exact and not negative", () => {
    const texts = ["0", "17", "-1", "1.5", "", "max", "9223372036854771712", undefined];
    expect(texts.map(countIn)).toEqual([0, 17, null, null, null, null, null, null]);
  });
});
