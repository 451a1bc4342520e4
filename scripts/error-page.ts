// Writes docs/reference/errors.md from the table of errors, with a cause and a fix for each:
//
//     npm run docs:errors
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { errorPage } from "../test/docs/error-page.ts";

const PAGE = fileURLToPath(new URL("../docs/reference/errors.md", import.meta.url));

writeFileSync(PAGE, errorPage());
execFileSync("npx", ["--no-install", "oxfmt", PAGE]);
