import { urlOf } from "../agent-options.ts";
import type { CommandContext } from "../command.ts";
import { authOf } from "../credentials/auth-of.ts";
import { carriedBy } from "../credentials/carried-by.ts";
import { didYouMean } from "../nearest.ts";
import { UsageError } from "../usage-error.ts";
import {
  BINDINGS,
  CARD_PROBES,
  type CheckSettings,
  GATE,
  idOf,
  type Level,
  LEVELS,
  PROBES,
  type WireHeaders,
} from "@convoke/check";

const VERSIONS = ["0.3", "1.0"] as const;

/** What was typed, as settings. What cannot be meant is a usage error that says what can. */
export async function settingsOf(context: CommandContext): Promise<CheckSettings> {
  const { text, io } = context;
  return {
    url: urlOf(context),
    message: text("message") ?? "hello",
    slow: text("slow"),
    ask: text("ask"),
    timeoutMs: readSeconds(text("timeout")) * 1000,
    credentials: await readCredentials(context),
    allowOrigins: words(text("allow-origin")).map(readOrigin),
    versions: oneOf("version", text("version"), VERSIONS),
    bindings: oneOf("binding", text("binding"), BINDINGS),
    only: words(text("only")).map(readId),
    signal: io.signal,
  };
}

/** What counts as a failure of the whole. */
export function levelOf({ text }: CommandContext): Level {
  return oneOf("level", text("level")?.toUpperCase(), LEVELS)[0] ?? "MUST";
}

function readSeconds(value: string | undefined): number {
  const seconds = Number(value ?? "20");
  if (seconds > 0 && seconds <= 3600) return seconds;
  throw new UsageError(`--timeout must be a number of seconds up to 3600, not "${value}".`);
}

/** Who asks, as headers. A key in the query would be part of every address that is shown. */
async function readCredentials(context: CommandContext): Promise<WireHeaders> {
  const { headers, query } = carriedBy(await authOf(context));
  if (Object.keys(query).length > 0) {
    throw new UsageError("--api-key in the query cannot be checked with; give it in a header.");
  }
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return Object.fromEntries(entries) as WireHeaders;
}

function readOrigin(value: string): string {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))
    return new URL(value).origin;
  throw new UsageError(
    `--allow-origin must be an origin such as https://example.com, not "${value}".`,
  );
}

function readId(value: string): string {
  const known = [
    ...CARD_PROBES.map((probe) => [probe, probe.claim] as const),
    ...[GATE, ...PROBES].flatMap((probe) => probe.claims.map((claim) => [probe, claim] as const)),
  ].flatMap(([probe, claim]) => [claim.requirement, idOf(probe, claim)]);
  if (known.includes(value)) return value;
  throw new UsageError(`--only knows no "${value}".${didYouMean(value, [...new Set(known)])}`);
}

function oneOf<Value extends string>(
  option: string,
  value: string | undefined,
  values: readonly Value[],
): readonly Value[] {
  if (value === undefined) return [];
  const found = values.find((each) => each === value);
  if (found !== undefined) return [found];
  const choices = values.map((each) => each.toLowerCase()).join(", ");
  throw new UsageError(`--${option} must be one of ${choices}, not "${value.toLowerCase()}".`);
}

function words(value: string | undefined): readonly string[] {
  return (value ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}
