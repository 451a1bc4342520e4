import { A2AError, invalidParams } from "@convoke/protocol";
import { requestRights } from "../policy/request-rights.ts";
import { MODES, stricterMode } from "../policy/verdict.ts";
import { type Session, visibleConversation } from "../sessions/session.ts";
import { type CoderCommand, type CommandScope, answer } from "./command.ts";

/** `status`, `mode`, `plan`, `model`, `usage`, `compact` and `sessions`. */
export const SESSION_COMMANDS: readonly CoderCommand[] = [
  {
    name: "status",
    description: "Show the mode, the model and the usage of this conversation",
    run: async (_args, scope) => {
      const status = await statusOf(scope);
      const { title, workspacePath, mode, model, usage, contextTokens, contextSize } = status;
      const size = contextSize === undefined ? "" : ` of ${contextSize}`;
      const lines = [
        ...(title === undefined ? [] : [`- ${title}`]),
        `- Folder: ${workspacePath}`,
        `- Mode: ${mode}`,
        `- Model: ${model}`,
        ...(contextTokens === undefined ? [] : [`- Context: ${contextTokens}${size} tokens`]),
        ...(usage === undefined ? [] : [`- Usage: ${usageText(usage)}`]),
      ];
      return answer(lines.join("\n"), status);
    },
  },
  {
    name: "mode",
    description: "Show or change how much the agent may do without asking",
    arguments: [{ name: "mode", description: MODES.join(", ") }],
    isTask: true,
    run: async ([mode], scope) => {
      const session = sessionOf(scope);
      if (mode === undefined) return answer(`The mode is ${scope.project.modeOf(session)}.`);
      return answer(`The mode is ${await switchMode(mode, scope)}.`);
    },
  },
  {
    name: "plan",
    description: "Switch to the mode that only reads, and make a plan",
    arguments: [{ name: "request", description: "What to plan" }],
    isTask: true,
    run: async (words, scope) => {
      await switchMode("plan", scope);
      if (words.length === 0) return answer("The mode is plan. Describe what you want to do.");
      return { kind: "prompt", text: words.join(" ") };
    },
  },
  {
    name: "model",
    description: "Show or change the model of this conversation",
    arguments: [{ name: "model", description: "Its name" }],
    isTask: true,
    run: async ([model], scope) => {
      const { models, sessions } = scope;
      const session = sessionOf(scope);
      if (model === undefined) {
        return answer(`The model is ${session.model ?? models[0]}. Models: ${models.join(", ")}.`);
      }
      if (!models.includes(model)) {
        throw invalidParams("model", `must be one of ${models.join(", ")}`);
      }
      await sessions.change(session, () => ({ model }));
      return answer(`The model is ${model}, from the next message on.`);
    },
  },
  {
    name: "usage",
    description: "Show what this conversation has used",
    run: (_args, scope) => {
      const usage = shownUsage(sessionOf(scope));
      return answer(usageText(usage), usage);
    },
  },
  {
    name: "compact",
    description: "Replace the conversation so far by a summary",
    isTask: true,
    run: async (_args, scope) => {
      const session = sessionOf(scope);
      const messages = visibleConversation(session, scope.conversation);
      if (messages.length === 0) return answer("There is nothing to summarize.");
      const { summary } = await scope.summarize(messages);
      return answer(`The model continues with this summary:\n\n${summary}`, { summary });
    },
  },
  {
    name: "sessions",
    description: "List your conversations with this agent",
    run: listSessions,
    subCommands: [
      { name: "list", description: "List your conversations", run: listSessions },
      {
        name: "rename",
        description: "Name this conversation",
        arguments: [{ name: "title", description: "The new name", isRequired: true }],
        isTask: true,
        run: async (words, scope) => {
          const title = words.join(" ").slice(0, 80);
          if (title === "") throw invalidParams("title", "must not be empty");
          await scope.sessions.change(sessionOf(scope), () => ({ title }));
          return answer(`This conversation is now called “${title}”.`);
        },
      },
      {
        name: "delete",
        description: "Forget a conversation: its settings, and what the model knows of it",
        arguments: [{ name: "contextId", description: "From sessions list", isRequired: true }],
        isTask: true,
        run: async ([contextId = ""], { sessions, caller }) => {
          await sessions.delete({ contextId, owner: caller.owner });
          return answer(`The session ${contextId} is deleted.`);
        },
      },
      {
        name: "fork",
        description: "Start another conversation that knows this one",
        isTask: true,
        run: async (_args, scope) => {
          const session = sessionOf(scope);
          const contextId = scope.newId();
          const inherited = visibleConversation(session, scope.conversation);
          const { owner, root, mode, model, title } = session;
          await scope.sessions.create({
            contextId,
            owner,
            root,
            title: `${title} (fork)`,
            inherited,
            ...(mode && { mode }),
            ...(model !== undefined && { model }),
          });
          return answer(`Continue in the context ${contextId}.`, { contextId });
        },
      },
    ],
  },
];

/** What is in effect, also before the first message of a conversation. */
async function statusOf({ session, project, models, contextSize: askSize }: CommandScope) {
  const { maxMode } = project.rights;
  const contextSize = session && (await askSize());
  return {
    ...(session && { title: session.title }),
    workspacePath: project.workspace.root,
    mode: project.modeOf(session ?? { owner: "", contextId: "" }),
    modes: MODES.filter((mode) => stricterMode(mode, maxMode) === mode),
    model: models.find((name) => name === session?.model) ?? models[0]!,
    models,
    ...(session && { usage: shownUsage(session) }),
    ...(session?.usage.contextTokens !== undefined && {
      contextTokens: session.usage.contextTokens,
    }),
    ...(contextSize !== undefined && { contextSize }),
  };
}

function shownUsage({ usage }: Session) {
  const { turns, inputTokens, outputTokens, cost } = usage;
  return { turns, inputTokens, outputTokens, ...(cost !== undefined && { cost }) };
}

function usageText({
  turns,
  inputTokens,
  outputTokens,
  cost,
}: ReturnType<typeof shownUsage>): string {
  const price = cost === undefined ? "" : `, cost ${cost.toFixed(4)}`;
  return `${turns} turns, ${inputTokens} input and ${outputTokens} output tokens${price}.`;
}

function sessionOf({ session }: CommandScope): Session {
  if (session !== undefined) return session;
  throw new A2AError("InvalidParams", "contextId: name the conversation that the command is about");
}

async function switchMode(mode: string, scope: CommandScope): Promise<string> {
  const session = sessionOf(scope);
  const { project, sessions } = scope;
  const limits = {
    policy: project.rights,
    mode: project.modeOf(session),
    workspacePath: session.root,
    allowedRoots: [],
  };
  const granted = requestRights({ mode }, limits);
  const [why] = granted.refused;
  if (why !== undefined) throw new A2AError("InvalidParams", why);
  await sessions.change(session, () => ({ mode: granted.mode }));
  return granted.mode;
}

async function listSessions(_args: readonly string[], scope: CommandScope) {
  const all = await scope.sessions.list(scope.caller.owner);
  const data = all.map((session) => {
    const { contextId, title, root, createdAt, updatedAt } = session;
    const usage = shownUsage(session);
    return { contextId, title, workspacePath: root, createdAt, updatedAt, usage };
  });
  const lines = data.map((one) => `- \`${one.contextId}\` ${one.title} (${one.updatedAt})`);
  return answer(lines.length === 0 ? "There are no conversations." : lines.join("\n"), data);
}
