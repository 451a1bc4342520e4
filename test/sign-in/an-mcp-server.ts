import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { onTestFinished } from "vitest";
import { keptPort } from "../harness/kept-port.ts";

/** An MCP server over HTTP that accepts tokens of the issuer that are for it. Its tool says who calls. */
export async function anMcpServer(issuer: string): Promise<string> {
  const port = await keptPort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const metadata = `http://127.0.0.1:${port}/.well-known/oauth-protected-resource/mcp`;
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`));
  const callerOf = async (authorization = ""): Promise<string | undefined> => {
    const token = authorization.replace("Bearer ", "");
    const verified = await jwtVerify(token, keys, { issuer, audience: url }).catch(() => undefined);
    return verified?.payload.sub;
  };
  const server = createServer((request, response) => {
    void (async () => {
      if (`http://127.0.0.1:${port}${request.url}` === metadata) {
        const description = { resource: url, authorization_servers: [issuer] };
        response.setHeader("content-type", "application/json").end(JSON.stringify(description));
        return;
      }
      const caller = await callerOf(request.headers.authorization);
      if (caller === undefined) {
        const challenge = `Bearer resource_metadata="${metadata}"`;
        response.writeHead(401, { "www-authenticate": challenge }).end();
        return;
      }
      const { method = "GET", headers } = request;
      const answer = await serve(caller).fetch(
        new Request(url, {
          method,
          headers: headers as Record<string, string>,
          ...(method === "POST" && { body: await text(request) }),
        }),
      );
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(await answer.text());
    })();
  });
  server.listen(port, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return url;
}

function serve(caller: string) {
  return createMcpHandler(() => {
    const server = new McpServer({ name: "vault", version: "1.0.0" });
    server.registerTool("who", { annotations: { readOnlyHint: true } }, () => ({
      content: [{ type: "text", text: caller }],
    }));
    return server;
  });
}
