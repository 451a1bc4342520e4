import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { realPlace } from "../policy/path-glob.ts";

/** What commands in the sandbox may reach. */
export interface SandboxOptions {
  /** The folders of the workspace, the only ones that are writable. */
  readonly roots: readonly string[];
  /** Whether the network can be used. */
  readonly network: boolean;
  /** Files and folders that are not visible, in addition to {@link SECRETS}. */
  readonly hidden?: readonly string[];
}

/** Isolates commands with bubblewrap. */
export interface Sandbox {
  /** The command that runs another one in the sandbox. */
  wrap(argv: readonly string[], cwd: string): readonly string[];
}

/** Where people keep credentials, relative to the home folder. */
const SECRETS =
  ".ssh .gnupg .aws .azure .kube .docker .netrc .npmrc .pypirc .git-credentials .config/gh .config/gcloud";

/** Parts of a workspace that can run code outside the sandbox later. */
const READ_ONLY = [".git/hooks", ".git/config", ".convoke"];

const PROBE_MS = 10_000;

/**
 * The sandbox, if it works here. It is tried by running a command in it, because many containers
 * forbid what it needs.
 */
export async function openSandbox(
  options: SandboxOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Sandbox | undefined> {
  const program = findBubblewrap(env);
  if (program === undefined) return undefined;
  const roots = options.roots.map((root) => realPlace(root));
  const sandbox: Sandbox = {
    wrap: (argv, cwd) => [
      program,
      ...isolation({ ...options, roots }),
      "--chdir",
      cwd,
      "--",
      ...argv,
    ],
  };
  const works = await succeeds(sandbox.wrap(["/bin/sh", "-c", "exit 0"], roots[0]!));
  return works ? sandbox : undefined;
}

function findBubblewrap(env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (process.platform !== "linux") return undefined;
  const named = env["CONVOKE_BWRAP"];
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  const places = named ? [named] : folders.map((folder) => join(folder, "bwrap"));
  return places.find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The options of bubblewrap. Later ones cover earlier ones. */
function isolation({ roots, network, hidden = [] }: SandboxOptions): readonly string[] {
  const secrets = SECRETS.split(" ").map((name) => join(homedir(), name));
  const fixed =
    "--die-with-parent --unshare-user --unshare-pid --unshare-ipc --unshare-uts " +
    "--unshare-cgroup-try --cap-drop ALL --ro-bind / / --dev /dev --proc /proc " +
    // Sockets of other programs are in these folders, and a read-only mount does not close them.
    "--tmpfs /tmp --tmpfs /run --setenv TMPDIR /tmp";
  return [
    ...fixed.split(" "),
    ...(network
      ? ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
      : ["--unshare-net"]),
    ...[...secrets, ...hidden].flatMap(hide),
    ...roots.flatMap((root) => ["--bind", root, root]),
    ...roots.flatMap((root) =>
      READ_ONLY.flatMap((name) => {
        const path = join(root, name);
        return ["--ro-bind-try", path, path];
      }),
    ),
  ];
}

function hide(path: string): readonly string[] {
  const place = realPlace(path);
  if (!existsSync(place)) return [];
  return statSync(place).isDirectory() ? ["--tmpfs", place] : ["--ro-bind", "/dev/null", place];
}

function succeeds([program, ...args]: readonly string[]): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const options = { timeout: PROBE_MS, killSignal: "SIGKILL" } as const;
  execFile(program!, args, options, (error) => resolve(error === null));
  return promise;
}
