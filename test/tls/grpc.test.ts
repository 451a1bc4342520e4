import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { describe, expect, onTestFinished } from "vitest";
import { selfSigned } from "../bindings/self-signed.ts";
import { verifies } from "../verifies.ts";
import { useServer } from "../wire/wire-server.ts";
import { conformanceAgent } from "../conformance/conformance-agent.ts";
import { outline, readAll } from "../conformance/reading.ts";
import { aRequest } from "../conformance/requests.ts";
import { grpcSpeaker } from "../conformance/speakers.ts";

// In its own worker: the certificates that Node trusts are those of the whole process.
const tls = selfSigned();
const server = useServer(conformanceAgent(), { tls });

describe.each(["0.3", "1.0"] as const)("gRPC %s with a certificate", (version) => {
  verifies(
    ["v1-S53", "v03-S1", "v03-S9"],
    "is served over TLS, with calls and streams",
    async () => {
      const before = getCACertificates("default");
      setDefaultCACertificates([...before, tls.cert]);
      onTestFinished(() => setDefaultCACertificates(before));
      // The certificate is for that name.
      const url = server.url.replace("127.0.0.1", "localhost");
      const speaker = grpcSpeaker({ url }, version);

      const { status } = await speaker.sendTask(aRequest("hello"));
      const told = await readAll(speaker.stream(aRequest("count 2")));

      expect(server.url).toMatch(/^https:/);
      expect(status.state).toBe("completed");
      expect(outline(told).at(-1)).toBe("status completed");
    },
  );
});
