import { beforeAll, expect, test } from "vitest";
import { DIALECTS, type Dialect } from "./dialect.ts";
import { WireClient, valueOf } from "./wire-client.ts";
import { useServer } from "./wire-server.ts";

interface WirePage {
  readonly tasks: readonly {
    readonly id: string;
    readonly contextId: string;
    readonly status: { readonly state: string; readonly timestamp: string };
    readonly history?: readonly object[];
    readonly artifacts?: readonly object[];
  }[];
  readonly nextPageToken: string;
  readonly pageSize: number;
  readonly totalSize: number;
}

const COUNT = 12;

const server = useServer();
const client = new WireClient(server, DIALECTS[1] as Dialect);

async function list(params?: object): Promise<WirePage> {
  return valueOf(await client.call("ListTasks", params)) as WirePage;
}

beforeAll(async () => {
  for (let count = 1; count < COUNT; count++) await client.sendTask(`number ${count}`);
  await client.sendTask("ask", { message: { contextId: "questions" } });
  await client.send("message");
});

test("a list contains every task, newest first, and no direct message", async () => {
  const page = await list();

  expect(page).toMatchObject({ nextPageToken: "", pageSize: 50, totalSize: COUNT });
  expect(page.tasks).toHaveLength(COUNT);
  expect(page.tasks[0]).toMatchObject({
    contextId: "questions",
    status: { state: "TASK_STATE_INPUT_REQUIRED" },
  });
  const times = page.tasks.map(({ status }) => status.timestamp);
  expect(times.toSorted().toReversed()).toEqual(times);
});

for (const pageSize of [1, 5, COUNT, 100]) {
  test(`pages of ${pageSize} together make the whole list`, async () => {
    const whole = await list();
    const ids: string[] = [];
    let pageToken = "";
    let pages = 0;

    do {
      const page = await list({ pageSize, pageToken });
      expect(page.tasks.length).toBeLessThanOrEqual(pageSize);
      expect(page).toMatchObject({ pageSize, totalSize: COUNT });
      ids.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
      pages++;
    } while (pageToken !== "");

    expect(ids).toEqual(whole.tasks.map(({ id }) => id));
    expect(pages).toBe(Math.ceil(COUNT / pageSize));
  });
}

test("a list can be filtered by context, state and time", async () => {
  const all = await list();
  const middle = all.tasks[5]?.status.timestamp;

  const ofContext = await list({ contextId: "questions" });
  const ofState = await list({ status: "TASK_STATE_COMPLETED" });
  const ofBoth = await list({ contextId: "questions", status: "TASK_STATE_COMPLETED" });
  const later = await list({ statusTimestampAfter: middle });

  expect(ofContext.tasks).toEqual(all.tasks.slice(0, 1));
  expect(ofState.tasks).toEqual(all.tasks.slice(1));
  expect(ofBoth).toMatchObject({ tasks: [], totalSize: 0, nextPageToken: "" });
  expect(later.tasks.length).toBeGreaterThanOrEqual(6);
  for (const { status } of later.tasks) expect(status.timestamp >= String(middle)).toBe(true);
});

test("artifacts and history are included as requested", async () => {
  const [plain] = (await list({ status: "TASK_STATE_COMPLETED", pageSize: 1 })).tasks;
  const [full] = (
    await list({ status: "TASK_STATE_COMPLETED", pageSize: 1, includeArtifacts: true })
  ).tasks;
  const [short] = (await list({ historyLength: 0 })).tasks;

  expect(plain).not.toHaveProperty("artifacts");
  expect(full?.artifacts).toHaveLength(1);
  expect(plain?.history).toHaveLength(1);
  expect(short).not.toHaveProperty("history");
});

test("a list and a get return the same task", async () => {
  const { tasks } = await list({ includeArtifacts: true, status: "TASK_STATE_COMPLETED" });

  for (const task of tasks) {
    expect(task).toEqual(valueOf(await client.call("get", { id: task.id })));
  }
});
