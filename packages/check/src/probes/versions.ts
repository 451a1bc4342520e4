import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";

/** Which version a request is served in. */
export const VERSIONS: readonly Probe[] = [
  {
    name: "unknown-version",
    says: "A version that is not served is refused as VersionNotSupported.",
    claims: [must("v1-S6", "§3.6.2")],
    async run(scene) {
      const params = scene.requests.send(scene.settings.message);
      const headers = { "a2a-version": "99.0" };
      await scene.refused(scene.call("sendMessage", params, { headers }), "VersionNotSupported");
    },
  },
  {
    name: "patch",
    says: "The patch of a version changes nothing.",
    claims: [must("v1-S7", "§3.6")],
    async run(scene) {
      const params = scene.requests.send(scene.settings.message);
      const headers = { "a2a-version": "1.0.1" };
      await scene.served(
        scene.call("sendMessage", params, { headers }),
        "what 1.0 is answered with",
      );
    },
  },
  {
    name: "in-query",
    says: "The version may be in the query instead of the headers.",
    claims: [should("v1-S7", "§3.6.1")],
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      const headers = { "a2a-version": undefined };
      const params = scene.requests.send(scene.settings.message);
      await scene.served(
        scene.call("sendMessage", params, { headers, query: { "A2A-Version": "1.0" } }),
        "what 1.0 is answered with",
      );
      await scene.refused(
        scene.call("sendMessage", params, { headers, query: { "A2A-Version": "99.0" } }),
        "VersionNotSupported",
      );
    },
  },
];
