import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type {
  LanguageModelV2,
  LanguageModelV2StreamPart,
  LanguageModelV3,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";
import { startScriptedModelServer } from "@convoke/runtime/testing";
import { describe, expect, test } from "vitest";
import { resolveModel } from "../../packages/runtime/src/models/resolve-model.ts";
import { aRequest, answerOf } from "./requests.ts";

describe("a model by its name", () => {
  test.each([
    ["anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"],
    ["openai:gpt-5", "OPENAI_API_KEY"],
    ["google:gemini-2.5-pro", "GOOGLE_GENERATIVE_AI_API_KEY"],
  ])("%s without a key says what to set", async (spec, variable) => {
    await expect(resolveModel(spec, { environment: {} })).rejects.toThrow(
      `${spec} needs a key; set ${variable} or give apiKey`,
    );
  });

  test.each(["claude", "mistral:large", "", ":x"])("“%s” lists what is available", async (spec) => {
    await expect(resolveModel(spec)).rejects.toThrow(
      /names no known provider; use "anthropic:<model>", "openai:<model>", "google:<model>", "ollama:<model>", "https:/,
    );
  });

  test.each([
    ["anthropic:", /names no model; use "anthropic:<model>"/],
    ["https://host/v1", /https:\/\/host\/v1 names no model; use "https:\/\/host\/v1#<model>"/],
    ["https://me:secret@host/v1#m", /holds a password; .* OPENAI_COMPATIBLE_API_KEY/],
    ["https://#m", /the address is broken/],
  ])("%s is rejected with the fix", async (spec, message) => {
    await expect(resolveModel(spec, { apiKey: "key" })).rejects.toThrow(message);
  });

  test("a URL may have a query, which is never shown", async () => {
    const server = await startScriptedModelServer(["Good."]);
    const model = await resolveModel(`${server.url}/v1?code=secret#my/model`, { apiKey: "key" });

    await answerOf(model);

    expect(model.id).toBe(`${server.url}/v1#my/model`);
    expect(server.requests[0]).toMatchObject({
      path: "/v1/chat/completions?code=secret",
      body: { model: "my/model" },
      headers: { authorization: "Bearer key" },
    });
    await server.close();
  });

  test("the context size is known for well-known families, and can be set", async () => {
    const options = { apiKey: "key" };
    expect(await resolveModel("openai:gpt-4.1-mini", options)).toMatchObject({
      contextTokens: 1_047_576,
    });
    expect(await resolveModel("openai:something", options)).not.toHaveProperty("contextTokens");
    const price = { inputPerMillion: 3, outputPerMillion: 15 };
    expect(
      await resolveModel("anthropic:claude-x", { ...options, contextTokens: 9, price }),
    ).toMatchObject({ contextTokens: 9, price });
    expect(await resolveModel("demo", { contextTokens: 9 })).toMatchObject({ contextTokens: 9 });
  });

  test("every request goes through the given fetch, and only once", async () => {
    const server = await startScriptedModelServer(() => "Good.");
    for (const provider of ["anthropic", "google", "openai", "ollama"] as const) {
      const urls: string[] = [];
      const model = await server.model(provider, {
        fetch: (input, init) => {
          urls.push(input as string);
          return fetch(input, init);
        },
      });

      await answerOf(model);
      await answerOf(model);

      expect(urls).toHaveLength(2);
    }
    await server.close();
  });

  test("an answer that Google wants to continue by itself ends where it is", async () => {
    const server = await startScriptedModelServer([]);
    const sent: string[] = [];
    const chunk = {
      candidates: [
        {
          content: { role: "model", parts: [{ text: "so far" }] },
          finishReason: "CONTINUATION",
          continuationToken: "more",
        },
      ],
    };
    const model = await server.model("google", {
      fetch: async (input) => {
        sent.push(input as string);
        return new Response(`data: ${JSON.stringify(chunk)}\n\n`);
      },
    });

    const events = await answerOf(model);

    expect(sent).toHaveLength(1);
    expect(events).toMatchObject([
      { kind: "text", text: "so far" },
      { kind: "finish", reason: "length" },
    ]);
    await server.close();
  });
});

describe("a package that is not installed", () => {
  test.each([
    ["anthropic:claude-sonnet-4-5", "@ai-sdk/anthropic"],
    ["openai:gpt-5", "@ai-sdk/openai"],
    ["google:gemini-2.5-pro", "@ai-sdk/google"],
    ["ollama:llama3.2", "@ai-sdk/openai-compatible"],
  ])("%s says how to install it", async (spec, name) => {
    const folder = await mkdtemp(join(tmpdir(), "convoke-models-"));
    try {
      // The sources, in a folder with only our own packages.
      for (const sources of ["model", "models"]) {
        await cp(`packages/runtime/src/${sources}`, join(folder, sources), { recursive: true });
      }
      await writeFile(join(folder, "package.json"), '{"type":"module"}');
      await mkdir(join(folder, "node_modules/@convoke"), { recursive: true });
      for (const own of ["egress", "protocol"]) {
        await symlink(resolve("packages", own), join(folder, "node_modules/@convoke", own));
      }
      await writeFile(
        join(folder, "main.ts"),
        `import { resolveModel } from "./models/resolve-model.ts";
        await resolveModel(${JSON.stringify(spec)}, { apiKey: "key" }).catch((error) => console.log(String(error)));`,
      );

      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--conditions=@convoke/source", "main.ts"],
        {
          cwd: folder,
        },
      );

      expect(stdout).toContain(`npm install ${name}`);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("a model object", () => {
  test("of specification 2 works", async () => {
    const { model, calls } = aV2Model([
      { type: "stream-start", warnings: [] },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "Hello" },
      { type: "text-end", id: "1" },
      { type: "file", mediaType: "image/png", data: new Uint8Array([1, 2, 3]) },
      {
        type: "finish",
        finishReason: "unknown",
        usage: { inputTokens: 3, outputTokens: 1, totalTokens: 4, cachedInputTokens: 2 },
      },
    ]);
    const resolved = await resolveModel(model);
    const file = { mimeType: "image/png", bytes: "AQID" };

    const events = await answerOf(resolved, aRequest([{ kind: "file", file }]));

    expect(resolved.id).toBe("acme:one");
    expect(events).toEqual([
      { kind: "text", text: "Hello" },
      { kind: "file", mediaType: "image/png", bytes: "AQID" },
      {
        kind: "finish",
        reason: "other",
        usage: { inputTokens: 3, outputTokens: 1, cachedInputTokens: 2 },
      },
    ]);
    expect(calls[0]).toMatchObject({
      prompt: [{ role: "user", content: [{ type: "file", data: "AQID" }] }],
    });
  });

  test("of specification 3 works, and tools that its provider runs itself are not run by us", async () => {
    const resolved = await resolveModel(
      aV3Model([
        {
          type: "tool-call",
          toolCallId: "s",
          toolName: "search",
          input: "{}",
          providerExecuted: true,
        },
        { type: "tool-call", toolCallId: "c", toolName: "weather", input: '{"city":"Rome"}' },
        {
          type: "finish",
          finishReason: { unified: "tool-calls", raw: undefined },
          usage: {
            inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
            outputTokens: { total: undefined, text: undefined, reasoning: undefined },
          },
        },
      ]),
    );

    const events = await answerOf(resolved);

    expect(events.filter(({ kind }) => kind === "tool-call")).toEqual([
      { kind: "tool-call", toolCallId: "c", toolName: "weather", input: '{"city":"Rome"}' },
    ]);
    expect(events.at(-1)).toEqual({
      kind: "finish",
      reason: "tool-calls",
      usage: { inputTokens: 3, outputTokens: 0 },
    });
  });

  test("that ends without a finish event is a lost connection", async () => {
    const resolved = await resolveModel(aV3Model([{ type: "text-delta", id: "1", delta: "He" }]));

    await expect(answerOf(resolved)).rejects.toMatchObject({ kind: "unreachable" });
  });

  test("of our own type is used unchanged", async () => {
    const own = await resolveModel("demo");

    expect(await resolveModel(own)).toBe(own);
  });

  test("uses its own key and connection", async () => {
    await expect(resolveModel(aV3Model([]), { apiKey: "key" })).rejects.toThrow(
      "apiKey: a model object brings its own",
    );
  });

  test("of any other kind is rejected", async () => {
    await expect(resolveModel({} as never)).rejects.toThrow("model: neither a name");
    await expect(resolveModel(undefined as never)).rejects.toThrow("model: neither a name");
  });
});

// No package with these specifications is installed; their types come from the SDK.

function aV2Model(parts: readonly LanguageModelV2StreamPart[]): {
  readonly model: LanguageModelV2;
  readonly calls: readonly unknown[];
} {
  const calls: unknown[] = [];
  const model: LanguageModelV2 = {
    specificationVersion: "v2",
    provider: "acme.chat",
    modelId: "one",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not asked for")),
    doStream: async (call) => {
      calls.push(call);
      return { stream: streamOf(parts) };
    },
  };
  return { model, calls };
}

function aV3Model(parts: readonly LanguageModelV3StreamPart[]): LanguageModelV3 {
  return {
    specificationVersion: "v3",
    provider: "acme.chat",
    modelId: "two",
    supportedUrls: Promise.resolve({}),
    doGenerate: () => Promise.reject(new Error("not asked for")),
    doStream: async () => ({ stream: streamOf(parts) }),
  };
}

function streamOf<T>(parts: readonly T[]): ReadableStream<T> {
  return new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}
