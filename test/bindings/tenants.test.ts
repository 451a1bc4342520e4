import { defineAgent } from "convoke";
import { expect, test } from "vitest";
import { useServer } from "../wire/wire-server.ts";

const agent = defineAgent({ name: "Plain", description: "Answers.", run: async () => "done" });
const server = useServer(agent, { tenants: ["acme", "beta"] });
const without = useServer(agent);

test("tasks of one tenant are not seen from another, nor from outside", async () => {
  const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };
  const sent = await call(server.url, "SendMessage", { tenant: "acme", message });
  const id = (sent.result as { task: { id: string } }).task.id;

  const own = await call(server.url, "GetTask", { tenant: "acme", id });
  const other = await call(server.url, "GetTask", { tenant: "beta", id });
  const outside = await call(server.url, "GetTask", { id });
  const listed = await call(server.url, "ListTasks", { tenant: "beta" });
  // The same message id is another message in another tenant.
  const again = await call(server.url, "SendMessage", { tenant: "beta", message });

  expect(own.result).toMatchObject({ id });
  expect(other.error?.code).toBe(-32001);
  expect(outside.error?.code).toBe(-32001);
  expect(listed.result).toMatchObject({ totalSize: 0 });
  expect((again.result as { task: { id: string } }).task.id).not.toBe(id);
});

test("a tenant that is not served is refused by name", async () => {
  for (const { url } of [server, without]) {
    const { error } = await call(url, "GetTask", { tenant: "nobody", id: "x" });

    expect(error?.code).toBe(-32602);
    expect(error?.message).toContain('tenant "nobody" is not served here');
  }
});

async function call(url: string, method: string, params: object) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "a2a-version": "1.0" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return (await response.json()) as { result?: unknown; error?: { code: number; message: string } };
}
