import type { ProtocolVersion } from "@convoke/protocol";
import { CLIENT_PROBES } from "../client-probes/index.ts";
import { CLIENT_ACTIONS, type ClientProbe } from "../client-probes/client-probe.ts";
import type { ProbeScript } from "../probe-server/probe-server.ts";
import { TOKEN } from "../probe-server/honest-agent.ts";
import type { Speaking } from "../probe-server/seen-request.ts";
import { type Claim, isSelected } from "../probes/probe.ts";
import { BINDINGS, type Binding } from "../wire/client.ts";

/** Which probes a client is to visit. Empty lists mean all. */
export interface ClientSelection {
  readonly versions: readonly ProtocolVersion[];
  readonly bindings: readonly Binding[];
  /** The ids of requirements or probes. */
  readonly only: readonly string[];
}

/** A probe on one binding in one version. */
export interface PlannedClientProbe {
  readonly slug: string;
  readonly probe: ClientProbe;
  readonly claim: Claim;
  readonly speaking: Speaking;
}

const VERSIONS = ["1.0", "0.3"] as const satisfies readonly ProtocolVersion[];

/** Every selected probe on every binding and version that it is about. */
export function planClientProbes(selection: ClientSelection): readonly PlannedClientProbe[] {
  const { versions, bindings, only } = selection;
  return VERSIONS.filter((version) => versions.length === 0 || versions.includes(version))
    .flatMap((version) => BINDINGS.map((binding) => ({ binding, version })))
    .filter(({ binding }) => bindings.length === 0 || bindings.includes(binding))
    .flatMap((speaking) => CLIENT_PROBES.flatMap((probe) => planned(probe, speaking)))
    .filter(({ probe, claim }) => isSelected(probe, claim, only));
}

function planned(probe: ClientProbe, speaking: Speaking): readonly PlannedClientProbe[] {
  const { binding, version } = speaking;
  if (probe.bindings?.includes(binding) === false) return [];
  const slug = `${binding}-${version}-${probe.name}`;
  return probe.claims
    .filter((claim) => claim.version === version)
    .map((claim) => ({ slug, probe, claim, speaking }));
}

/** What the client under test needs to know about a probe, in addition to its URLs. */
export interface ClientProbeFacts extends Speaking {
  /** What to do, for programs. */
  readonly action: keyof typeof CLIENT_ACTIONS;
  /** What to do, in a sentence. */
  readonly instruction: string;
  /** The bearer token to authenticate with, if the probe needs one. */
  readonly token?: string;
}

export function probeFacts({ probe, speaking }: PlannedClientProbe): ClientProbeFacts {
  const { action, needsToken } = probe;
  const token = needsToken === true ? { token: TOKEN } : {};
  const authenticate =
    needsToken === true ? ` Authenticate with the bearer token \`${TOKEN}\`.` : "";
  return {
    ...speaking,
    action,
    instruction: `${CLIENT_ACTIONS[action]}${authenticate}`,
    ...token,
  };
}

export function probeScript(planned: PlannedClientProbe): ProbeScript {
  const { slug, probe, speaking } = planned;
  const { card, replies } = probe;
  return { slug, speaking, card, replies, facts: probeFacts(planned) };
}
