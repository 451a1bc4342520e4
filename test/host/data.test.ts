import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, type AgentServer, serve } from "convoke";
import { expect, onTestFinished, test } from "vitest";
import { aMessage, aRequest } from "../conformance/requests.ts";
import type { Speaker } from "../conformance/speaker.ts";
import { jsonRpcSpeaker } from "../conformance/speakers.ts";
import { aTalker } from "./three-agents.ts";

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "convoke-host-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const start = (agent: Agent | readonly Agent[], data: string): Promise<AgentServer> =>
  serve(agent, { port: 0, data });

const speakerTo = ({ url }: AgentServer, path = ""): Speaker =>
  jsonRpcSpeaker({ url: url + path }, "1.0");

test("an agent keeps its tasks when others share its data folder, and when it is alone again", async () => {
  const data = temporaryFolder();
  const alone = await start(aTalker("Ann"), data);
  const { id: taskId, contextId } = await speakerTo(alone).sendTask(aRequest("ask"));
  await alone.close();

  const shared = await start([aTalker("Bob"), aTalker("Ann")], data);
  const ann = speakerTo(shared, "agents/ann/");
  expect(shared.recovered).toMatchObject({ waiting: 1, others: [] });
  expect((await ann.list()).tasks.map(({ id }) => id)).toEqual([taskId]);
  expect((await speakerTo(shared).list()).tasks).toEqual([]);
  const answered = await ann.sendTask(aRequest(aMessage("Fine", { taskId })));
  expect(JSON.stringify(answered.artifacts)).toContain("Ann heard Fine.");
  await speakerTo(shared).sendTask(aRequest("ask"));
  await shared.close();

  const again = await start(aTalker("Ann"), data);
  expect(again.recovered.others).toEqual([{ agentId: "bob", agent: "Bob", tasks: 1 }]);
  const more = await speakerTo(again).sendTask(aRequest(aMessage("hello", { contextId })));
  expect(JSON.stringify(more.artifacts)).toMatch(/Ann remembers [1-9]/);
  await again.close();
});

test("tasks of an agent that is not among those served are left alone and reported", async () => {
  const data = temporaryFolder();
  const first = await start([aTalker("Ann"), aTalker("Bob")], data);
  await speakerTo(first, "agents/bob/").sendTask(aRequest("ask"));
  await first.close();

  const second = await start([aTalker("Ann")], data);
  expect(second.recovered.others).toEqual([{ agentId: "bob", agent: "Bob", tasks: 1 }]);
  await second.close();
  const third = await start([aTalker("Ann"), aTalker("Bob")], data);
  expect(third.recovered).toMatchObject({ waiting: 1, others: [] });
  expect((await speakerTo(third, "agents/bob/").list()).tasks).toHaveLength(1);
  await third.close();
});
