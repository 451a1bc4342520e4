import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { openPostgresBackend } from "@convoke/backends/postgres";
import { openSqliteBackend } from "@convoke/backends/sqlite";
import { expect, test } from "vitest";
import { fillStore } from "../../packages/backends/src/transfer/a-store.suite.ts";
import { needsPostgres } from "../harness/postgres.ts";
import { temporaryFolder } from "../start/temporary-folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const PAGE = readFileSync(join(ROOT, "docs/operating/backup.md"), "utf8");

const address = needsPostgres();

/** Two lines of the page: one for a folder and one for a database. */
const LINES = Array.from(PAGE.matchAll(/^[\d* ]+ root (.*)$/gm), ([, line = ""]) => line);

/** Runs a line as cron does, with other places. Resolves to its exit code. */
function runLine(line: string, places: Readonly<Record<string, string>>): Promise<number> {
  const shell = Object.entries(places).reduce(
    (text, [place, other]) => text.replaceAll(place, other),
    line.replaceAll(String.raw`\%`, "%"),
  );
  // Where it is missing, for a copy into an empty folder.
  const programs = temporaryFolder();
  writeFileSync(join(programs, "rsync"), '#!/bin/sh\nmkdir -p "$3" && cp -a "$2." "$3"\n');
  chmodSync(join(programs, "rsync"), 0o755);
  const env = { ...process.env, PATH: `${process.env["PATH"]}${delimiter}${programs}` };
  return run(shell, env).then(({ code }) => code);
}

interface Finished {
  readonly code: number;
  readonly stderr: string;
}

function run(shell: string, env: NodeJS.ProcessEnv = process.env): Promise<Finished> {
  return new Promise((resolve) => {
    execFile("sh", ["-c", shell], { env }, (error, _, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stderr }),
    );
  });
}

/** A folder for backups with one of three weeks ago, and one that was cut off then. */
function aPlaceForBackups(old: string): string {
  const folder = temporaryFolder();
  const weeksAgo = Date.now() / 1000 - 21 * 24 * 3600;
  for (const name of [old, `${old}.0b7e.part`]) {
    mkdirSync(join(folder, name));
    utimesSync(join(folder, name), weeksAgo, weeksAgo);
  }
  return folder;
}

function today(): string {
  const now = new Date();
  return [now.getFullYear(), now.getMonth() + 1, now.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("-");
}

test("the line for cron that backs up a folder deletes old backups only after a new one", async () => {
  const [line = ""] = LINES;
  const data = temporaryFolder();
  const server = await openSqliteBackend({ folder: data, durability: "process" });
  await fillStore(server, 3);
  const backups = aPlaceForBackups("tasks-old");
  const places = {
    "/opt/agent": ROOT,
    "/var/lib/convoke": data,
    " /backup": ` ${backups}`,
    "npx --no-install convoke": `${process.execPath} apps/convoke/bin/convoke.js`,
  };

  expect(await runLine(line, { ...places, "/var/lib/convoke": join(data, "missing") })).toBe(5);
  expect(readdirSync(backups).toSorted()).toEqual(["tasks-old", "tasks-old.0b7e.part"]);
  expect(await runLine(line, places)).toBe(0);
  await server.close();

  expect(readdirSync(backups)).toEqual([`tasks-${today()}`]);
  await (await openSqliteBackend({ folder: join(backups, `tasks-${today()}`) })).close();
});

test("the line for cron that backs up a database has its files, and deletes old dumps only after a new one", async () => {
  const [, line = ""] = LINES;
  const url = new URL(await address());
  const schema = url.searchParams.get("schema")!;
  const backend = await openPostgresBackend({ url: url.href });
  await fillStore(backend, 3);
  await backend.close();
  url.searchParams.delete("schema");
  const files = temporaryFolder();
  writeFileSync(join(files, "file"), "content");
  const backups = temporaryFolder();
  const old = join(backups, "tasks-old.dump");
  writeFileSync(old, "dump");
  utimesSync(old, 1, 1);
  const places = {
    "postgres://convoke@db/convoke": `'${url.href}'`,
    "convoke*": `${schema}*`,
    "/srv/files": files,
    "=/backup": `=${backups}`,
    " /backup": ` ${backups}`,
  };

  const missing = { ...places, "postgres://convoke@db/convoke": "postgres://127.0.0.1:1/none" };
  expect(await runLine(line, missing)).toBe(1);
  expect(existsSync(old)).toBe(true);
  expect(await runLine(line, places)).toBe(0);

  expect(readdirSync(backups).toSorted()).toEqual(["files", `tasks-${today()}.dump`]);
  expect(readFileSync(join(backups, "files/file"), "utf8")).toBe("content");
});

test("a backup and a restore that cannot be written say why in one sentence, and leave nothing", async () => {
  const data = temporaryFolder();
  const server = await openSqliteBackend({ folder: data, durability: "process" });
  await fillStore(server, 3);
  await server.close();
  const root = temporaryFolder();
  const limited = (command: string, from: string, to: string): string =>
    `cd '${ROOT}' && ulimit -f 80 && '${process.execPath}' apps/convoke/bin/convoke.js ${command} '${from}' '${to}'`;

  const backup = await run(limited("backup", data, join(root, "copy")));
  const restore = await run(limited("restore", data, join(root, "restored")));

  for (const { code, stderr } of [backup, restore]) {
    expect(stderr).toMatch(/^\S+ could not be (?:copied|restored) to \S+ \(\w+: [^\n]*\)\.\n$/);
    expect(code).toBe(5);
  }
  expect(readdirSync(root)).toEqual([]);
});
