import { type PublicEvent, textOfParts } from "@convoke/protocol";
import { connect, serve } from "convoke";
import { type ServedProvider, say, scriptedModel, startScriptedModelServer } from "convoke/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { verifies } from "../../test/verifies.ts";
import defaultAnalyst, { analyst } from "./agent.ts";
import { SALES, totalsBy } from "./sales.ts";

const CSV = ["region,units,revenue", ...totalsBy("region").map(asLine)].join("\n");

function asLine({ name, units, revenue }: { name: string; units: number; revenue: number }) {
  return `${name},${units},${revenue}`;
}

describe("the analyst", () => {
  test("reads the data, adds up, and answers with numbers and a table", async () => {
    const model = scriptedModel([
      { kind: "tool-call", toolName: "look_at_sales", input: {} },
      { kind: "tool-call", toolName: "add_up_sales", input: { by: "region" } },
      [
        { kind: "text", text: "The north " },
        { kind: "delay", ms: 1 },
        { kind: "text", text: "sold more." },
      ],
    ]);

    const { text, task, events } = await say(analyst(model), "Which region sold more?");

    expect(text).toContain("The north sold more.");
    const [totals] = task?.artifacts?.filter(({ name }) => name === "sales-by-region.csv") ?? [];
    expect(totals && textOfParts(totals.parts)).toBe(CSV);
    expect(JSON.stringify(model.requests[2]?.transcript)).toContain(
      JSON.stringify(totalsBy("region")),
    );
    expect(statusTexts(events)).toContain(`Adding up ${SALES.length} sales by region.`);
    expect(events.filter(({ kind }) => kind === "artifact-update").length).toBeGreaterThan(3);
  });

  test("receives the error if its arguments are invalid, and tries again", async () => {
    const model = scriptedModel([
      { kind: "tool-call", toolName: "add_up_sales", input: { by: "colour" } },
      { kind: "tool-call", toolName: "add_up_sales", input: { by: "product", product: "lamp" } },
      "Lamps, then.",
    ]);

    const { task } = await say(analyst(model), "By colour?");

    expect(task?.status.state).toBe("completed");
    expect(JSON.stringify(model.requests[1]?.transcript)).toContain("by");
    expect(task?.artifacts?.map(({ name }) => name)).toContain("sales-by-product.csv");
  });

  test("can be tried without a key", async () => {
    const { text, task } = await say(defaultAnalyst, "add_up_sales(by=month)");

    expect(text).toContain("Demo model, no AI.");
    expect(text).toContain("2026-01");
    expect(task?.artifacts?.map(({ name }) => name)).toContain("sales-by-month.csv");
  });
});

const PROVIDERS: readonly ServedProvider[] = ["anthropic", "google", "openai", "openai-compatible"];

describe.each(PROVIDERS)("through the real provider %s, a server and a client", (provider) => {
  verifies(
    "R49",
    "its text streams, two tools are called in parallel, and the provider is called once for each answer",
    async () => {
      const provided = await startScriptedModelServer([
        [
          { kind: "text", text: "Let me see." },
          { kind: "tool-call", toolName: "look_at_sales", input: {} },
          { kind: "tool-call", toolName: "add_up_sales", input: { by: "region" } },
        ],
        "The north sold more.",
      ]);
      onTestFinished(() => provided.close());
      const agent = analyst(await provided.model(provider));
      const server = await serve(agent, { port: 0, data: "memory" });
      onTestFinished(() => server.close());
      const remote = await connect(server.url);

      const events: PublicEvent[] = [];
      for await (const event of remote.stream("Which region sold more?")) events.push(event);

      const words = events.flatMap((event) =>
        event.kind === "artifact-update" && event.artifact.artifactId === "answer-1"
          ? [textOfParts(event.artifact.parts)]
          : [],
      );
      expect(words.join("")).toBe("Let me see.\n\nThe north sold more.");
      // Words that arrive together are one chunk, so their number depends on the connection.
      expect(words.length).toBeGreaterThanOrEqual(2);
      expect(provided.requests).toHaveLength(2);
      const told = JSON.stringify(provided.requests[1]?.body);
      expect(told).toContain("columns");
      expect(told).toContain("north");
      expect(events.at(-1)).toMatchObject({
        kind: "status-update",
        status: { state: "completed" },
        metadata: { usage: { iterations: 2, toolCalls: 2 } },
      });
    },
  );
});

function statusTexts(events: readonly PublicEvent[]): readonly string[] {
  return events.flatMap((event) =>
    event.kind === "status-update" ? [textOfParts(event.status.message?.parts ?? [])] : [],
  );
}
