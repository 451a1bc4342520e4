import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type PolicyDefinition, parsePolicy } from "./policy-definition.ts";
import { type RightsRequest, requestRights } from "./request-rights.ts";
import { policyFor } from "./workspace-policy.ts";

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "rights-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test("a policy has safe defaults", () => {
  expect(parsePolicy({}, "the policy")).toEqual({
    mode: "ask",
    maxMode: "ask",
    rules: [],
    network: false,
    workspacePolicy: "restrict",
  });
});

test.each([
  [5, "the policy must be an object"],
  [{ mod: "ask" }, 'the policy has no field "mod". Did you mean mode?'],
  [{ mode: "yolo" }, 'mode in the policy must be one of plan, ask, auto-edit, full, not "yolo"'],
  [{ network: 1 }, "network in the policy must be true or false, not 1"],
  [{ rules: {} }, "rules in the policy must be a list of rules"],
  [{ rules: [{ tool: "x" }] }, "verdict in rules[0] of the policy is required: allow, ask, deny"],
  [
    { rules: [{ verdict: "deny" }] },
    "tool in rules[0] of the policy or command or path is required",
  ],
  [{ rules: [{ verdict: "deny", path: "" }] }, "path in rules[0] of the policy must be a text"],
  [
    { rules: [{ verdict: "deny", path: "a", command: "b" }] },
    "path in rules[0] of the policy cannot be combined with command; write two rules",
  ],
])("the policy %j is rejected: %s", (given, problem) => {
  expect(() => parsePolicy(given, "the policy")).toThrow(problem);
});

async function withFile(server: PolicyDefinition, file: string): ReturnType<typeof policyFor> {
  const root = await aFolder();
  await mkdir(join(root, ".convoke"));
  await writeFile(join(root, ".convoke/policy.json"), file);
  return policyFor(parsePolicy(server, "server"), root);
}

const LAX = JSON.stringify({
  mode: "full",
  maxMode: "full",
  network: true,
  workspacePolicy: "trust",
  rules: [
    { verdict: "allow", command: "rm" },
    { verdict: "deny", path: ".env" },
  ],
});

test("a workspace can only make the policy stricter", async () => {
  expect(await withFile({}, LAX)).toEqual({
    ...parsePolicy({}, "server"),
    rules: [{ verdict: "deny", path: ".env" }],
  });
  expect(await withFile({ mode: "full", network: true }, '{ "mode": "plan" }')).toMatchObject({
    mode: "plan",
    maxMode: "plan",
    network: false,
  });
});

test("a workspace that the server trusts can also allow more, up to maxMode", async () => {
  expect(await withFile({ workspacePolicy: "trust", maxMode: "auto-edit" }, LAX)).toMatchObject({
    mode: "auto-edit",
    maxMode: "auto-edit",
    network: true,
    rules: [{ verdict: "allow" }, { verdict: "deny" }],
  });
});

test("a policy file that is not valid is an error, unless it is ignored", async () => {
  await expect(withFile({}, "{")).rejects.toThrow("policy.json must be JSON");
  await expect(withFile({}, '{ "rules": 1 }')).rejects.toThrow("policy.json must be a list");
  expect(await withFile({ workspacePolicy: "ignore" }, "{")).toMatchObject({ mode: "ask" });
});

async function granted(request: RightsRequest, policy: PolicyDefinition = {}) {
  const root = await aFolder();
  await mkdir(join(root, "in"));
  await symlink("/", join(root, "out"));
  const complete = parsePolicy(policy, "policy");
  const wish = request.workspacePath;
  const rights = requestRights(
    { ...request, ...(typeof wish === "string" && { workspacePath: join(root, wish) }) },
    { policy: complete, mode: complete.mode, workspacePath: root, allowedRoots: [root] },
  );
  return { ...rights, workspacePath: rights.workspacePath.slice(root.length) };
}

test.each([
  [
    { autoExecute: true },
    {},
    "ask",
    "autoExecute needs the mode full; this server allows at most ask",
  ],
  [{ autoExecute: true }, { maxMode: "full" }, "full", undefined],
  [{ mode: "full" }, { maxMode: "auto-edit" }, "ask", "mode needs the mode full"],
  [{ mode: "auto-edit" }, { maxMode: "auto-edit" }, "auto-edit", undefined],
  [{ mode: "plan" }, {}, "plan", undefined],
  [{ mode: "plan", autoExecute: true }, { maxMode: "full" }, "plan", undefined],
  [{ mode: "root" }, { maxMode: "full" }, "ask", "mode must be one of plan, ask"],
  [{ isTrusted: true }, { maxMode: "full" }, "ask", "only the server decides which workspaces"],
] as const)("the request %j under %j gives the mode %s", async (request, policy, mode, problem) => {
  const rights = await granted(request, policy);

  expect(rights.mode).toBe(mode);
  expect(rights.refused).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)]);
});

test("a workspace is granted only in the allowed folders, links followed", async () => {
  expect(await granted({ workspacePath: "in" })).toMatchObject({
    workspacePath: "/in",
    refused: [],
  });
  for (const workspacePath of ["out", "out/etc", "..", "in/../../x"]) {
    expect(await granted({ workspacePath })).toMatchObject({
      workspacePath: "",
      refused: ["workspacePath is not in a folder that this server allows"],
    });
  }
});
