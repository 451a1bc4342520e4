import type { ModelRequest } from "@convoke/runtime";
import { scriptedModel } from "@convoke/runtime/testing";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { temporaryFolder } from "../start/temporary-folder.ts";
import { aFolder, inContext, serveCoder } from "../coder-agent/a-coder.ts";

/** Writes files into the commands folder of the person who runs the server. */
function ownCommands(files: Readonly<Record<string, string>>): void {
  const config = temporaryFolder();
  const folder = join(config, "convoke", "commands");
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  vi.stubEnv("XDG_CONFIG_HOME", config);
  onTestFinished(() => void vi.unstubAllEnvs());
}

function lastText({ transcript }: ModelRequest): string {
  return JSON.stringify(transcript.at(-1));
}

test("a file in ~/.config/convoke/commands is a command, with its arguments filled in", async () => {
  ownCommands({
    "review.md":
      "---\ndescription: Review a file\narguments: [file, focus]\n---\nReview $1 for $2. ($ARGUMENTS) $3",
    "plain.md": "Say hello.",
    "help.md": "A built-in command is not replaced.",
    "Not_A_Name.md": "no",
    "notes.txt": "no",
  });
  const model = scriptedModel(["Reviewed.", "Hello."]);
  const client = await serveCoder(aFolder(), { model });

  await client.send(inContext("talk", "/review a.ts errors"));
  await client.send(inContext("talk", "/plain"));
  const { text: help } = await client.post("/executeCommand", { command: "help" });
  const { json } = await client.get("/listCommands");

  expect(lastText(model.requests[0]!)).toContain("Review a.ts for errors. (a.ts errors) ");
  expect(lastText(model.requests[1]!)).toContain("Say hello.");
  expect(help).toContain("`/review [file] [focus]`: Review a file");
  const { commands } = json as { readonly commands: readonly { readonly name: string }[] };
  const names = commands.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["review", "plain"]));
  expect(names.filter((name) => name === "help")).toHaveLength(1);
  expect(names).not.toContain("notes");
});

test("the commands of a workspace are used only if the operator trusts it, and then before one's own", async () => {
  ownCommands({ "review.md": "Review as I do." });
  const files = { ".convoke/commands/review.md": "Review as the project does." };
  for (const workspacePolicy of ["restrict", "trust"] as const) {
    const model = scriptedModel(["Reviewed."]);
    const client = await serveCoder(aFolder(files), { model, policy: { workspacePolicy } });

    await client.send(inContext("talk", "/review"));

    const owner = workspacePolicy === "trust" ? "the project does" : "I do";
    expect(lastText(model.requests[0]!)).toContain(`Review as ${owner}.`);
  }
});
