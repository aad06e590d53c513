import { mkdirSync, writeFileSync } from "node:fs";
import { it } from "vitest";
import { hostileTexts } from "/tmp/wt/house/test/helpers/hostile-documents.js";

it("x", async () => {
  mkdirSync("/tmp/house-hostile", { recursive: true });
  const odd = "N\u001b[2J\u202e\u2067\u061c\u200f\u009b31m\u001b]0;x\u0007\r\n=> all is well";
  for (const [k, f, t] of await hostileTexts(odd)) writeFileSync(`/tmp/house-hostile/odd-${k}.${f}`, t);
  const hostile =
    "@org/team #1 ![x](https://evil.example/i.png) <img src=x onerror=y> | **ok** `code`\n```\n```\n# x";
  for (const [k, f, t] of await hostileTexts(hostile)) writeFileSync(`/tmp/house-hostile/md-${k}.${f}`, t);
});
