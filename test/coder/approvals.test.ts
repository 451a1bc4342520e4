import { withEditedContent } from "@convoke/coder";
import { scriptedModel } from "@convoke/runtime/testing";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { servedAgent, structuredClient } from "../approvals/a-served-agent.ts";
import { answerTo, openApprovals } from "../loop/approval-parts.ts";
import { calls, resultsTold } from "../loop/scripts.ts";
import { TestWorkspace } from "./a-workspace.ts";

const EDIT = { path: "a.txt", edits: [{ oldText: "two", newText: "2" }] };

/** A served agent with the file tools, whose model makes one call. */
async function anAgentThatCalls(name: string, input: object) {
  const files = await TestWorkspace.with({ "a.txt": "one\r\ntwo\r\n" }, ({ kind }) =>
    kind === "read" ? "allow" : "ask",
  );
  const model = scriptedModel([calls(name, input), "Done."]);
  const agent = await servedAgent({ model, tools: [...files.tools.values()] });
  const client = structuredClient(agent);
  const asked = await client.send("go");
  const text = () => readFileSync(join(files.root, "a.txt"), "utf8");
  return { files, model, client, asked, approval: openApprovals(asked)[0]!, text };
}

describe("an edit that needs approval", () => {
  test("shows its diff and both contents, and is applied once approved", async () => {
    const { client, asked, approval, text } = await anAgentThatCalls("edit_file", EDIT);
    expect(approval).toMatchObject({
      title: "Edit a.txt",
      prompt: "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
      preview: { kind: "diff", path: "a.txt", before: "one\ntwo\n", after: "one\n2\n" },
    });
    expect(text()).toBe("one\r\ntwo\r\n");

    const done = await client.send([answerTo(approval, { option: "once" })], { taskId: asked.id });

    expect(done.status.state).toBe("completed");
    expect(text()).toBe("one\r\n2\r\n");
  });

  test.each([
    ["edit_file", EDIT],
    ["write_file", { path: "a.txt", content: "proposed" }],
  ])("leaves the content that the approver has edited (%s)", async (name, input) => {
    const { files, client, asked, approval, text } = await anAgentThatCalls(name, input);
    await files.call("read_file", { path: "a.txt" }, asked.contextId);
    const edited = withEditedContent(approval, "by the approver\n");

    await client.send([answerTo(approval, { option: "edit", arguments: edited! })], {
      taskId: asked.id,
    });

    expect(text()).toBe("by the approver\r\n");
  });

  test("asks again if the approver edits it to a path outside", async () => {
    const { client, asked, approval, text } = await anAgentThatCalls("edit_file", EDIT);

    const again = await client.send(
      [answerTo(approval, { option: "edit", arguments: { ...EDIT, path: "../a.txt" } })],
      { taskId: asked.id },
    );

    expect(JSON.stringify(again.status.message)).toContain("is outside the workspace");
    expect(openApprovals(again)).toHaveLength(1);
    expect(text()).toBe("one\r\ntwo\r\n");
  });

  test("is not applied if the file changed while it waited", async () => {
    const { files, client, asked, approval, text, model } = await anAgentThatCalls(
      "edit_file",
      EDIT,
    );
    await files.call("read_file", { path: "a.txt" }, asked.contextId);
    await files.call(
      "edit_file",
      { path: "a.txt", edits: [{ oldText: "one", newText: "1" }] },
      "x",
    );

    await client.send([answerTo(approval, { option: "once" })], { taskId: asked.id });

    expect(text()).toBe("1\r\ntwo\r\n");
    expect(resultsTold(model.requests)).toEqual([
      expect.stringContaining("a.txt has changed since it was read in this conversation"),
    ]);
  });
});

test("a call that cannot work is an error for the model, and nobody is asked", async () => {
  const edits = [{ oldText: "three", newText: "3" }];
  const { asked, model } = await anAgentThatCalls("edit_file", { path: "a.txt", edits });

  expect(asked.status.state).toBe("completed");
  expect(resultsTold(model.requests)).toEqual([
    expect.stringContaining("edits[0].oldText does not occur in a.txt"),
  ]);
});
