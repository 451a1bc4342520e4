import { readFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const PACKAGES = join(import.meta.dirname, "..", "..", "packages");

/** The target of package.json under conditions, in order of preference. */
type Target = string | { readonly [condition: string]: Target };

interface Manifest {
  readonly name: string;
  readonly imports?: Readonly<Record<string, Target>>;
  readonly exports: Readonly<Record<string, Target>>;
}

test("the client loads in a browser: no Node module is reachable from its entry", async () => {
  const { files, builtins } = await reachable(["@convoke/source"]);

  expect(builtins).toEqual([]);
  expect(files).toContain("client/src/outbound/fetch-outbound.ts");
  expect(files.filter((file) => file.includes("/egress/"))).toEqual([]);
});

test("in Node the same walk ends at the egress, so the walk works", async () => {
  const { files, builtins } = await reachable(["@convoke/source", "node"]);

  expect(files).toContain("egress/src/create-egress.ts");
  expect(builtins).toContain("node:https");
});

/** Walks imports from the entry of the client, as a bundler with these conditions does. */
async function reachable(conditions: readonly string[]) {
  const files = new Set<string>();
  const builtins = new Set<string>();
  const open = [await entryOf("@convoke/client", conditions)];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const name of importsOf(await readFile(join(PACKAGES, file), "utf8"))) {
      if (name.startsWith(".")) open.push(join(dirname(file), name));
      else if (name.startsWith("#")) {
        open.push(await privateImport(file.split("/")[0] ?? "", name, conditions));
      } else if (name.startsWith("@convoke/")) open.push(await entryOf(name, conditions));
      else if (isBuiltin(name)) builtins.add(name);
    }
  }
  return { files: [...files], builtins: [...builtins] };
}

/** With `verbatimModuleSyntax` an import stays unless all of it is types. */
function importsOf(source: string): readonly string[] {
  const statements = source.matchAll(
    /^(?:import|export)\s(?!type\s)(?:[^;"']*?from\s+)?["']([^"']+)["']|\bimport\(\s*["']([^"']+)["']/gm,
  );
  return [...statements].map(([, fixed, late]) => fixed ?? late ?? "");
}

async function entryOf(name: string, conditions: readonly string[]): Promise<string> {
  const [, folder = "", ...rest] = name.split("/");
  const { exports } = await manifestOf(folder);
  const path = rest.length === 0 ? "." : `./${rest.join("/")}`;
  return join(folder, choose(exports[path], conditions));
}

async function privateImport(
  folder: string,
  name: string,
  conditions: readonly string[],
): Promise<string> {
  const { imports = {} } = await manifestOf(folder);
  return join(folder, choose(imports[name], conditions));
}

function choose(target: Target | undefined, conditions: readonly string[]): string {
  if (typeof target === "string") return target;
  const known = [...conditions, "default"];
  const [, chosen] = Object.entries(target ?? {}).find(([key]) => known.includes(key)) ?? [];
  if (chosen === undefined) throw new Error(`nothing fits ${conditions.join(", ")}`);
  return choose(chosen, conditions);
}

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(PACKAGES, folder, "package.json"), "utf8")) as Manifest;
}
