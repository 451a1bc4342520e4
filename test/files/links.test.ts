import { createMemoryBackend } from "@convoke/engine/memory";
import { createJsonLogger } from "@convoke/engine";
import type { Task } from "@convoke/protocol";
import { type Server, serve } from "@convoke/server";
import { bearer } from "convoke";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CONTENT, DIGEST, LARGE, aFileMessage, copier, filesOf } from "./a-file.ts";

const CALLERS = { ann: { owner: "ann" }, bob: { owner: "bob" } };

/** Sends a file, and waits for the task. */
async function sendFile({ url }: Pick<Server, "url">, content?: Buffer): Promise<Task> {
  const params = { message: aFileMessage(content) };
  const answer = await fetch(url, {
    method: "POST",
    headers: { authorization: "Bearer ann", "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "message/send", params }),
  });
  return ((await answer.json()) as { readonly result: Task }).result;
}

function aServer(files: object): Promise<Server> {
  return serve(copier, {
    port: 0,
    host: "127.0.0.1",
    logger: createJsonLogger("silent", () => undefined),
    openBackend: async () => createMemoryBackend(),
    auth: Object.entries(CALLERS).map(([token, caller]) => bearer(token, caller)),
    files,
  });
}

let server: Server;
let link = "";
let taskId = "";
beforeAll(async () => {
  server = await aServer({ show: "links" });
  const task = await sendFile(server);
  taskId = task.id;
  link = filesOf(task)[0]?.uri ?? "";
});
afterAll(() => server.close());

test("a link is an address of this server, for everyone who has it", async () => {
  const answer = await fetch(link);

  expect(link.startsWith(`${server.url}convoke/files/${taskId}/${DIGEST}?`)).toBe(true);
  expect(answer.status).toBe(200);
  expect(Buffer.from(await answer.arrayBuffer()).equals(CONTENT)).toBe(true);
});

test("a file is saved and never shown or run by a browser", async () => {
  const { headers } = await fetch(link, { method: "HEAD" });

  expect(Object.fromEntries(headers)).toMatchObject({
    "content-disposition": `attachment; filename="photo _.bin"; filename*=UTF-8''photo%20%C3%A4.bin`,
    "content-security-policy": "default-src 'none'; sandbox",
    "content-type": "image/png",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-length": String(LARGE),
  });
});

test.each([
  ["bytes=0-9", 0, 9],
  ["bytes=99990-", 99_990, 99_999],
  ["bytes=-5", 99_995, 99_999],
  ["bytes=99000-200000", 99_000, 99_999],
])("a request with Range: %s gets that part", async (range, first, last) => {
  const answer = await fetch(link, { headers: { range } });

  expect(answer.status).toBe(206);
  expect(answer.headers.get("content-range")).toBe(`bytes ${first}-${last}/${LARGE}`);
  const part = Buffer.from(await answer.arrayBuffer());
  expect(part.equals(CONTENT.subarray(first, last + 1))).toBe(true);
});

test("a range outside of the file is rejected with 416, and a range of another file is not used", async () => {
  const outside = await fetch(link, { headers: { range: "bytes=100000-" } });
  const other = await fetch(link, { headers: { range: "bytes=0-9", "if-range": '"other"' } });

  expect([outside.status, outside.headers.get("content-range")]).toEqual([416, "bytes */100000"]);
  expect([other.status, (await other.arrayBuffer()).byteLength]).toEqual([200, LARGE]);
});

test("a client that has the file is answered 304", async () => {
  const answer = await fetch(link, { headers: { "if-none-match": `"${DIGEST}"` } });

  expect([answer.status, answer.headers.get("etag")]).toEqual([304, `"${DIGEST}"`]);
});

test("a link that was changed in any way is rejected with 401", async () => {
  const changed = [
    link.replace("expires=1", "expires=2"),
    link.replace("photo", "virus"),
    link.replace("image", "text"),
    link.replace(/signature=.{4}/, "signature=AAAA"),
    link.replace(taskId, "another-task"),
    link.replace(DIGEST, DIGEST.replace(/./g, "0")),
    link.replace(/\?.*/, ""),
  ];

  for (const one of changed) {
    expect(one).not.toBe(link);
    expect((await fetch(one)).status, one).toBe(401);
  }
});

test("without a link only the owner of the task gets its files", async () => {
  const path = link.replace(/\?.*/, "");
  const statusFor = async (token: string): Promise<number> =>
    (await fetch(path, { headers: { authorization: `Bearer ${token}` } })).status;

  expect(await statusFor("ann")).toBe(200);
  expect(await statusFor("bob")).toBe(404);
  expect((await fetch(path, { method: "POST" })).status).toBe(401);
});

test("a link cannot be used after its time", async () => {
  await using brief = await aServer({ show: "links", linkMs: 1 });
  const [file] = filesOf(await sendFile(brief));
  const query = new URL(file?.uri ?? "").searchParams;

  // A link is valid to the end of its second.
  await expect
    .poll(async () => (await fetch(file?.uri ?? "")).status, { timeout: 20_000 })
    .toBe(401);

  expect(Number(query.get("expires")) * 1000).toBeLessThan(Date.now() + 1);
});

test("files up to inlineBytes are bytes, and larger ones are links", async () => {
  await using mixed = await aServer({ storeAbove: 10, inlineBytes: 1000 });

  const small = filesOf(await sendFile(mixed, CONTENT.subarray(0, 1000)));
  const large = filesOf(await sendFile(mixed, CONTENT.subarray(0, 1001)));

  expect(small.map(({ bytes, uri }) => [bytes !== undefined, uri])).toEqual([
    [true, undefined],
    [true, undefined],
  ]);
  expect(large.map(({ bytes, uri }) => [bytes, uri?.startsWith(mixed.url)])).toEqual([
    [undefined, true],
    [undefined, true],
  ]);
});

test("an option that cannot be meant is rejected at the start", async () => {
  await expect(aServer({ storeAbove: -1 })).rejects.toThrow("files.storeAbove must be");
  await expect(aServer({ linkMs: 0 })).rejects.toThrow("files.linkMs must be");
  await expect(aServer({ show: "all" })).rejects.toThrow('files.show must be "inline" or "links"');
});
