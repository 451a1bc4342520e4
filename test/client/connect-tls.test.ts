import { type BindingName, connect } from "@convoke/client";
import { describe, expect } from "vitest";
import { selfSigned } from "../bindings/self-signed.ts";
import { conformanceAgent } from "../conformance/conformance-agent.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";

const server = useServer(conformanceAgent(), { tls: selfSigned() });

describe("a server with an untrusted certificate", () => {
  verifies(["v1-C6", "v03-C5"], "gets no request for its card", async () => {
    await expect(connect(server.url)).rejects.toMatchObject({
      kind: "unreachable",
      sent: false,
      message: expect.stringContaining("certificate"),
    });
  });

  for (const [name, binding] of [
    ["jsonrpc", "JSONRPC"],
    ["rest", "HTTP+JSON"],
    ["grpc", "GRPC"],
  ] satisfies [BindingName, string][]) {
    verifies(["v1-C6", "v03-C5"], `is not called via ${name}`, async () => {
      const at = { url: server.url, protocolBinding: binding, protocolVersion: "1.0" };
      const remote = await connect(
        { name: "Parrot", supportedInterfaces: [at] },
        { token: "secret", retry: false },
      );

      await expect(remote.get("t1")).rejects.toMatchObject({
        kind: "unreachable",
        sent: false,
        message: expect.stringContaining("certificate"),
      });
    });
  }
});
