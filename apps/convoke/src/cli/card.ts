import { type DiscoveredCard, discover } from "@convoke/client";
import { createEgress, createEgressFetch } from "@convoke/egress";
import {
  AGENT_ENVIRONMENT,
  AGENT_OPTIONS,
  readUrl,
  rejectMoreArguments,
} from "../connect/agent-options.ts";
import { coloursFor } from "../terminal/output.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { connectOptions, withAgent } from "../connect/connect-options.ts";
import { describeCard } from "../connect/describe-card.ts";
import { listField, textField } from "../terminal/json-fields.ts";
import { oneLine, printableJson } from "@convoke/protocol/internal";

export const cardCommand: Command = {
  name: "card",
  summary: "Show the card of an agent",
  usage: "<url> [options]",
  examples: [
    "convoke card http://127.0.0.1:3000",
    "convoke card http://127.0.0.1:3000 --json | jq .skills",
    "convoke card http://127.0.0.1:3000 --a2a-version 0.3 --json",
    "convoke card https://agent.example --verify --trust-key jwks.json",
    "convoke card https://agent.example --extended --token secret",
  ],
  options: {
    verify: {
      type: "boolean",
      help: "Verify the signature of the card; exit code 1 if there is no valid one",
    },
    extended: { type: "boolean", help: "Show the extended card for authenticated callers" },
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: card,
};

async function card(context: CommandContext): Promise<number> {
  const { io, flag } = context;
  readUrl(context);
  rejectMoreArguments(context);
  if (flag("verify") && flag("extended")) {
    throw new UsageError(
      "--verify cannot be combined with --extended: only the public card is signed.",
    );
  }
  const discovered = await read(context);
  if (flag("verify")) {
    const facts = signatureFacts(discovered);
    io.stdout(flag("json") ? `${printableJson(facts)}\n` : describeSignature(facts));
    return EXIT.done.code;
  }
  if (flag("json")) {
    io.stdout(`${printableJson(discovered.card, 2)}\n`);
    return EXIT.done.code;
  }
  io.stdout(describeCard(discovered.card, coloursFor(io, "stdout")));
  io.stdout(await describeOthers(context));
  return EXIT.done.code;
}

const OTHERS_TIMEOUT_MS = 2000;

/** The agents that a server of Convoke lists, if there are several; empty for any other server, and at the path of an agent. */
async function describeOthers(context: CommandContext): Promise<string> {
  const { io } = context;
  const url = new URL(readUrl(context));
  if (url.pathname !== "/") return "";
  const egress = createEgress({ trusted: [url.href] });
  try {
    const fetch = createEgressFetch(egress);
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(OTHERS_TIMEOUT_MS)]);
    const response = await fetch(new URL("/.well-known/agents.json", url), { signal });
    const agents = listField((await response.json()) as unknown, "agents");
    if (agents.length < 2) return "";
    const { bold } = coloursFor(io, "stdout");
    const lines = agents.map((agent) => `  ${oneLine(textField(agent, "url"))}`);
    return `\n${[bold("Agents that this server lists"), ...lines].join("\n")}\n`;
  } catch {
    // Few servers have such a list.
    return "";
  } finally {
    egress.close();
  }
}

/** Reads only the card if that is enough: then it also works for agents that this client cannot call. */
async function read(context: CommandContext): Promise<DiscoveredCard> {
  const url = readUrl(context);
  const options = await connectOptions(context);
  if (!context.flag("extended")) return discover(url, options);
  const extended = await withAgent(
    context,
    (agent) => agent.extendedCard({ signal: context.io.signal }),
    options,
  );
  return { card: extended, cardUrl: url };
}

/** A valid signature, as printed with --json. */
interface SignatureFacts {
  readonly verified: true;
  readonly cardUrl: string;
  readonly keyId: string;
  /** Several if the key has signed the card more than once. */
  readonly algorithms: readonly string[];
  readonly form: string;
}

/** The verified signature. Cards without a valid one were rejected before. */
function signatureFacts({ card, cardUrl, signature }: DiscoveredCard): SignatureFacts {
  if (signature?.kind !== "valid") throw new Error("the card has no valid signature");
  const { kid: keyId, form } = signature;
  const headers = listField(card, "signatures").map(protectedHeader);
  const own = headers.filter((header) => textField(header, "kid") === keyId);
  const algorithms = [...new Set(own.map((header) => textField(header, "alg")))];
  return { verified: true, cardUrl, keyId, algorithms, form };
}

const FORMS: Readonly<Record<string, string>> = {
  spec: "spec (all fields of the card, in the 1.0 format)",
  sdk: "sdk (all fields of the card except empty ones)",
};

function describeSignature({ cardUrl, keyId, algorithms, form }: SignatureFacts): string {
  return `The card at ${oneLine(cardUrl)} has a valid signature.

  Key        ${oneLine(keyId)}
  Algorithm  ${oneLine(algorithms.join(", "))}
  Form       ${FORMS[form] ?? oneLine(form)}
`;
}

function protectedHeader(signature: unknown): unknown {
  const text = Buffer.from(textField(signature, "protected"), "base64url").toString();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
