import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { python, target } from "./support.js";

const probe = fileURLToPath(new URL("../../../src/tune/torch/probe", import.meta.url));

it("takes no error of the data set's own threads for the pinning thread's", () => {
  const said = execFileSync(python, ["-B", target("thread_errors.py"), probe], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [pinning, other] = said.split("\n");
  expect(pinning).toContain("TypeError: cannot pin this");
  expect(other).toContain("Pin memory thread exited unexpectedly");
});
