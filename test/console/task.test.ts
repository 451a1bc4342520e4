import { connect as connectHttp2 } from "node:http2";
import {
  type AgentEvent,
  CODECS,
  PROTO_CODECS,
  type ProtocolVersion,
  type Task,
  applyEvent,
  isPublic,
} from "@convoke/protocol";
import { GRPC_SERVICES } from "@convoke/protocol/grpc";
import { frameGrpcMessage } from "@convoke/protocol/internal";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WAIT, WITHIN_MS } from "../browser/chromium.ts";
import { aMessage } from "../conformance/requests.ts";
import { TaskServer } from "./a-task-server.ts";
import { crashLog, longLog } from "./logs.ts";
import { needsBrowser, ready } from "./visitor.ts";

/** How long the long log is. `npm run test:console` has a million. */
const EVENTS = Number(process.env["CONVOKE_CONSOLE_EVENTS"] ?? 50_000);

const visit = needsBrowser();
const server = new TaskServer();

beforeAll(async () => {
  await server.start();
  await server.store("crashed", crashLog("crashed"), "completed");
});

afterAll(() => server.close());

interface Logged {
  readonly seq: number;
  readonly event: AgentEvent;
}

async function logOf(taskId: string): Promise<readonly Logged[]> {
  const { events } = await server.json<{ readonly events: readonly Logged[] }>(
    `tasks/${taskId}/log?limit=1000`,
  );
  return events.map(({ seq, event }) => ({
    seq,
    event: isPublic(event) ? CODECS["0.3"].decodeEvent(event) : event,
  }));
}

function stateAt(log: readonly Logged[], seq: number): string {
  let task: Task | undefined;
  for (const { event } of log.slice(0, seq)) task = applyEvent(task, event);
  return task!.status.state;
}

/** Waits until the page shows the task after an event. */
async function standsAt(page: Page, seq: number): Promise<void> {
  await expect
    .poll(() => page.locator(".task-page").getAttribute("data-seq", WAIT), WAIT)
    .toBe(String(seq));
  await ready(page);
}

/** The path of the file that the export of a log saves. */
async function exported(page: Page): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export" }).click(),
  ]);
  return download.path();
}

function shownState(page: Page): Promise<string | null> {
  return page.locator(".task-page").getAttribute("data-task-state");
}

describe("the page of a task", { timeout: WITHIN_MS }, () => {
  test("shows the task as it was at any event, with an address for each, and sends nothing but GETs", async () => {
    const { id } = await server.plan("Plan my week");
    const log = await logOf(id);
    const { page, complaints } = await visit(`${server.url}console/tasks/${id}`);
    const methods = new Set<string>();
    page.on("request", (request) => methods.add(request.method()));
    await standsAt(page, log.length);

    const place = (kind: string): number => log.find(({ event }) => event.kind === kind)!.seq;
    const moments = [1, place("internal:sub-agent"), place("internal:ask") + 1, log.length - 1];
    for (const seq of moments) {
      await page.locator("input[type=range]").fill(String(seq));
      await standsAt(page, seq);
      expect(await shownState(page)).toBe(stateAt(log, seq));
    }
    await page.keyboard.press("[");
    await standsAt(page, log.length - 2);
    await expect.poll(() => page.url(), WAIT).toContain(`at=${log.length - 2}`);
    await page.reload();
    await standsAt(page, log.length - 2);
    expect(await shownState(page)).toBe(stateAt(log, log.length - 2));

    expect([...methods]).toEqual(["GET"]);
    expect(complaints).toEqual([]);
  });

  test("follows a task that works, unless the playhead is elsewhere", async () => {
    const { id } = await server.startCounting();
    const { page, complaints } = await visit(`${server.url}console/tasks/${id}`);
    const story = page.locator(".story");
    await expect.poll(() => story.innerText(), WAIT).toContain("one");

    server.count();
    await expect.poll(() => story.innerText(), WAIT).toContain("one two");
    await page.locator("input[type=range]").fill("1");
    await standsAt(page, 1);
    server.count();
    await expect
      .poll(() => page.locator(".playhead-position").innerText(), WAIT)
      .toMatch(/of [5-9]/);
    expect(await page.locator(".task-page").getAttribute("data-seq")).toBe("1");
    await page.getByRole("button", { name: "Now" }).click();
    server.count();
    await page.locator(".task-page[data-task-state=completed]").waitFor();
    expect(await story.innerText()).toContain("one two three");
    expect(complaints).toEqual([]);
  });

  test("tells who decided an approval, leads to the sub-agent's task and back up the tree, and through all lenses", async () => {
    const { id } = await server.plan("Plan my month");
    const { page, complaints } = await visit(`${server.url}console/tasks/${id}`);
    await ready(page);

    expect(await page.locator(".approval-line").innerText()).toMatch(/Run delete.*Approved by/s);
    await page.locator(".child a").click();
    await expect.poll(() => page.locator(".story").innerText(), WAIT).toContain("Two files");
    await page.getByRole("tab", { name: "Tree" }).click();
    const tree = page.getByRole("tree", { name: "Call tree" });
    await expect.poll(() => tree.getByRole("treeitem").count(), WAIT).toBe(2);
    await tree.getByRole("link", { name: "Planner" }).click();
    await expect.poll(() => page.url(), WAIT).toContain(id);
    await page.getByRole("tab", { name: "Model" }).click();
    await expect.poll(() => page.locator(".call").count(), WAIT).toBe(3);
    expect(await page.locator(".call").nth(1).innerText()).toContain("delete(");
    await page.getByRole("tab", { name: "Pushes" }).click();
    await page.getByText("Nobody has asked to be notified of this task.").waitFor();
    expect(complaints).toEqual([]);
  });

  test("shows that the process ended in the middle of a tool, and that nobody knows what came of it", async () => {
    const { page, complaints } = await visit(`${server.url}console/tasks/crashed`);
    await ready(page);

    const story = await page.locator(".story").innerText();
    expect(story).toContain("The process ended here. Attempt 2 began.");
    expect(story).toContain("nobody knows whether it was done");
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.getByRole("button", { name: /^Failed/ }).click();
    const failed = await page.locator(".timeline-row").allInnerTexts();
    expect(failed.map((text) => text.replaceAll(/\s+/g, " "))).toEqual([
      expect.stringContaining("a-model the model is overloaded"),
      expect.stringContaining("pay the process ended before it did"),
    ]);
    expect(complaints).toEqual([]);
  });

  test("saves a log as a file, and shows it again from the file without asking the server", async () => {
    const { page, complaints } = await visit(`${server.url}console/tasks/crashed`);
    await ready(page);
    const story = await page.locator(".story").innerText();
    const file = await exported(page);

    await page.getByRole("link", { name: "Tasks" }).click();
    await ready(page);
    const reads: string[] = [];
    page.on("request", (request) => reads.push(request.url()));
    await page.getByLabel("Open a log file").setInputFiles(file);
    await standsAt(page, crashLog("crashed").length);
    expect(await page.locator(".story").innerText()).toBe(story);
    await page.keyboard.press("[");
    await standsAt(page, crashLog("crashed").length - 1);
    expect(reads.filter((url) => url.includes("/log"))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test("says that a log was shortened, and shows its end", async () => {
    await server.store("shortened", crashLog("shortened"), "completed");
    await server.compact("shortened");
    const { page, complaints } = await visit(`${server.url}console/tasks/shortened`);
    await ready(page);

    expect(await page.locator(".notice").innerText()).toContain("was shortened");
    expect(await page.locator(".task-facts").innerText()).toContain("Completed");
    expect(complaints).toEqual([]);
  });

  test("shows each event byte for byte as clients of both versions received it by every binding", async () => {
    const { id } = await server.send(aMessage("Plan my year"));
    const log = await logOf(id);
    const question = log.at(-1)!.seq;
    const chunk = log.find(({ event }) => event.kind === "artifact-update")!.seq;
    const { page, complaints } = await visit(`${server.url}console/tasks/${id}/wire?at=${chunk}`);
    await ready(page);

    for (const [form, receive] of Object.entries(CLIENTS)) {
      const received = await receive(id, question);
      for (const seq of [chunk, question]) {
        await page.locator("input[type=range]").fill(String(seq));
        await standsAt(page, seq);
        const shown = await sentText(page, form);
        expect(shown.length).toBeGreaterThan(100);
        expect(received).toContain(shown);
      }
    }
    await page.goto(`${server.url}console/tasks/${id}/wire?at=3`);
    await expect
      .poll(() => page.locator("[data-wire=none]").innerText(), WAIT)
      .toContain("It is not on the wire.");
    expect(complaints).toEqual([]);
  });

  test(`opens a log of ${EVENTS} events at its end, and stands in its middle`, async () => {
    await server.store("long", longLog("long", EVENTS), "completed");
    const { page, complaints } = await visit(`${server.url}console`);
    await ready(page);
    let reads = 0;
    page.on("request", (request) => (reads += request.url().includes("/log?") ? 1 : 0));

    const start = performance.now();
    await page.goto(`${server.url}console/tasks/long/timeline`);
    await standsAt(page, EVENTS);
    const openMs = performance.now() - start;
    // A liveness bound. What makes it fast is that it does not wait for the whole log.
    expect(openMs).toBeLessThan(20_000);
    expect(reads).toBeLessThan(EVENTS / 1000);
    expect(await page.locator(".timeline-row").count()).toBeLessThan(60);

    const middle = Math.floor(EVENTS / 2) + 7;
    await page.locator("input[type=range]").fill(String(middle));
    await standsAt(page, middle);
    await page.getByRole("tab", { name: "Wire" }).click();
    expect(await sentText(page, "0.3-jsonrpc")).toContain(`"word ${middle - 3} "`);
    expect(await heapMegabytes(page)).toBeLessThan(150);
    expect(complaints).toEqual([]);
  });
});

describe("the list of tasks", { timeout: WITHIN_MS }, () => {
  test("filters by its address, does not move when tasks begin, and is walked by keys", async () => {
    await server.plan("The first one");
    const { page, complaints } = await visit(`${server.url}console/tasks`);
    await ready(page);
    await page.locator("[data-connection=open]").waitFor();
    const before = await page.locator(".task-link").allInnerTexts();

    await server.send(aMessage("The newest one"));
    const more = page.getByRole("button", { name: /^\d+ new$/ });
    await more.waitFor();
    expect(await page.locator(".task-link").allInnerTexts()).toEqual(before);
    await more.click();
    await expect
      .poll(() => page.locator(".task-link").first().innerText(), WAIT)
      .toBe("The newest one");

    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator("h1").innerText(), WAIT).toBe("The newest one");

    await page.goto(`${server.url}console/tasks?status=input-required`);
    await ready(page);
    const states = await page
      .locator("tbody tr")
      .evaluateAll((rows) => [
        ...new Set(rows.map((row) => (row as HTMLElement).dataset["taskState"])),
      ]);
    expect(states).toEqual(["input-required"]);
    expect(complaints).toEqual([]);
  });

  test("cancels the chosen tasks after asking once more", async () => {
    const { id } = await server.send(aMessage("Nobody needs this"));
    const { page, complaints } = await visit(`${server.url}console/tasks?idPrefix=${id}`);
    await ready(page);

    await page.getByRole("checkbox", { name: "Choose Nobody needs this" }).check();
    await page.getByRole("button", { name: "Cancel 1 task" }).click();
    await page.getByRole("button", { name: "Yes, cancel 1 task" }).click();

    await page.locator("tr[data-task-state=canceled]").waitFor();
    expect(complaints).toEqual([]);
  });
});

/** What the lens shows as sent; bytes as hexadecimal digits. */
async function sentText(page: Page, form: string): Promise<string> {
  const [version, binding] = form.split("-") as [string, string];
  const name = { jsonrpc: "JSON-RPC", rest: "REST", grpc: "gRPC" }[binding]!;
  await page.getByRole("button", { name: `${version} ${name}`, exact: true }).click();
  await page.getByRole("checkbox", { name: "As it was sent" }).check();
  const text = (await page.locator(`[data-wire="${form}"]`).textContent())!;
  return binding === "grpc" ? text.replaceAll(/\s/g, "") : text;
}

async function heapMegabytes(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  return usedSize / 1024 / 1024;
}

type Receive = (taskId: string, last: number) => Promise<string>;

/** Clients that read everything after the first event of a task, up to a position. */
const CLIENTS: Readonly<Record<string, Receive>> = {
  "0.3-jsonrpc": (id, last) => postStream("", last, rpc("tasks/resubscribe", { id })),
  "1.0-jsonrpc": (id, last) => postStream("", last, rpc("SubscribeToTask", { id }), "1.0"),
  "0.3-rest": (id, last) => postStream(`v1/tasks/${id}:subscribe`, last, undefined),
  "1.0-rest": (id, last) => postStream(`tasks/${id}:subscribe`, last, undefined, "1.0"),
  "0.3-grpc": (id, last) => grpcStream("0.3", id, last),
  "1.0-grpc": (id, last) => grpcStream("1.0", id, last),
};

function rpc(method: string, params: object): object {
  return { jsonrpc: "2.0", id: 1, method, params };
}

async function postStream(
  path: string,
  last: number,
  body: object | undefined,
  version?: ProtocolVersion,
): Promise<string> {
  const abort = new AbortController();
  const answer = await fetch(server.url + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream",
      "last-event-id": "1",
      ...(version && { "a2a-version": version }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: abort.signal,
  });
  let text = "";
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes(`id: ${last}\n`) && text.endsWith("\n\n")) break;
  }
  abort.abort();
  return text;
}

/** Everything a gRPC client received, as hexadecimal digits. */
async function grpcStream(version: ProtocolVersion, taskId: string, last: number): Promise<string> {
  const method = GRPC_SERVICES[version].methods.find(
    ({ operation }) => operation === "subscribeToTask",
  )!;
  const request = PROTO_CODECS[version].encodeSubscribe({ taskId });
  const session = connectHttp2(server.url);
  const stream = session.request({
    ":method": "POST",
    ":path": method.path,
    "content-type": "application/grpc",
    te: "trailers",
    "last-event-id": "1",
  });
  stream.end(frameGrpcMessage(method.encodeRequest(request)));
  const pieces: Buffer[] = [];
  const marker = Buffer.from(`last-event-id\u0012\u0004\u001a\u0002${last}`);
  for await (const piece of stream) {
    pieces.push(piece as Buffer);
    if (Buffer.concat(pieces).includes(marker)) break;
  }
  session.destroy();
  return Buffer.concat(pieces).toString("hex");
}
