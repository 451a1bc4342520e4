import { invalidParams } from "@convoke/protocol";
import { CONTEXT_FILES, contextFiles } from "../project/context-files.ts";
import { readContent, writeContent } from "../workspace/files.ts";
import { WorkspaceError } from "../workspace/workspace-error.ts";
import { type CoderCommand, type CommandScope, answer } from "./command.ts";

const [MEMORY] = CONTEXT_FILES;

const INIT = `Explore this project and write ${MEMORY} in its root, for coding agents that work here: what the project is, its layout, how to install, build, test and lint it, and the conventions that its code follows. At most 60 lines, only what you have verified. If the file exists, read it and improve it.`;

/** `init`, `memory`, `approvals`, `mcp` and `help`. */
export const PROJECT_COMMANDS: readonly CoderCommand[] = [
  {
    name: "init",
    description: `Explore the project and write ${MEMORY}`,
    isTask: true,
    run: () => ({ kind: "prompt", text: INIT }),
  },
  {
    name: "memory",
    description: "Show what the project tells the agent",
    run: showMemory,
    subCommands: [
      { name: "show", description: "Show the context files", run: showMemory },
      {
        name: "list",
        description: "List the context files",
        run: async (_args, { project }) => {
          const paths = (await contextFiles(project.workspace)).map(({ path }) => path);
          return answer(paths.length === 0 ? "There are none." : paths.join("\n"), paths);
        },
      },
      {
        name: "add",
        description: `Add a line to ${MEMORY}`,
        arguments: [{ name: "text", description: "What to remember", isRequired: true }],
        isTask: true,
        run: async (words, scope) => {
          if (words.length === 0) throw invalidParams("text", "must not be empty");
          await remember(words.join(" "), scope);
          return answer(`Added to ${MEMORY}.`);
        },
      },
    ],
  },
  {
    name: "approvals",
    description: "List the tools that you always approve in this project",
    run: async (_args, { project, caller }) => {
      const tools = await project.grants.list(caller.owner);
      return answer(tools.length === 0 ? "There are none." : tools.join("\n"), tools);
    },
    subCommands: [
      {
        name: "forget",
        description: "Ask again before each of these tools",
        isTask: true,
        run: async (_args, { project, caller }) => {
          await project.grants.clear(caller.owner);
          return answer("You are asked again for every tool, from the next conversation on.");
        },
      },
    ],
  },
  {
    name: "mcp",
    description: "Show the MCP servers and their state",
    run: (_args, { mcpServers }) => {
      const servers = mcpServers();
      const lines = servers.map(({ name, status }) => `- ${name}: ${status}`);
      return answer(lines.length === 0 ? "There are no MCP servers." : lines.join("\n"), servers);
    },
  },
  {
    name: "help",
    description: "List the commands",
    run: (_args, { commands }) => {
      const lines = commands.flatMap((one) => describe(one, "/"));
      return answer(lines.join("\n"));
    },
  },
];

async function showMemory(_args: readonly string[], { project }: CommandScope) {
  const files = await contextFiles(project.workspace);
  const trust = project.isTrusted
    ? ""
    : "\n\nThe operator does not trust this workspace, so the model gets them as a quotation.";
  const text = files.map(({ path, text: content }) => `# ${path}\n\n${content}`).join("\n\n");
  return answer(files.length === 0 ? "There are no context files." : text + trust, files);
}

/** Appends a line, once. */
async function remember(line: string, { project, session }: CommandScope): Promise<void> {
  const { workspace, checkpoints } = project;
  const place = await workspace.resolve(MEMORY);
  project.checkChange("memory", place.path);
  const before = await readContent(place, 1024 * 1024).then(
    ({ bytes }) => bytes.toString("utf8"),
    (error: unknown) => {
      if (error instanceof WorkspaceError) return "";
      throw error;
    },
  );
  const added = `- ${line}\n`;
  // A command that a crash interrupted is run again.
  if (before.endsWith(added)) return;
  const facts = { label: `memory ${MEMORY}`, ...(session && { session }) };
  await checkpoints.beforeChange([place.path], facts);
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  await writeContent(place, Buffer.from(before + gap + added));
}

function describe(command: CoderCommand, prefix: string): readonly string[] {
  const { name, description, subCommands = [] } = command;
  const args = (command.arguments ?? []).map((one) =>
    one.isRequired === true ? ` <${one.name}>` : ` [${one.name}]`,
  );
  const own = `- \`${prefix}${name}${args.join("")}\`: ${description}`;
  return [own, ...subCommands.flatMap((one) => describe(one, `${prefix}${name} `))];
}
