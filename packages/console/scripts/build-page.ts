// Bundles the page of the console into a folder, by default the one that is published.
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { type OutputChunk, build } from "rolldown";

const PACKAGE = fileURLToPath(new URL("../", import.meta.url));
const PAGE = join(PACKAGE, "src/page");

await buildPage(process.argv[2] ?? join(PACKAGE, "dist/page"));

async function buildPage(folder: string): Promise<void> {
  const chunks = await bundle();
  const entry = chunks.find(({ isEntry }) => isEntry)!.fileName;
  const styles = joinStyles();
  const stylesName = `main-${digest(styles)}.css`;
  const html = (await readFile(join(PAGE, "index.html"), "utf8"))
    .replace("%SCRIPT%", entry)
    .replace("%STYLES%", stylesName);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const icon = await readFile(join(PAGE, "icon.svg"), "utf8");
  const files = [
    ...chunks.map(({ fileName, code }) => [fileName, code] as const),
    [stylesName, styles] as const,
    ["index.html", html] as const,
    ["icon.svg", icon] as const,
    ["THIRD-PARTY.txt", thirdParty(chunks)] as const,
  ];
  await Promise.all(files.map(([name, text]) => write(join(folder, name), Buffer.from(text))));
}

async function bundle(): Promise<readonly OutputChunk[]> {
  const { output } = await build({
    cwd: PAGE,
    input: { main: "main.tsx" },
    platform: "browser",
    resolve: { conditionNames: ["@convoke/source", "browser", "import", "default"] },
    transform: { target: "es2024", jsx: { runtime: "automatic", importSource: "preact" } },
    write: false,
    output: {
      format: "es",
      entryFileNames: "[name]-[hash].js",
      chunkFileNames: "[name]-[hash].js",
      minify: true,
    },
  });
  return output.filter((file) => file.type === "chunk");
}

/** All styles in one file. Cascade layers make their order irrelevant, except for the names of the layers. */
function joinStyles(): string {
  const files = globSync("**/*.css", { cwd: PAGE }).toSorted();
  const first = files.filter((file) => basename(file) === "layers.css");
  const all = [...first, ...files.filter((file) => !first.includes(file))];
  return all
    .map((file) => readFileSync(join(PAGE, file), "utf8"))
    .join("\n")
    .replaceAll(/\/\*[^]*?\*\//g, "")
    .replaceAll(/\s*\n\s*/g, "\n");
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 8).replaceAll("-", "_");
}

async function write(path: string, body: Buffer): Promise<void> {
  const gzip = gzipSync(body, { level: 9 });
  const brotli = brotliCompressSync(body, {
    params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
  });
  const isPage = extname(path) === ".html";
  const isSmaller = !isPage && gzip.length < body.length;
  await Promise.all([
    writeFile(path, body),
    ...(isSmaller ? [writeFile(`${path}.gz`, gzip), writeFile(`${path}.br`, brotli)] : []),
  ]);
}

/** The licences of the packages whose code is in the bundle. */
function thirdParty(chunks: readonly OutputChunk[]): string {
  const folders = chunks
    .flatMap(({ moduleIds }) => moduleIds)
    .flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []);
  return [...new Set(folders)].toSorted().map(licenceOf).join("\n\n");
}

function licenceOf(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license: string;
  };
  const [file] = globSync("{LICENSE,LICENCE,license}*", { cwd: folder });
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8");
  return `${manifest.name} ${manifest.version} (${manifest.license})\n\n${text.trim()}\n`;
}
