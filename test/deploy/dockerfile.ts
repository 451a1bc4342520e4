import { chown, cp, mkdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { succeed } from "../harness/program.ts";

/** A stage of a Dockerfile whose steps were run in a folder instead of a container. */
export interface BuiltStage {
  /** The folder that stands for `/`. */
  readonly root: string;
  /** The working directory, in `root`. */
  workdir: string;
  readonly env: Record<string, string>;
  user: string;
  entrypoint: readonly string[];
  command: readonly string[];
  healthcheck: readonly string[];
}

export interface BuildOptions {
  /** The folder that `docker build` would get: it has the Dockerfile and `.dockerignore`. */
  readonly context: string;
  /** An empty folder; each stage has a folder in it. */
  readonly into: string;
  /** The id of the user that `--chown` names, where this process may give files away. */
  readonly ownerId: number | undefined;
}

/** Runs the steps of a Dockerfile and resolves to its last stage. */
export async function buildDockerfile(options: BuildOptions): Promise<BuiltStage> {
  const text = await readFile(join(options.context, "Dockerfile"), "utf8");
  const ignored = await ignoredNames(options.context);
  const stages = new Map<string, BuiltStage>();
  let stage: BuiltStage | undefined;
  for (const [instruction, rest] of instructionsIn(text)) {
    if (instruction === "FROM") {
      const name = / AS (\w+)$/.exec(rest)?.[1] ?? "last";
      stage = newStage(join(options.into, name));
      stages.set(name, stage);
      continue;
    }
    if (stage === undefined) throw new Error(`${instruction} comes before FROM`);
    await runStep(instruction, rest, { ...options, ignored, stage, stages });
  }
  if (stage === undefined) throw new Error("the Dockerfile is empty");
  return stage;
}

/** The names that `.dockerignore` leaves out in every folder. */
async function ignoredNames(context: string): Promise<ReadonlySet<string>> {
  const lines = (await readFile(join(context, ".dockerignore"), "utf8")).split("\n");
  return new Set(lines.filter((line) => line.startsWith("**/")).map((line) => line.slice(3)));
}

function instructionsIn(text: string): readonly (readonly [string, string])[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return lines.map((line) => {
    const [instruction = "", ...rest] = line.split(" ");
    return [instruction, rest.join(" ")];
  });
}

function newStage(root: string): BuiltStage {
  return {
    root,
    workdir: root,
    env: {},
    user: "root",
    entrypoint: [],
    command: [],
    healthcheck: [],
  };
}

interface Step extends BuildOptions {
  readonly ignored: ReadonlySet<string>;
  readonly stage: BuiltStage;
  readonly stages: ReadonlyMap<string, BuiltStage>;
}

async function runStep(instruction: string, rest: string, step: Step): Promise<void> {
  const { stage } = step;
  switch (instruction) {
    case "WORKDIR":
      stage.workdir = join(stage.root, rest);
      await mkdir(stage.workdir, { recursive: true });
      return;
    case "COPY":
      return copy(rest, step);
    case "RUN":
      await succeed("sh", ["-ec", rest], {
        cwd: stage.workdir,
        env: { npm_config_prefer_offline: "true", npm_config_loglevel: "error" },
        timeoutMs: 600_000,
      });
      return;
    case "ENV":
      for (const [, name = "", value = ""] of rest.matchAll(/(\w+)=(\S+)/g)) {
        stage.env[name] = value;
      }
      return;
    case "USER":
      stage.user = rest;
      return;
    case "ENTRYPOINT":
      stage.entrypoint = JSON.parse(rest) as string[];
      return;
    case "CMD":
      stage.command = JSON.parse(rest) as string[];
      return;
    case "HEALTHCHECK":
      stage.healthcheck = JSON.parse(rest.slice(rest.indexOf("["))) as string[];
      return;
    case "EXPOSE":
    case "VOLUME":
      return;
    default:
      throw new Error(`${instruction} is not known here; add it to test/deploy/dockerfile.ts`);
  }
}

async function copy(rest: string, { context, ignored, ownerId, stage, stages }: Step) {
  const words = rest.split(" ");
  const paths = words.filter((word) => !word.startsWith("--"));
  const from = /--from=(\w+)/.exec(rest)?.[1];
  const source = from === undefined ? context : stages.get(from)!.root;
  const target = paths.pop()!;
  const to = target.startsWith("/") ? join(stage.root, target) : join(stage.workdir, target);
  for (const path of paths) {
    const what = join(source, path);
    const isFolder = (await stat(what)).isDirectory();
    await cp(what, isFolder ? to : join(to, basename(path)), {
      recursive: true,
      verbatimSymlinks: true,
      // What another stage has built is copied as it is.
      filter: (file) => from !== undefined || !ignored.has(basename(file)),
    });
  }
  if (rest.includes("--chown=") && ownerId !== undefined) await chown(to, ownerId, ownerId);
}
