import { inspect } from "node:util";
import { type ScriptTurn, startScriptedModelServer } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { ModelError } from "../../packages/runtime/src/model/model-error.ts";
import { resolveModel } from "../../packages/runtime/src/models/resolve-model.ts";
import { keptPort } from "../harness/kept-port.ts";
import { aRequest, failureOf } from "./requests.ts";

const PROVIDERS = ["anthropic", "google", "openai", "openai-compatible"] as const;

const FAILURES: readonly (readonly [string, ScriptTurn, object])[] = [
  ["401", { kind: "error", status: 401 }, { kind: "unauthorized", isPassing: false }],
  ["403", { kind: "error", status: 403 }, { kind: "unauthorized" }],
  ["404", { kind: "error", status: 404 }, { kind: "unavailable", isPassing: false }],
  ["400", { kind: "error", status: 400 }, { kind: "refused", isPassing: false }],
  [
    "400 because of the length",
    { kind: "error", status: 400, code: "context_length_exceeded" },
    { kind: "too-long", isPassing: false },
  ],
  [
    "429 with a time",
    { kind: "error", status: 429, retryAfterSeconds: 7 },
    { kind: "overloaded", retryAfterMs: 7_000, isPassing: true },
  ],
  ["503", { kind: "error", status: 503 }, { kind: "overloaded" }],
  ["529", { kind: "error", status: 529 }, { kind: "overloaded", isPassing: true }],
  ["500", { kind: "error", status: 500 }, { kind: "unreachable", isPassing: true }],
  ["unreadable data", { kind: "malformed" }, { kind: "unreadable", isPassing: false }],
  [
    "unreadable data, in mid-answer",
    [{ kind: "text", text: "It is " }, { kind: "malformed" }],
    { kind: "unreadable" },
  ],
  [
    "a cut connection",
    [{ kind: "text", text: "It is " }, { kind: "cut" }],
    { kind: "unreachable", isPassing: true },
  ],
  [
    "an answer without its final event",
    [{ kind: "text", text: "It is " }, { kind: "unfinished" }],
    { kind: "unreachable", isPassing: true },
  ],
  ["a cut before the first chunk", { kind: "cut" }, { kind: "unreachable", isPassing: true }],
  [
    "an overload, in mid-answer",
    [
      { kind: "text", text: "It is " },
      { kind: "error", status: 529, code: "overloaded_error" },
    ],
    { kind: "overloaded", isPassing: true },
  ],
];

describe.each(PROVIDERS)("the errors of %s", (provider) => {
  test.each(FAILURES)("%s", async (_, turn, expected) => {
    const server = await startScriptedModelServer([turn]);

    const error = await failureOf(await server.model(provider));

    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject(expected);
    // The SDK never retries.
    expect(server.requests).toHaveLength(1);
    await server.close();
  });

  test("no server at all", async () => {
    const port = await keptPort();
    const url = `http://127.0.0.1:${port}`;
    const spec = provider === "openai-compatible" ? `${url}/v1#m` : `${provider}:m`;
    const model = await resolveModel(spec, { apiKey: "key", baseUrl: `${url}/v1` });

    const error = await failureOf(model);

    expect(error).toMatchObject({ kind: "unreachable", isPassing: true });
    expect(String(error)).toContain("ECONNREFUSED");
  });

  test("neither the key nor the prompt is in what is shown", async () => {
    const message = "Incorrect key sk-secret-12345678; you said: my diary says hello";
    const server = await startScriptedModelServer([{ kind: "error", status: 401, message }]);
    const model = await server.model(provider, { apiKey: "sk-secret-12345678" });

    const error = (await failureOf(model, aRequest("my diary says hello"))) as ModelError;

    expect(error.message).toContain(model.id);
    expect(error.message).not.toContain("diary");
    // Loggers also write the cause.
    expect(inspect(error, { depth: 9 })).not.toContain("sk-secret");
    expect(String(error.cause)).toContain("Incorrect key [key]");
    await server.close();
  });
});

test("an account without credit is not called again", async () => {
  const server = await startScriptedModelServer([
    { kind: "error", status: 429, code: "insufficient_quota" },
  ]);

  expect(await failureOf(await server.model("openai"))).toMatchObject({ kind: "unavailable" });
  await server.close();
});

test("a rejected key names the variable to set", async () => {
  const server = await startScriptedModelServer([{ kind: "error", status: 401 }]);

  const error = await failureOf(await server.model("anthropic"));

  expect(String(error)).toBe(
    "ModelError: anthropic:claude-sonnet-4-5: the provider refused the key; set ANTHROPIC_API_KEY to one that may use this model (401 authentication_error)",
  );
  await server.close();
});

test("a file that the provider cannot read is rejected before anything is sent", async () => {
  const server = await startScriptedModelServer([]);
  const file = { mimeType: "application/zip", bytes: "UEsDBA==" };

  const error = await failureOf(
    await server.model("openai-compatible"),
    aRequest([{ kind: "file", file }]),
  );

  expect(error).toMatchObject({ kind: "refused" });
  expect(server.requests).toEqual([]);
  await server.close();
});
