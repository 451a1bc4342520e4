import type { FaultScenario } from "../fault-scenario.ts";
import { RPC } from "./speakings.ts";

/** Faults during the TLS handshake. */
export const TLS: readonly FaultScenario[] = [
  {
    id: "tls-nobody-trusts-it",
    sentence: "The certificate of the agent is self-signed.",
    speaks: RPC,
    asks: "connect",
    tls: "untrusted",
    right: { error: "unreachable", says: /certificate is self-signed/ },
  },
  {
    id: "tls-for-another-name",
    sentence: "The certificate of the agent is trusted but for another host name.",
    speaks: RPC,
    asks: "connect",
    tls: "trusted",
    right: { error: "unreachable", says: /certificate is for another name/ },
  },
  {
    id: "tls-is-not-there",
    sentence: "The agent speaks plain HTTP where TLS is expected.",
    speaks: RPC,
    asks: "connect",
    tls: "expected",
    right: { error: "unreachable", says: /does not speak TLS; try http:/ },
  },
  {
    id: "tls-is-not-expected",
    sentence: "The agent speaks TLS where plain HTTP is expected.",
    speaks: RPC,
    asks: "connect",
    tls: "unexpected",
    right: { error: "unreachable", says: /connection was closed|not HTTP/ },
  },
  {
    id: "tls-is-closed",
    sentence: "The agent closes the connection in the middle of the handshake.",
    speaks: RPC,
    asks: "connect",
    tls: "silent",
    right: { error: "unreachable", says: /connection was closed/ },
  },
];
