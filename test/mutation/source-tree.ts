import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "vite";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A node of a syntax tree (ESTree), as far as it is used here. */
export interface SourceNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** A function, a method or a constant, and the file that declares it. */
export interface Declaration {
  /** Relative to the root of the repository. */
  readonly file: string;
  readonly source: string;
  readonly node: SourceNode;
}

/**
 * The only function, method or constant of a module with this name in a package: `mayRun`,
 * `CallRun.decide`, `CallRun.#execute`, `RunApprovals.constructor`. It may be in any file; none or
 * several is an error.
 */
export function findDeclaration(packageName: string, name: string): Declaration {
  const found = filesOf(packageName).flatMap(({ file, source }) => {
    if (!source.includes(name.split(".").at(-1)!)) return [];
    return declarationsIn(treeOf(file, source), name).map((node) => ({ file, source, node }));
  });
  if (found.length === 1) return found[0]!;
  throw new Error(`packages/${packageName} declares ${name} ${found.length} times instead of once`);
}

/** The node and everything in it. */
export function* nodesIn(node: SourceNode): Generator<SourceNode> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesIn(child);
}

function declarationsIn(tree: SourceNode, name: string): readonly SourceNode[] {
  const [className, methodName] = name.includes(".") ? name.split(".") : [undefined, undefined];
  const nodes = [...nodesIn(tree)];
  if (className === undefined) {
    const functions = nodes.filter(({ type }) => type === "FunctionDeclaration");
    return [...functions, ...constantsOf(tree)].filter(({ id }) => nameOf(id) === name);
  }
  return nodes
    .filter(({ type, id }) => type === "ClassDeclaration" && nameOf(id) === className)
    .flatMap(({ body }) => childrenOf(body as SourceNode))
    .filter(({ type, key }) => MEMBERS.includes(type) && nameOf(key) === methodName);
}

const MEMBERS = ["MethodDefinition", "PropertyDefinition"];

function constantsOf({ body }: SourceNode): readonly SourceNode[] {
  return (body as readonly SourceNode[])
    .map((node) => (node["declaration"] ?? node) as SourceNode)
    .filter(({ type }) => type === "VariableDeclaration")
    .flatMap(({ declarations }) => declarations as readonly SourceNode[]);
}

/** The name of an identifier; that of a private one starts with `#`. */
function nameOf(id: unknown): string | undefined {
  const { type, name } = (id ?? {}) as Partial<SourceNode>;
  if (type === "PrivateIdentifier") return `#${String(name)}`;
  return type === "Identifier" ? String(name) : undefined;
}

function childrenOf(node: SourceNode): readonly SourceNode[] {
  return Object.values(node).flat().filter(isNode);
}

function isNode(value: unknown): value is SourceNode {
  return typeof (value as SourceNode | null | undefined)?.type === "string";
}

interface SourceFile {
  readonly file: string;
  readonly source: string;
}

const packages = new Map<string, readonly SourceFile[]>();
const trees = new Map<string, SourceNode>();

/** The sources of a package, or of one of its folders (`backends/postgres`), without its tests. */
export function filesOf(packageName: string): readonly SourceFile[] {
  const known = packages.get(packageName);
  if (known !== undefined) return known;
  const [name, folder = ""] = packageName.split("/");
  const files = globSync(`packages/${name}/src/${folder}/**/*.ts`, { cwd: ROOT })
    .filter((file) => !/\.(test|suite)\.ts$/.test(file))
    .map((file) => ({ file, source: readFileSync(join(ROOT, file), "utf8") }));
  packages.set(packageName, files);
  return files;
}

function treeOf(file: string, source: string): SourceNode {
  const tree = trees.get(file) ?? (parseSync(file, source).program as unknown as SourceNode);
  trees.set(file, tree);
  return tree;
}
