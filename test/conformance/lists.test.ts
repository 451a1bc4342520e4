import { randomUUID } from "node:crypto";
import type { Task } from "@convoke/protocol";
import { describe, expect } from "vitest";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "./conformance-agent.ts";
import { refusalOf } from "./refusal.ts";
import { aMessage, aRequest } from "./requests.ts";
import { restSpeaker, speakersOf } from "./speakers.ts";
import type { Speaker } from "./speaker.ts";

const server = useServer(conformanceAgent());
const shared = useServer(conformanceAgent(), { tenants: ["acme", "beta"] });

describe.each(speakersOf(server, "1.0"))("a list over $binding $version", (speaker) => {
  verifies(["v1-S22", "v1-S23"], "leads through all tasks in pages, newest first", async () => {
    const contextId = randomUUID();
    const sent = await someTasks(speaker, contextId, ["a", "b", "c", "d", "e"]);

    const pages = [await speaker.list({ contextId, pageSize: 2 })];
    while (pages.at(-1)!.nextPageToken !== "") {
      const { nextPageToken: pageToken } = pages.at(-1)!;
      pages.push(await speaker.list({ contextId, pageSize: 2, pageToken }));
    }

    expect(pages.map(({ tasks }) => tasks.length)).toEqual([2, 2, 1]);
    expect(pages.map(({ totalSize, pageSize }) => [totalSize, pageSize])).toEqual([
      [5, 2],
      [5, 2],
      [5, 2],
    ]);
    expect(pages.flatMap(({ tasks }) => tasks.map(({ id }) => id))).toEqual(
      sent.map(({ id }) => id).toReversed(),
    );
  });

  verifies("v1-S22", "has only what its filters let through", async () => {
    const contextId = randomUUID();
    const [ended, asking] = await someTasks(speaker, contextId, ["hello", "ask"]);

    const byState = await speaker.list({ contextId, state: "input-required" });
    const byTime = await speaker.list({
      contextId,
      statusTimestampAfter: asking!.status.timestamp!,
    });
    const never = await speaker.list({
      contextId,
      statusTimestampAfter: "2999-01-01T00:00:00.000Z",
    });
    const elsewhere = await speaker.list({ contextId: randomUUID() });

    expect(byState.tasks.map(({ id }) => id)).toEqual([asking!.id]);
    expect(byTime.tasks.map(({ id }) => id)).toContain(asking!.id);
    expect(ended!.status.timestamp! <= asking!.status.timestamp!).toBe(true);
    expect([never, elsewhere].map(({ tasks, totalSize }) => [tasks.length, totalSize])).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  verifies(["v1-S20", "v1-S23"], "has artifacts and history as far as asked for", async () => {
    const contextId = randomUUID();
    const [task] = await someTasks(speaker, contextId, ["hello"]);

    const [bare] = (await speaker.list({ contextId, historyLength: 0 })).tasks;
    const [whole] = (await speaker.list({ contextId, includeArtifacts: true })).tasks;

    expect(bare).not.toHaveProperty("artifacts");
    expect(bare).not.toHaveProperty("history");
    expect(whole?.artifacts).toEqual(task?.artifacts);
  });

  verifies(
    ["v1-S24", "v1-S48"],
    "takes 1 to 100 tasks a page and only tokens it gave",
    async () => {
      const refusals = [
        await refusalOf(speaker.list({ pageSize: 0 })),
        await refusalOf(speaker.list({ pageSize: 101 })),
        await refusalOf(speaker.list({ pageSize: -1 })),
        await refusalOf(speaker.list({ historyLength: -1 })),
        await refusalOf(speaker.list({ pageToken: "nonsense" })),
      ];
      const { pageSize } = speaker.codec.decodeTaskPage(await speaker.call("listTasks", {}));

      expect(refusals.map(({ reason, field }) => [reason, field])).toEqual([
        ["InvalidParams", "pageSize"],
        ["InvalidParams", "pageSize"],
        ["InvalidParams", "pageSize"],
        ["InvalidParams", "historyLength"],
        ["InvalidParams", "pageToken"],
      ]);
      expect(pageSize).toBe(50);
    },
  );
});

// A protobuf enum and timestamp cannot say anything else.
const TEXTUAL = speakersOf(server, "1.0").filter(({ binding }) => binding !== "grpc");

describe.each(TEXTUAL)("a list over $binding $version", (speaker) => {
  verifies(["v1-S24", "v1-S48"], "refuses filters that say nothing", async () => {
    const refusals = [
      await refusalOf(speaker.call("listTasks", { status: "asleep" })),
      await refusalOf(speaker.call("listTasks", { statusTimestampAfter: "yesterday" })),
    ];

    expect(refusals.map(({ reason, field }) => [reason, field])).toEqual([
      ["InvalidParams", "status"],
      ["InvalidParams", "statusTimestampAfter"],
    ]);
  });
});

describe.each(speakersOf(shared, "1.0"))("tasks of another over $binding $version", (speaker) => {
  verifies(["v1-S22", "v1-S56"], "are neither in the list nor there", async () => {
    const sent = await speaker.sendTask(aRequest("hello", { tenant: "acme" }));
    const ids = async (tenant: string): Promise<readonly string[]> => {
      const page = await speaker.call("listTasks", { tenant });
      return speaker.codec.decodeTaskPage(page).tasks.map(({ id }) => id);
    };

    const refusal = await refusalOf(speaker.call("getTask", { tenant: "beta", id: sent.id }));

    expect(await ids("acme")).toContain(sent.id);
    expect(await ids("beta")).not.toContain(sent.id);
    expect(refusal.reason).toBe("TaskNotFound");
  });
});

describe("0.3", () => {
  verifies("v03-S10", "has no list of tasks on any binding", async () => {
    const refusal = await refusalOf(restSpeaker(server, "0.3").call("listTasks", {}));

    expect(refusal.reason).toBe("UnsupportedOperation");
  });
});

/** Tasks of one context, one after another. */
async function someTasks(
  speaker: Speaker,
  contextId: string,
  texts: readonly string[],
): Promise<readonly Task[]> {
  const tasks: Task[] = [];
  for (const text of texts) {
    tasks.push(await speaker.sendTask(aRequest(aMessage(text, { contextId }))));
  }
  return tasks;
}
