import { afterEach, expect, it, vi } from "vitest";
import { listenEarly, stopListeningEarly } from "../../src/cli/early-signal.js";

afterEach(() => {
  stopListeningEarly();
});

it.each([
  [
    ["run", "--output", "a.json", "-o", "b.csv", "--output=c.md"],
    ["a.json", "b.csv", "c.md"],
  ],
  [["pin", "--json"], []],
])("an early SIGINT names the files of %j", (argv, files) => {
  const end = vi.fn();
  const on = vi.spyOn(process, "on").mockReturnThis();
  listenEarly(argv, end);
  const [name, listener] = on.mock.lastCall!;
  on.mockRestore();
  (listener as () => void)();
  expect(name).toBe("SIGINT");
  expect(end.mock.calls).toEqual([[files]]);
});

it.each([
  [["compare", "a.json", "b.json"]],
  [["--version"]],
  [[]],
  [["run", "--deadline", "60s"]],
  [["run", "--deadline=60s"]],
])("an early SIGINT ends %j as usual: nothing is measured, or a watcher answers", (argv) => {
  const on = vi.spyOn(process, "on").mockReturnThis();
  listenEarly(argv, () => undefined);
  expect(on).not.toHaveBeenCalled();
  on.mockRestore();
});

it("a loaded command answers signals alone", () => {
  const before = process.listeners("SIGINT");
  listenEarly(["run"], () => undefined);
  expect(process.listeners("SIGINT")).toHaveLength(before.length + 1);
  stopListeningEarly();
  expect(process.listeners("SIGINT")).toEqual(before);
});
