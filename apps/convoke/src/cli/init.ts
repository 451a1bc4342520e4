import { packageVersion } from "@convoke/engine/version";
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { didYouMean, oneLine, orAborted } from "@convoke/protocol/internal";
import {
  type Command,
  type CommandContext,
  type CommandIo,
  EXIT,
  Interrupted,
  UsageError,
} from "../terminal/command.ts";
import { quoted } from "../terminal/command-line.ts";

interface Template {
  readonly summary: string;
  /** A message for the agent that shows what it does. */
  readonly message: string;
  /** What the README says about the message. */
  readonly about: string;
}

/** Each has a folder of its name in `templates/`, with the sources of the project. */
const TEMPLATES: Readonly<Record<string, Template>> = {
  plain: {
    summary: "a function that streams its answer",
    message: "Hello there",
    about: "It answers word by word.",
  },
  tools: {
    summary: "a model with tools; one of them needs approval",
    message: "refund(order=1001)",
    about:
      "The task waits for approval, and the command prints how to answer: `approve`, or `reject` " +
      "and why. The demo model calls the tool that you name.",
  },
  planner: {
    summary: "a model that plans, and sub-agents that do the work",
    message: "trains(message=Rome) and weather(message=Rome)",
    about: "Both sub-agents are asked at once. The demo model calls those that you name.",
  },
};

const NAMES = Object.keys(TEMPLATES);

const DEFAULT_TEMPLATE = "plain";

/** The versions that the templates are tested with. */
const DEV_DEPENDENCIES = { "@types/node": "24.10.1", typescript: "7.0.2" };

export const initCommand: Command = {
  name: "init",
  summary: "Create a project with an agent, a test and scripts",
  usage: "[folder] [options]",
  examples: [
    "convoke init",
    "convoke init my-agent",
    "convoke init my-agent --template tools",
    "convoke init my-agent --template planner --json",
  ],
  options: {
    template: {
      type: "string",
      value: "<name>",
      choices: NAMES,
      help: `What to start from: ${NAMES.join(", ")} (${DEFAULT_TEMPLATE})`,
    },
    json: { type: "boolean", help: "Print JSON instead of text" },
  },
  more: `Templates
${Object.entries(TEMPLATES)
  .map(([name, { summary }]) => `  ${name.padEnd(7)}  ${summary}`)
  .join("\n")}

The folder is the current one by default. Existing files are never overwritten. At a terminal,
without arguments, it asks for the folder and the template.`,
  run: init,
};

async function init(context: CommandContext): Promise<number> {
  const { io, positionals } = context;
  if (positionals.length > 1) {
    throw new UsageError(`One folder, not ${positionals.length} (${positionals.join(", ")}).`);
  }
  const { folder, template } = await choose(context);
  const path = resolve(folder);
  const files = writeProject(path, template);
  if (context.flag("json")) {
    io.stdout(`${JSON.stringify({ folder: path, template, files })}\n`);
  } else {
    const near = relative(process.cwd(), path);
    const enter = near === "" ? "" : `  cd ${quoted(near.startsWith("..") ? path : near)}\n`;
    io.stdout(`Created ${oneLine(basename(path), 100)} from the template ${template}:

${files.map((file) => `  ${file}\n`).join("")}
Next:

${enter}  npm install
  npm start
`);
  }
  return EXIT.done.code;
}

interface Choice {
  readonly folder: string;
  readonly template: string;
}

/** What the arguments say. Without any, a person at a terminal is asked. */
async function choose({ io, positionals, text, flag }: CommandContext): Promise<Choice> {
  const [folder] = positionals;
  const template = text("template");
  if (isAtTerminal(io) && folder === undefined && template === undefined && !flag("json")) {
    return {
      folder: (await ask(io, "Folder (my-agent): ")) || "my-agent",
      template: await askTemplate(io),
    };
  }
  const chosen = template ?? DEFAULT_TEMPLATE;
  if (!NAMES.includes(chosen)) {
    throw new UsageError(
      `--template must be one of ${NAMES.join(", ")}, not "${chosen}".${didYouMean(chosen, NAMES)}`,
    );
  }
  return { folder: folder ?? ".", template: chosen };
}

function isAtTerminal({ keyboard, screen }: CommandIo): boolean {
  return keyboard !== undefined && screen !== undefined;
}

async function askTemplate(io: CommandIo): Promise<string> {
  for (const [place, name] of NAMES.entries()) {
    io.stdout(`  ${place + 1}  ${name.padEnd(7)}  ${TEMPLATES[name]?.summary}\n`);
  }
  for (;;) {
    const answer = (await ask(io, `Template (${DEFAULT_TEMPLATE}): `)) || DEFAULT_TEMPLATE;
    const name = NAMES[Number(answer) - 1] ?? answer;
    if (NAMES.includes(name)) return name;
    io.stdout(`Type a number from 1 to ${NAMES.length}, or a name.\n`);
  }
}

/** Asks for a line at the terminal, which edits and echoes it. */
async function ask(io: CommandIo, prompt: string): Promise<string> {
  io.stdout(prompt);
  const line = await orAborted(io.stdin.line(), io.signal);
  if (line === undefined) throw new Interrupted();
  return line.trim();
}

/** Writes all files of a project, or none if one of them exists. Returns their names. */
function writeProject(folder: string, template: string): readonly string[] {
  // Works from `src` and from `dist`, which have the same depth.
  const sources = fileURLToPath(new URL(`../../templates/${template}`, import.meta.url));
  const texts = projectFiles(basename(folder), template);
  const copied = readdirSync(sources);
  const names = [...copied, ...Object.keys(texts)].toSorted();
  const existing = names.filter((name) => existsSync(join(folder, name)));
  if (existing.length > 0) {
    throw new UsageError(
      `${folder} already has ${existing.join(", ")}: choose another folder, or remove them first.`,
    );
  }
  try {
    mkdirSync(folder, { recursive: true });
    for (const name of copied) {
      cpSync(join(sources, name), join(folder, name), { force: false, errorOnExist: true });
    }
    for (const [name, text] of Object.entries(texts)) {
      writeFileSync(join(folder, name), text, { flag: "wx" });
    }
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    throw new UsageError(`The project cannot be written to ${folder} (${code}).`, { cause: error });
  }
  return names;
}

/** The files that are the same for every template, or depend on its name only. */
function projectFiles(folder: string, template: string): Readonly<Record<string, string>> {
  const manifest = {
    name: packageName(folder),
    version: "0.0.0",
    private: true,
    type: "module",
    scripts: {
      start: "convoke serve agent.ts",
      dev: "convoke dev agent.ts",
      test: "node --test",
      typecheck: "tsc",
    },
    dependencies: { convoke: packageVersion() },
    devDependencies: DEV_DEPENDENCIES,
    engines: { node: ">=22.19" },
  };
  const compilerOptions = {
    target: "es2024",
    module: "nodenext",
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    // Node removes the types and runs the rest as it is.
    noEmit: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
  };
  return {
    ".gitignore": "node_modules/\n# The tasks of the agent\n.convoke/\n.env\n",
    "README.md": readme(manifest.name, TEMPLATES[template]!),
    "package.json": asJson(manifest),
    "tsconfig.json": asJson({ compilerOptions, include: ["*.ts"] }),
  };
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** A name that npm accepts. */
function packageName(folder: string): string {
  const name = folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "")
    .replace(/-+$/, "");
  return name === "" || name === "convoke" || name === "node_modules" ? "my-agent" : name;
}

function readme(name: string, { message, about }: Template): string {
  return `# ${name}

An [A2A](https://a2a-protocol.org) agent, made with Convoke. It needs Node 22.19 or newer, and no API key.

\`\`\`sh
npm install
npm start          # serves agent.ts on http://127.0.0.1:3000
npm run dev        # the same, and reloads whenever a source changes
npm test           # runs *.test.ts
npm run typecheck
\`\`\`

With the server running, in another terminal:

\`\`\`sh
npx convoke chat http://127.0.0.1:3000
npx convoke stream http://127.0.0.1:3000 "${message}"
\`\`\`

${about} Tasks are kept in \`.convoke/\` and survive restarts.
`;
}
