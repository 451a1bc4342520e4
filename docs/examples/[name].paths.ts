import { globSync } from "node:fs";
import { EXAMPLES, examplePage } from "../.vitepress/examples.ts";

/** A page for each README of the examples. */
export default {
  watch: ["../../examples/**/README.md"],
  paths: () =>
    globSync("{,*/}README.md", { cwd: EXAMPLES }).map((file) => ({
      params: { name: file === "README.md" ? "index" : file.replace("/README.md", "") },
      content: examplePage(file),
    })),
};
