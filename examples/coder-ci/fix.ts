import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { type ModelSpec, type RemoteAgent, connect, serve } from "convoke";
import { repairer } from "./agent.ts";

export interface FixOptions {
  /** A git repository. */
  readonly workspace: string;
  readonly model: ModelSpec;
  /** Where the patch is written. */
  readonly patch: string;
  readonly print: (line: string) => void;
}

/** How it ended: the tests passed already, they pass now and there is a patch, or they still fail. */
export type Outcome = "nothing to do" | "fixed" | "not fixed";

/** Has an agent correct a repository whose tests fail. Only the tests decide whether it worked. */
export async function fix({ workspace, model, patch, print }: FixOptions): Promise<Outcome> {
  const before = runTests(workspace);
  if (before.passed) return "nothing to do";
  print("The tests fail. An agent looks for the mistake.");
  // Other jobs may run on this machine, so the agent wants a token.
  const token = randomUUID();
  const server = await serve(repairer(workspace, model), { port: 0, data: "memory", token });
  const agent = await connect(server.url, { token });
  try {
    await talk(agent, before.output, print);
  } finally {
    agent.close();
    await server.close();
  }
  if (!runTests(workspace).passed) return "not fixed";
  writeFileSync(patch, diff(workspace));
  return "fixed";
}

/** There is nobody to ask: what the policy does not allow is rejected, with a reason for the model. */
async function talk(
  agent: RemoteAgent,
  failure: string,
  print: FixOptions["print"],
): Promise<void> {
  let answer = await agent.send(`The tests fail:\n\n${failure}`);
  while (answer.question !== undefined) {
    const { taskId, text } = answer.question;
    print(`Not allowed: ${text.split("\n", 1)[0]}`);
    answer = await agent.send("reject: nobody can approve this here", { taskId });
  }
  print(`The agent: ${answer.text}`);
}

function runTests(workspace: string): { readonly passed: boolean; readonly output: string } {
  const { status, stdout } = spawnSync(process.execPath, ["--test"], {
    cwd: workspace,
    encoding: "utf8",
    timeout: 5 * 60_000,
    // The code is partly that of the agent, so it does not get the key of the model.
    env: { PATH: process.env["PATH"] },
  });
  return { passed: status === 0, output: stdout };
}

/** All changes, new files included. */
function diff(workspace: string): string {
  const git = (...args: readonly string[]): string =>
    execFileSync("git", args, { cwd: workspace, encoding: "utf8" });
  git("add", "--intent-to-add", ".");
  return git("diff");
}
