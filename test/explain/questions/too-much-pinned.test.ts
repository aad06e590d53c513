import { expect, it } from "vitest";
import { promisesAll } from "../../../src/explain/questions/too-much-pinned.js";
import { fixtureRoot } from "../../helpers/fixture-root.js";

it.each([
  ["0", false],
  ["1", true],
  ["2", false],
])("vm.overcommit_memory %s makes a request beyond all memory dangerous: %s", (mode, isDangerous) => {
  expect(promisesAll(fixtureRoot({ "proc/sys/vm/overcommit_memory": `${mode}\n` }))).toBe(isDangerous);
});
