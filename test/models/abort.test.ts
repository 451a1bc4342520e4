import { startScriptedModelServer } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { aRequest, collect } from "./requests.ts";

const PROVIDERS = ["anthropic", "google", "openai", "openai-compatible"] as const;

describe.each(PROVIDERS)("%s sees the connection close", (provider) => {
  test("when the signal fires before the first chunk", async () => {
    const server = await startScriptedModelServer([{ kind: "silence" }]);
    const model = await server.model(provider);
    const abort = new AbortController();
    const answer = collect(model.stream(aRequest(), abort.signal));
    await expect.poll(() => server.requests.length).toBe(1);

    abort.abort(new Error("canceled"));

    await expect(answer).rejects.toThrow("canceled");
    await server.requests[0]?.closed;
    expect(server.requests[0]?.closedEarly).toBe(true);
    await server.close();
  });

  test("when its answer is abandoned in the middle", async () => {
    const server = await startScriptedModelServer([
      [
        { kind: "text", text: "Well, " },
        { kind: "delay", ms: 60_000 },
      ],
    ]);
    const model = await server.model(provider);

    for await (const event of model.stream(aRequest(), new AbortController().signal)) {
      if (event.kind === "text") break;
    }

    await server.requests[0]?.closed;
    expect(server.requests[0]?.closedEarly).toBe(true);
    await server.close();
  });

  test("and is not called at all if the signal has already fired", async () => {
    const server = await startScriptedModelServer(["never said"]);
    const model = await server.model(provider);

    const answer = collect(model.stream(aRequest(), AbortSignal.abort(new Error("late"))));

    await expect(answer).rejects.toThrow("late");
    expect(server.requests).toEqual([]);
    await server.close();
  });

  test("but not after a complete answer", async () => {
    const server = await startScriptedModelServer(["Done."]);
    const model = await server.model(provider);

    await collect(model.stream(aRequest(), new AbortController().signal));

    await server.requests[0]?.closed;
    expect(server.requests[0]?.closedEarly).toBe(false);
    await server.close();
  });
});

test("a long answer is not buffered for a slow reader", async () => {
  // 64 MB, which loopback transfers in a moment if it is read.
  const text = `${"x".repeat(16_000)} `.repeat(4_000);
  const server = await startScriptedModelServer([{ kind: "text", text }]);
  const model = await server.model("openai-compatible");
  const answer = model.stream(aRequest(), new AbortController().signal)[Symbol.asyncIterator]();

  await answer.next();
  await new Promise((resolve) => setTimeout(resolve, 1_000));

  expect(server.requests[0]?.isOpen).toBe(true);
  await answer.return?.();
  await server.requests[0]?.closed;
  await server.close();
});
