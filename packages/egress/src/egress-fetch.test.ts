import { expect, test } from "vitest";
import { createEgress, createEgressFetch } from "./create-egress.ts";
import { startServer } from "./connections/local-server.suite.ts";

test("requests of a package are sent, and the response arrives in chunks", async () => {
  const { url, seen } = await startServer((response) => {
    response.writeHead(201, { "x-answer": "yes" });
    response.write("one ");
    setTimeout(() => response.end("two"), 20);
  });
  const fetch = createEgressFetch(createEgress({ trusted: [url] }));

  const response = await fetch(`${url}/v1`, {
    method: "post",
    headers: { "X-Key": "k" },
    body: "text",
  });

  expect(response.status).toBe(201);
  expect(response.headers.get("x-answer")).toBe("yes");
  expect(await response.text()).toBe("one two");
  expect(seen[0]).toMatchObject({ method: "POST", path: "/v1", body: "text" });
  expect(seen[0]?.headers["x-key"]).toBe("k");
});

test("what the policy rejects fails as a fetch does, with the reason as its cause", async () => {
  const { url, seen } = await startServer();
  const fetch = createEgressFetch(createEgress());

  const failure = fetch(url).catch((error: unknown) => error);

  expect(await failure).toMatchObject({
    name: "TypeError",
    message: "fetch failed",
    cause: { kind: "refused" },
  });
  expect(seen).toEqual([]);
});

test("an abort ends the reading with its reason, and closes the connection", async () => {
  const { url, seen } = await startServer((response) => void response.write("begun "));
  const fetch = createEgressFetch(createEgress({ trusted: [url] }));
  const abort = new AbortController();
  const response = await fetch(url, { signal: abort.signal });

  const reading = response.text().catch((error: unknown) => error);
  abort.abort(new Error("enough"));

  expect(await reading).toMatchObject({ message: "enough" });
  await seen[0]?.closed;
});

test("a redirect is a response for a caller that wants to see it", async () => {
  const { url } = await startServer((response) =>
    response.writeHead(302, { location: "/elsewhere" }).end(),
  );
  const fetch = createEgressFetch(createEgress({ trusted: [url] }));

  expect((await fetch(url, { redirect: "manual" })).status).toBe(302);
});

test("a body that is not text is rejected by name", async () => {
  const fetch = createEgressFetch(createEgress());

  await expect(fetch("https://a.example", { method: "PATCH" })).rejects.toThrow("PATCH");
  await expect(
    fetch("https://a.example", { method: "POST", body: new Uint8Array(1) }),
  ).rejects.toThrow("the body must be a string");
});
