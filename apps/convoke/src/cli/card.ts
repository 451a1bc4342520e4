import { type DiscoveredCard, discover, interfacesOf } from "@convoke/client";
import { AGENT_ENVIRONMENT, AGENT_OPTIONS, refuseText, urlOf } from "../connect/agent-options.ts";
import { type Colours, coloursFor } from "../terminal/output.ts";
import { type Command, type CommandContext, EXIT, UsageError } from "../terminal/command.ts";
import { connectOptions, withAgent } from "../connect/connect-options.ts";
import type { RawCard } from "@convoke/protocol";
import { listField, objectField, textField } from "../terminal/json-fields.ts";
import { oneLine, printable } from "@convoke/protocol/internal";

export const cardCommand: Command = {
  name: "card",
  summary: "Show what an agent says about itself",
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
      help: "Verify the signature and say what it proves; exit code 1 when there is none that holds",
    },
    extended: { type: "boolean", help: "The card for callers whom the agent knows" },
    ...AGENT_OPTIONS,
  },
  environment: AGENT_ENVIRONMENT,
  run: card,
};

async function card(context: CommandContext): Promise<number> {
  const { io, flag } = context;
  urlOf(context);
  refuseText(context);
  if (flag("verify") && flag("extended")) {
    throw new UsageError("--verify is about the public card; give it without --extended.");
  }
  const discovered = await read(context);
  if (flag("verify")) {
    const facts = signatureFacts(discovered);
    io.stdout(flag("json") ? `${JSON.stringify(facts)}\n` : describeSignature(facts));
    return EXIT.done.code;
  }
  const text = flag("json")
    ? `${JSON.stringify(discovered.card, undefined, 2)}\n`
    : describeCard(discovered.card, coloursFor(io, "stdout"));
  io.stdout(text);
  return EXIT.done.code;
}

/** Only reads the card where that is enough: it can be seen also where this client could not speak to the agent. */
async function read(context: CommandContext): Promise<DiscoveredCard> {
  const url = urlOf(context);
  const options = await connectOptions(context);
  if (!context.flag("extended")) return discover(url, options);
  const extended = await withAgent(
    context,
    (agent) => agent.extendedCard({ signal: context.io.signal }),
    options,
  );
  return { card: extended, cardUrl: url };
}

/** A card as a person wants to read it: who it is, where it is, what it can do. */
function describeCard(card: RawCard, { bold, dim }: Colours): string {
  const title = `${bold(oneLine(textField(card, "name")))} ${dim(oneLine(textField(card, "version")))}`;
  const sections = [
    section("Interfaces", interfaceLines(card)),
    section("Capabilities", capabilityLines(card)),
    section("Authentication", schemeLines(card)),
    section("Skills", listField(card, "skills").flatMap(skillLines)),
  ];
  const head = [title.trim(), printable(textField(card, "description"))].filter(
    (line) => line !== "",
  );
  return `${[head.join("\n"), ...sections.filter((text) => text !== "")].join("\n\n")}\n`;

  function section(name: string, lines: readonly string[]): string {
    return lines.length === 0 ? "" : [bold(name), ...lines.map((line) => `  ${line}`)].join("\n");
  }

  function skillLines(skill: unknown): readonly string[] {
    const name = textField(skill, "name") || textField(skill, "id");
    const examples = listField(skill, "examples").filter((example) => typeof example === "string");
    return [
      `${oneLine(name)}: ${oneLine(textField(skill, "description"))}`,
      ...examples.map((example) => dim(`  "${oneLine(example)}"`)),
    ];
  }
}

function interfaceLines(card: RawCard): readonly string[] {
  const rows = interfacesOf(card).map(({ binding, version, url }) => ({
    how: oneLine(`${binding} ${version}`),
    url: oneLine(url),
  }));
  const width = Math.max(0, ...rows.map(({ how }) => how.length));
  return rows.map(({ how, url }) => `${how.padEnd(width)}  ${url}`);
}

/** `pushNotifications: true` reads "push notifications"; what is false is not worth a line. */
function capabilityLines(card: RawCard): readonly string[] {
  const capabilities = objectField(card, "capabilities");
  const named = Object.entries(capabilities)
    .filter(([, value]) => value === true)
    .map(([name]) => oneLine(name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)));
  const extensions = listField(capabilities, "extensions").map(
    (extension) => `extension ${oneLine(textField(extension, "uri"))}`,
  );
  return [...named, ...extensions];
}

/** 0.3 says `type: "http"`, 1.0 has a member `httpAuthSecurityScheme`; both name the scheme. */
function schemeLines(card: RawCard): readonly string[] {
  const schemes = objectField(card, "securitySchemes");
  return Object.keys(schemes).map((name) => {
    const scheme = objectField(schemes, name);
    const member = Object.keys(scheme).find((key) => key.endsWith("SecurityScheme"));
    const type = textField(scheme, "type") || (member?.replace(/SecurityScheme$/, "") ?? "");
    const detail = textField(member === undefined ? scheme : objectField(scheme, member), "scheme");
    return oneLine(`${name} (${[type, detail].filter((word) => word !== "").join(", ")})`);
  });
}

/** What a signature that holds says, for programs. */
interface SignatureFacts {
  readonly verified: true;
  readonly cardUrl: string;
  readonly keyId: string;
  /** Several when the key has signed the card several times. */
  readonly algorithms: readonly string[];
  readonly form: string;
}

const FORMS: Readonly<Record<string, string>> = {
  spec: "spec (everything that the card says in the words of 1.0)",
  sdk: "sdk (what the card says, without what is empty)",
};

/** What was verified; for cards whose signature holds, all others are errors before. */
function signatureFacts({ card, cardUrl, signature }: DiscoveredCard): SignatureFacts {
  if (signature?.kind !== "valid") throw new Error("a card that does not hold was let through");
  const { kid: keyId, form } = signature;
  const headers = listField(card, "signatures").map(protectedHeader);
  const own = headers.filter((header) => textField(header, "kid") === keyId);
  const algorithms = [...new Set(own.map((header) => textField(header, "alg")))];
  return { verified: true, cardUrl, keyId, algorithms, form };
}

function describeSignature({ cardUrl, keyId, algorithms, form }: SignatureFacts): string {
  return `The card at ${oneLine(cardUrl)} is signed, and the signature holds.

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
