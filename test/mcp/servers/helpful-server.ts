import { McpServer, acceptedContent, inputRequired } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

// A server with what tests need. With the argument `new` it supports only the revision of
// 2026-07-28.

const isNew = process.argv.includes("new");
const readOnly = { annotations: { readOnlyHint: true } };

function text(value: string): { content: { type: "text"; text: string }[] } {
  return { content: [{ type: "text", text: value }] };
}

/** What happened to calls, for tests that observe it from outside. */
function note(what: string): void {
  const file = process.env["NOTES"];
  if (file !== undefined) appendFileSync(file, `${what}\n`);
}

serveStdio(
  () => {
    const server = new McpServer({ name: "helpful", version: "1.0.0" });
    server.registerTool(
      "sleep",
      { ...readOnly, inputSchema: z.object({ ms: z.number() }) },
      async ({ ms }, { mcpReq }) => {
        note("sleeps");
        try {
          await delay(ms, undefined, { signal: mcpReq.signal });
        } catch {
          note("stopped sleeping");
        }
        return text("slept");
      },
    );
    server.registerTool("environment", readOnly, () => text(JSON.stringify(process.env)));
    server.registerTool("meta", readOnly, ({ mcpReq }) => text(JSON.stringify(mcpReq._meta)));
    server.registerTool("client", readOnly, () =>
      text(JSON.stringify(server.server.getClientVersion())),
    );
    server.registerTool("fail", readOnly, () => ({ ...text("It is broken."), isError: true }));
    server.registerTool("write", { description: "Writes." }, () => {
      note("wrote");
      return text("written");
    });
    server.registerTool(
      "big",
      { ...readOnly, inputSchema: z.object({ size: z.number() }) },
      ({ size }) => text("x".repeat(size)),
    );
    server.registerTool("grow", readOnly, () => {
      server.registerTool("grown", readOnly, () => text("grown"));
      return text("growing");
    });
    server.registerTool(
      "greet",
      { description: "Greets.", annotations: { readOnlyHint: process.env["READS"] === "yes" } },
      async (context) => {
        note("greets");
        if (process.env["STOPS"] === "yes") {
          context.mcpReq.signal.addEventListener("abort", () => note("stopped greeting"));
        }
        const { action, content } = await context.mcpReq.elicitInput({
          mode: "form",
          message: "What is your name?",
          requestedSchema: {
            type: "object",
            properties: { name: { type: "string", minLength: 2 } },
            required: ["name"],
          },
        });
        return text(
          action === "accept" ? `Hello, ${String(content?.["name"])}!` : `It was a ${action}.`,
        );
      },
    );
    server.registerTool("deploy", readOnly, ({ mcpReq }) => {
      const requestedSchema = z.object({ sure: z.boolean() });
      const answer = acceptedContent(mcpReq.inputResponses, "sure", requestedSchema);
      if (answer !== undefined) return text(answer.sure ? "deployed" : "not deployed");
      const sure = inputRequired.elicit({ message: "Are you sure?", requestedSchema });
      return inputRequired({ inputRequests: { sure } });
    });
    return server;
  },
  { legacy: isNew ? "reject" : "serve" },
);
