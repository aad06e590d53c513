import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { verdicts } from "../src/compare/comparison.js";
import { commandSettings } from "../src/settings/command-settings.js";
import { formatNames } from "../src/settings/document-formats.js";
import { blocksOf, documents, linesOf, root, textOf } from "./helpers/documents.js";
import { callCli } from "./helpers/in-process.js";
import { temporaryFolder } from "./helpers/run-cli.js";

describe("the documents", () => {
  it("show the picture that `npm run pictures` draws", async () => {
    const result = join(root, "results/nvidia-h200/default.json");
    const args = ["show", result, "--output", "drawn.svg"];
    const cwd = temporaryFolder();
    expect(await callCli(args, { cwd })).toMatchObject({ exitCode: 0 });
    expect(textOf("docs/bandwidth.svg")).toBe(readFileSync(join(cwd, "drawn.svg"), "utf8"));
    expect(textOf("README.md")).toContain("](docs/bandwidth.svg)");
  });

  it("are short: README has at most 700 words, README and docs together at most 18 000", () => {
    // Code and recorded rates aside; signs such as a table's are no words.
    const wordsIn = (document: string) =>
      textOf(document)
        .replaceAll(/^```[\s\S]*?^```$|^\| (NVIDIA|Tesla|Quadro) .*$/gm, "")
        .split(/\s+/)
        .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    const pages = documents.filter((document) => document.startsWith("docs/") && document.endsWith(".md"));
    const all = ["README.md", ...pages].reduce((sum, document) => sum + wordsIn(document), 0);
    expect(wordsIn("README.md")).toBeLessThanOrEqual(700);
    expect(all).toBeLessThanOrEqual(18_000);
    expect(all).toBeGreaterThan(9000);
  });

  it.each(documents.filter((document) => /^docs\/.*\.md$/.test(document)))(
    "%s opens with a sentence, not with code, a table or a list",
    (document) => {
      const [title, , first = ""] = textOf(document).split("\n");
      expect(title).toMatch(/^# /);
      expect(first).toMatch(/^[`\p{L}]/u);
      expect(first).not.toMatch(/^```/);
    },
  );

  it.each(documents)("%s links to existing files", (document) => {
    const links = [...textOf(document).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path]) => path!);
    for (const path of links) {
      expect(existsSync(resolve(root, dirname(document), path)), path).toBe(true);
    }
  });

  const { files } = JSON.parse(textOf("package.json")) as { files: string[] };
  const carried = ["README.md", "LICENSE", ...files];

  it.each(documents.filter((document) => carried.includes(document.split("/")[0]!)))(
    "%s links to files that the package contains",
    (document) => {
      for (const [, path] of textOf(document).matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        const top = join(dirname(document), path!).split("/")[0];
        expect(carried, path).toContain(top);
      }
    },
  );

  it("show in README what a recorded run prints", async () => {
    const { stdout } = await callCli(["show", join(root, "results/nvidia-h200/default.json")]);
    const shown = blocksOf("README.md", "text").flatMap(linesOf);
    expect(shown.length).toBeGreaterThan(10);
    for (const line of shown.filter((text) => text !== "…")) expect(linesOf(stdout)).toContain(line);
  });

  it.each(documents)("%s links to existing headings", (document) => {
    const links = [...textOf(document).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)];
    for (const [, path, anchor] of links) {
      const target = path === "" ? document : join(dirname(document), path!);
      const headings = [...textOf(target).matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
        heading!
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, "")
          .replaceAll(" ", "-"),
      );
      expect(headings, `${target}#${anchor}`).toContain(anchor);
    }
  });

  it.each([
    ...([
      "run",
      "baseline",
      "check",
      "compare",
      "history",
      "show",
      "doctor",
      "pin",
      "explain",
      "trace",
    ] as const),
    ...(["devices", "import nvbandwidth"] as const),
  ])("name every flag of %s", (command) => {
    const flags = Object.values<{ flag: string }>(commandSettings[command]).map(
      ({ flag }) => flag.split(" ")[0]!,
    );
    const pages = ["reference", "at-once", command].map((name) => `docs/${name}.md`);
    const text = pages
      .filter((page) => documents.includes(page))
      .map(textOf)
      .join("\n");
    for (const flag of flags) expect(text).toMatch(new RegExp(`\`${flag}\``));
  });

  it("name every verdict and every format of a comparison in docs/reference.md", () => {
    const formats = formatNames("comparison");
    for (const format of formats) expect(textOf("docs/reference.md")).toContain(`\`${format}\``);
    const table = textOf("docs/reference.md").split("| verdict |")[1]?.split("\n\n")[0] ?? "";
    for (const verdict of verdicts) expect(table).toMatch(new RegExp(`^\\| (.*, )?${verdict}\\b`, "m"));
  });

  it("name every exit code of the help in docs/reference.md", async () => {
    const { stdout } = await callCli(["help", "exit-codes"]);
    const codes = [...stdout.slice(stdout.indexOf("Exit codes:")).matchAll(/\b(\d+)\b/g)].map(
      ([, code]) => code,
    );
    const table = textOf("docs/reference.md").split("## Exit codes")[1]?.split("##")[0] ?? "";
    for (const code of codes) expect(table).toMatch(new RegExp(`^\\| .*\\b${code}\\b`, "m"));
  });
});
