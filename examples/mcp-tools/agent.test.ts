import { connect } from "convoke";
import { say, scriptedModel } from "convoke/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { startExample } from "../../test/embedding/example.ts";
import { releaseClerk } from "./agent.ts";
import { Tracker } from "./tracker.ts";

const REQUEST = "Close the issues that release 2.1 has fixed.";

test("the clerk reads files of one server and issues of the other, and asks before it closes one", async () => {
  const { program, url } = await startExample("mcp-tools/start.ts");
  const clerk = await connect(url);

  const asked = await clerk.send(REQUEST);
  expect(asked.text).toContain("Close issue #12?");
  const done = await clerk.send("approve", { taskId: asked.question!.taskId });

  expect(done.text).toBe("Release 2.1: Closed #12.");
  expect((await clerk.send(REQUEST)).text).toBe("No open issue is fixed in 2.1.");
  const { code } = await program.kill("SIGTERM");
  expect(code).toBe(0);
});

test("a rejected issue stays open, and the model has no tool that is not listed", async () => {
  const tracker = await aTracker();
  const model = scriptedModel([
    { kind: "tool-call", toolName: "tracker__close_issue", input: { number: 12 } },
    "As you wish.",
  ]);

  await say(releaseClerk(model, tracker.url), REQUEST, { answers: ["reject: not yet"] });

  expect(tracker.issues.every(({ isOpen }) => isOpen)).toBe(true);
  expect(model.requests[0]?.tools.map(({ name }) => name).toSorted()).toEqual([
    "files__list_directory",
    "files__read_text_file",
    "tracker__close_issue",
    "tracker__list_issues",
  ]);
  expect(JSON.stringify(model.requests[1]?.transcript)).toContain("not yet");
});

/** A tracker that accepts a token, which the clerk has. */
async function aTracker() {
  const token = "secret";
  const tracker = new Tracker(token);
  const url = await tracker.open();
  vi.stubEnv("TRACKER_TOKEN", token);
  onTestFinished(() => {
    tracker.close();
    vi.unstubAllEnvs();
  });
  return { url, issues: tracker.issues };
}
