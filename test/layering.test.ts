import { globSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";
import { describe, expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Which packages each package may import: those below it. */
const ORDER: Readonly<Record<string, readonly string[]>> = {
  "packages/protocol": [],
  "packages/egress": ["protocol"],
  "packages/engine": ["protocol", "egress"],
  "packages/backends": ["protocol", "egress", "engine"],
  "packages/server": ["protocol", "egress", "engine"],
  "packages/client": ["protocol", "egress"],
  "packages/runtime": ["protocol", "egress", "engine", "backends", "client"],
  "packages/check": ["protocol", "egress", "client"],
  "packages/coder": ["protocol", "egress", "client", "runtime"],
  "packages/console": ["protocol", "client", "server"],
  "packages/host": ["protocol", "engine", "runtime", "coder"],
  "apps/convoke": [
    "protocol",
    "egress",
    "engine",
    "backends",
    "server",
    "client",
    "runtime",
    "check",
    "coder",
    "host",
    "console",
  ],
};

interface Import {
  /** Relative to the root of the repository. */
  readonly from: string;
  /** The import specifier. */
  readonly specifier: string;
}

/**
 * Every import and re-export of a package's sources, including type imports, without tests and test
 * doubles.
 */
function importsOf(folder: string): readonly Import[] {
  return globSync(`${folder}/src/**/*.{ts,tsx}`, { cwd: ROOT })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !/\.(test|suite)\.ts$|\/testing\//.test(file))
    .toSorted()
    .flatMap((from) => specifiersIn(from).map((specifier) => ({ from, specifier })));
}

function specifiersIn(file: string): readonly string[] {
  const source = readFileSync(join(ROOT, file), "utf8");
  const { staticImports, staticExports, dynamicImports } = parseSync(file, source).module;
  return [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []),
    ),
    ...dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
      const literal = /^["']([^"']+)["']$/.exec(source.slice(start, end));
      return literal?.[1] ?? [];
    }),
  ];
}

/** The imports of a package's own files, as pairs of paths. */
function innerImports(imports: readonly Import[]): readonly (readonly [string, string])[] {
  return imports
    .filter(({ specifier }) => specifier.startsWith("."))
    .map(({ from, specifier }) => [from, posix.join(dirname(from), specifier)]);
}

/** Groups of folders that import each other in a cycle. */
function cyclesIn(pairs: readonly (readonly [string, string])[]): readonly string[][] {
  const next = new Map<string, Set<string>>();
  for (const [from, to] of pairs.map(([from, to]) => [dirname(from), dirname(to)] as const)) {
    if (from !== to) next.set(from, (next.get(from) ?? new Set()).add(to));
  }
  const reached = new Map([...next.keys()].map((folder) => [folder, reachable(folder, next)]));
  const cyclic = [...reached].filter(([folder, all]) => all.has(folder));
  // Folders of one cycle share the first folder that they reach and that reaches them.
  const groups = Map.groupBy(cyclic, ([folder, all]) =>
    cyclic.findIndex(([other]) => all.has(other) && reached.get(other)?.has(folder)),
  );
  return [...groups.values()].map((group) => group.map(([folder]) => folder).toSorted());
}

function reachable(
  start: string,
  next: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const found = new Set<string>();
  const open = [start];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const other of next.get(folder) ?? []) {
      if (!found.has(other)) open.push(other);
      found.add(other);
    }
  }
  return found;
}

test("the order has every package", () => {
  const packages = globSync("{packages,apps}/*/package.json", { cwd: ROOT });

  expect(packages.map((file) => dirname(file).replaceAll("\\", "/")).toSorted()).toEqual(
    Object.keys(ORDER).toSorted(),
  );
});

describe.each(Object.keys(ORDER))("%s", (folder) => {
  const imports = importsOf(folder);
  const inner = innerImports(imports);

  test("imports only packages below it, and no file of another package", () => {
    const below = ORDER[folder]!.map((name) => `@convoke/${name}`);
    const isAllowed = (specifier: string): boolean =>
      below.some((name) => specifier === name || specifier.startsWith(`${name}/`));
    const wrong = imports.filter(
      ({ specifier }) => /^(@convoke\/|convoke(\/|$))/.test(specifier) && !isAllowed(specifier),
    );
    const outside = inner.filter(([, to]) => !to.startsWith(`${folder}/`));

    expect(wrong).toEqual([]);
    expect(outside).toEqual([]);
  });

  test("has folders that import each other in one direction only", () => {
    expect(cyclesIn(inner)).toEqual([]);
  });

  test("has root files that its folders do not import", () => {
    const root = `${folder}/src`;
    const imported = inner
      .filter(([from, to]) => dirname(from) !== root && dirname(to) === root)
      .map(([, to]) => posix.basename(to));

    expect([...new Set(imported)].toSorted()).toEqual([]);
  });
});

test("a cycle of any length is found, and a chain is not a cycle", () => {
  const line = [
    ["a/x.ts", "b/x.ts"],
    ["b/y.ts", "c/x.ts"],
  ] as const;

  expect(cyclesIn(line)).toEqual([]);
  expect(cyclesIn([...line, ["c/y.ts", "a/y.ts"], ["d/x.ts", "a/x.ts"]])).toEqual([
    ["a", "b", "c"],
  ]);
});
