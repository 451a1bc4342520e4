import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { z } from "zod";

interface Issue {
  readonly number: number;
  readonly title: string;
  isOpen: boolean;
}

/** An issue tracker with an MCP server over HTTP, made with the official SDK. */
export class Tracker {
  readonly issues: readonly Issue[] = [
    { number: 12, title: "Invoices have the year 1970", isOpen: true },
    { number: 15, title: "Dark mode", isOpen: true },
  ];
  readonly #token: string;
  readonly #mcp = createMcpHandler(() => this.#tools());
  readonly #server = createServer((request, response) => {
    void (async () => {
      if (request.headers.authorization !== `Bearer ${this.#token}`) {
        response.writeHead(401).end();
        return;
      }
      const { method = "GET" } = request;
      const headers = request.headers as Record<string, string>;
      const body = method === "POST" ? { body: await text(request) } : {};
      const asked = new Request("http://127.0.0.1/mcp", { method, headers, ...body });
      const answer = await this.#mcp.fetch(asked);
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(await answer.text());
    })();
  });

  constructor(token: string) {
    this.#token = token;
  }

  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #tools(): McpServer {
    const server = new McpServer({ name: "tracker", version: "1.0.0" });
    const readOnly = { annotations: { readOnlyHint: true } };
    server.registerTool("list_issues", { ...readOnly, description: "The open issues." }, () => ({
      content: [{ type: "text", text: JSON.stringify(this.issues.filter(({ isOpen }) => isOpen)) }],
    }));
    const closing = {
      description: "Closes an issue.",
      annotations: { idempotentHint: true },
      inputSchema: z.object({ number: z.number().int() }),
    };
    server.registerTool("close_issue", closing, ({ number }) => {
      const issue = this.issues.find((one) => one.number === number);
      if (issue !== undefined) issue.isOpen = false;
      const answer = issue === undefined ? `There is no issue ${number}.` : `Closed #${number}.`;
      return { content: [{ type: "text", text: answer }], isError: issue === undefined };
    });
    return server;
  }
}
