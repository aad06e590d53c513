// `npm run pictures`: draws README.md's pictures from a recorded GPU run. Run `npm run build` before.
import { writeFileSync } from "node:fs";
import { chartOfDocuments } from "../dist/kinds/draw-documents.js";
import { readDocuments } from "../dist/kinds/read-documents.js";
import { main } from "./lib/process.mjs";
import { inRoot } from "./lib/project.mjs";

const pictures = [
  { file: "docs/bandwidth.svg", result: "results/nvidia-h200/default.json", chart: "h2d-by-size" },
];

main(async () => {
  for (const { file, result, chart } of pictures) {
    writeFileSync(inRoot(file), await chartOfDocuments(await readDocuments(inRoot(result)), chart));
  }
});
