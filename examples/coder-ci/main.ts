import { resolve } from "node:path";
import { fix } from "./fix.ts";
import { sampleRepository } from "./sample-repository.ts";
import { standInProvider } from "./stand-in.ts";

// With a folder: the repository of the job. Without one: a small one to try it.
const [folder] = process.argv.slice(2);
const workspace = folder === undefined ? sampleRepository() : resolve(folder);
const patch = resolve(process.env["PATCH"] ?? "fix.patch");

// Without a model, a server on loopback plays the provider, for the sample alone.
const standIn = process.env["MODEL"] === undefined ? await standInProvider() : undefined;
const model = process.env["MODEL"] ?? standIn!.model;

const outcome = await fix({ workspace, model, patch, print: (line) => console.log(line) });
await standIn?.close();
console.log(outcome === "fixed" ? `The tests pass. The patch is ${patch}` : `Result: ${outcome}`);
process.exitCode = outcome === "not fixed" ? 1 : 0;
