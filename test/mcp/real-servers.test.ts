import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { verifies } from "../verifies.ts";
import { World, published } from "./a-world.ts";
import { expectNoLeftovers } from "./marked-processes.ts";

expectNoLeftovers();

describe("server-everything", () => {
  const everything = (): World => new World({ everything: published("everything") });

  test("is not started before it is needed, and its tools have its name as a prefix", async () => {
    const world = everything();

    expect(world.servers.report()).toEqual([
      { name: "everything", status: "disconnected", tools: [] },
    ]);
    const names = await world.names();

    expect(names).toContain("everything__echo");
    expect(world.servers.report()).toMatchObject([{ name: "everything", status: "connected" }]);
    const echo = world.servers.report()[0]?.tools.find(({ name }) => name === "everything__echo");
    expect(echo).toMatchObject({
      description: expect.stringContaining("Echo") as string,
      parameterSchema: { type: "object", properties: { message: { type: "string" } } },
    });
  });

  verifies(
    "loop-L12",
    "returns text, structured content once, and an error as an error",
    async () => {
      const world = everything();

      expect(await world.result("everything__echo", { message: "hi" })).toBe("Echo: hi");
      expect(
        await world.result("everything__get-structured-content", { location: "Chicago" }),
      ).toEqual({ temperature: 36, conditions: "Light rain / drizzle", humidity: 82 });
      const { outcome } = await world.call("everything__get-resource-reference", {
        resourceType: "Text",
        resourceId: -1,
      });
      expect(outcome).toMatchObject({
        kind: "error",
        text: expect.stringContaining("resourceId") as string,
      });
    },
  );

  test("validates arguments before anything is sent", async () => {
    const world = everything();
    const [echo] = await world.servers.tools();

    expect(await echo!.check({ message: 1 })).toMatchObject({ ok: false });
    expect(await echo!.check({ message: "hi" })).toMatchObject({ ok: true });
  });

  test("turns an image into an artifact, and the model is informed", async () => {
    const { outcome, events } = await everything().call(
      "everything__get-tiny-image",
      {},
      {
        toolCallId: "picture",
      },
    );

    expect(events).toMatchObject([
      {
        kind: "tool:file",
        file: { mimeType: "image/png" },
      },
    ]);
    expect(outcome).toMatchObject({
      value: expect.stringContaining("given to the user as artifact picture-file-1") as string,
    });
  });

  test("turns linked and embedded resources into sources", async () => {
    const world = everything();

    const linked = await world.call("everything__get-resource-links", { count: 2 });
    const embedded = await world.call("everything__get-resource-reference", {
      resourceType: "Text",
      resourceId: 1,
    });

    expect(linked.events).toEqual([
      { kind: "tool:source", url: "demo://resource/dynamic/blob/1", title: "Blob Resource 1" },
      { kind: "tool:source", url: "demo://resource/dynamic/text/2", title: "Text Resource 2" },
    ]);
    expect(embedded.events).toEqual([
      { kind: "tool:source", url: "demo://resource/dynamic/text/1" },
    ]);
    expect(embedded.outcome).toMatchObject({
      value: expect.stringContaining("Resource 1: This is a plaintext resource") as string,
    });
  });

  test("reports its progress", async () => {
    const { events, outcome } = await everything().call(
      "everything__trigger-long-running-operation",
      { duration: 0.4, steps: 2 },
    );

    // The last one may arrive together with the result, which is then all that counts.
    expect(events[0]).toEqual({ kind: "tool:progress", text: "1 of 2", fraction: 0.5 });
    expect(outcome.kind).toBe("result");
  });

  test("turns a form into an interrupt, and the answer goes to the waiting call", async () => {
    const world = everything();
    const name = "everything__trigger-elicitation-request";

    const { outcome: asked } = await world.call(name, {}, { toolCallId: "form" });

    expect(asked).toMatchObject({
      kind: "interrupts",
      interrupts: [
        {
          kind: "interrupt:input",
          prompt: expect.stringContaining(
            "- name (string, required): Your full, legal name",
          ) as string,
          metadata: { server: "everything", requestedSchema: { required: ["name"] } },
        },
      ],
    });
    const { requestId } = asked.kind === "interrupts" ? asked.interrupts[0]! : { requestId: "" };
    const wrong = await world.call(
      name,
      {},
      {
        toolCallId: "form",
        answers: { [requestId]: '{"name": "Ann", "integer": 1000}' },
      },
    );
    expect(wrong.outcome).toMatchObject({
      kind: "interrupts",
      interrupts: [
        { requestId, prompt: expect.stringContaining("does not fit: integer") as string },
      ],
    });
    const right = await world.result(
      name,
      {},
      {
        toolCallId: "form",
        answers: { [requestId]: '{"name": "Ann", "integer": 7}' },
      },
    );
    expect(right).toContain("- Name: Ann\n- Favorite Integer: 7");
  });

  test("turns a page to visit into an interrupt with its URL", async () => {
    const world = everything();
    const name = "everything__trigger-url-elicitation";
    const input = { url: "https://example.com/consent", message: "Agree there." };

    const { outcome } = await world.call(name, input, { toolCallId: "visit" });

    expect(outcome).toMatchObject({
      kind: "interrupts",
      interrupts: [{ kind: "interrupt:auth", url: "https://example.com/consent" }],
    });
    const { requestId } =
      outcome.kind === "interrupts" ? outcome.interrupts[0]! : { requestId: "" };
    expect(
      await world.result(name, input, { toolCallId: "visit", answers: { [requestId]: "" } }),
    ).toContain("User completed the URL elicitation flow");
  });

  test("turns an error that names a page into an interrupt, and then repeats the call", async () => {
    const world = everything();
    const name = "everything__trigger-url-elicitation";
    const input = { url: "https://example.com/consent", message: "Agree.", errorPath: true };

    const { outcome } = await world.call(name, input, { toolCallId: "visit" });

    expect(outcome).toMatchObject({
      kind: "interrupts",
      interrupts: [
        { kind: "interrupt:auth", requestId: "visit-0", url: "https://modelcontextprotocol.io/" },
      ],
    });
    const again = await world.call(name, input, {
      toolCallId: "visit",
      answers: { "visit-0": "" },
    });
    expect(again.outcome).toMatchObject({
      interrupts: [{ kind: "interrupt:auth", url: "https://example.com/consent" }],
    });
  });

  test("lists and reads its resources and prompts", async () => {
    const world = everything();

    const resources = await world.servers.resources();
    const prompts = await world.servers.prompts();

    expect(resources).toContainEqual(
      expect.objectContaining({
        server: "everything",
        name: "features.md",
        mimeType: "text/markdown",
      }),
    );
    const { uri } = resources.find(({ name }) => name === "features.md")!;
    expect(await world.servers.readResource(uri)).toMatchObject([
      { kind: "text", text: expect.stringContaining("#") as string },
    ]);
    await expect(world.servers.readResource("demo://nowhere")).rejects.toThrow(
      "no MCP server lists demo://nowhere: name the server",
    );
    expect(prompts).toContainEqual({
      server: "everything",
      name: "args-prompt",
      title: "Arguments Prompt",
      description: "A prompt with two arguments, one required and one optional",
      arguments: [
        { name: "city", description: "Name of the city", isRequired: true },
        { name: "state", isRequired: false },
      ],
    });
    expect(
      await world.servers.getPrompt("everything", "args-prompt", { arguments: { city: "Rome" } }),
    ).toEqual([{ role: "user", parts: [{ kind: "text", text: "What's weather in Rome?" }] }]);
    await expect(world.servers.getPrompt("nobody", "x")).rejects.toThrow(
      'there is no MCP server "nobody"; there are everything',
    );
  });
});

test("server-filesystem reads without approval and writes with it, and denied tools are missing", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "mcp-files-")));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "note.txt"), "Buy milk.");
  const world = new World({
    files: { ...published("filesystem", [folder]), deny: ["move_file"] },
  });

  const tools = new Map((await world.servers.tools()).map((tool) => [tool.name, tool]));

  expect(tools.get("files__read_text_file")?.confirm).toBe("never");
  expect(tools.get("files__write_file")?.confirm).toBeTypeOf("function");
  expect(tools.has("files__move_file")).toBe(false);
  const note = await world.result("files__read_text_file", { path: join(folder, "note.txt") });
  expect(JSON.stringify(note)).toContain("Buy milk.");
  const { outcome } = await world.call("files__read_text_file", { path: "/etc/passwd" });
  expect(outcome).toMatchObject({
    kind: "error",
    text: expect.stringContaining("Access denied") as string,
  });
});

test("server-memory stores what it receives, and only allowed tools are available", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mcp-memory-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const env = { MEMORY_FILE_PATH: join(folder, "memory.jsonl") };
  const world = new World({
    memory: {
      ...published("memory", [], env),
      allow: ["create_entities", "search_nodes", "no_such_tool"],
      confirm: { create_entities: "never" },
    },
  });

  expect(await world.names()).toEqual(["memory__create_entities", "memory__search_nodes"]);
  const [create] = await world.servers.tools();
  expect(create?.confirm).toBe("never");
  expect(world.servers.report()).toMatchObject([
    { note: "allow names tools it does not have: no_such_tool" },
  ]);
  const entity = { name: "Ann", entityType: "person", observations: ["likes tea"] };
  await world.result("memory__create_entities", { entities: [entity] });
  expect(JSON.stringify(await world.result("memory__search_nodes", { query: "tea" }))).toContain(
    "Ann",
  );
});
