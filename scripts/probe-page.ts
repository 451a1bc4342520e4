// Writes docs/check/probes.md, the list of all probes, from the tables of the kit:
//
//     npm run docs:probes
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { probePage } from "../test/docs/probe-page.ts";

const PAGE = fileURLToPath(new URL("../docs/check/probes.md", import.meta.url));

writeFileSync(PAGE, probePage());
execFileSync("npx", ["--no-install", "oxfmt", PAGE]);
