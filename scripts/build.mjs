// `npm run build`: compiles src/ into dist/ and cuda/ into build/Release/, unless they are up to date.
import { ensureBuilt } from "./lib/build.mjs";
import { main } from "./lib/process.mjs";

await main(() => ensureBuilt());
