/** What the environment says about the card and about calls between agents. */
export interface A2AEnvironment {
  /** The organization behind the agents of this process, for cards that name none. */
  readonly provider?: { readonly organization: string; readonly url: string };
  /** For cards that have none. */
  readonly documentationUrl?: string;
  /** How many agents a session may call, how often in all, and how soon the same one again. */
  readonly invocations: {
    readonly maxCalls: number;
    readonly maxAgents: number;
    readonly cooldownMs: number;
  };
  /** How many inbound tasks a minute each source may send. */
  readonly inboundPerMinute: number;
}

/** How many inbound tasks a minute each source may send, by default. */
export const INBOUND_PER_MINUTE = 5;

/**
 * Reads the variables whose names start with `A2A_` or `MAX_`. An invalid value counts as not set:
 * these are limits and labels, and a mistake in one must not stop a server or remove a limit.
 */
export function readA2AEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): A2AEnvironment {
  const organization = env["A2A_PROVIDER_ORG"]?.trim() ?? "";
  const url = webUrl(env["A2A_PROVIDER_URL"]);
  const documentationUrl = webUrl(env["A2A_DOCS_URL"]);
  return {
    ...(organization !== "" && url !== undefined && { provider: { organization, url } }),
    ...(documentationUrl !== undefined && { documentationUrl }),
    invocations: {
      maxCalls: count(env["MAX_REMOTE_INVOCATIONS_PER_SESSION"], { least: 1, otherwise: 10 }),
      maxAgents: count(env["MAX_UNIQUE_AGENTS_PER_SESSION"], { least: 1, otherwise: 3 }),
      cooldownMs: count(env["A2A_INVOCATION_COOLDOWN_MS"], { least: 0, otherwise: 5000 }),
    },
    inboundPerMinute: count(env["A2A_INBOUND_RATE_LIMIT_PER_MIN"], {
      least: 1,
      otherwise: INBOUND_PER_MINUTE,
    }),
  };
}

function count(
  text: string | undefined,
  { least, otherwise }: { readonly least: number; readonly otherwise: number },
): number {
  const value = Number(text);
  const isValid = /^\s*\d+\s*$/.test(text ?? "") && Number.isSafeInteger(value) && value >= least;
  return isValid ? value : otherwise;
}

function webUrl(text: string | undefined): string | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  return /^https?:$/.test(new URL(text).protocol) ? text : undefined;
}
