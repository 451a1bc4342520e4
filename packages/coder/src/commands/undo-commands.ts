import { A2AError } from "@convoke/protocol";
import type { Checkpoint } from "../checkpoints/checkpoint.ts";
import type { RestoreReport } from "../checkpoints/restorer.ts";
import { isOfTask } from "../sessions/session.ts";
import { unifiedDiff } from "../tools/change-preview.ts";
import { type CoderCommand, type CommandScope, answer } from "./command.ts";

const PARTS = ["files", "conversation", "both"] as const;

type Part = (typeof PARTS)[number];

const PART = {
  name: "what",
  description: `What to undo: ${PARTS.join(", ")} (both)`,
} as const;

/** `undo`, `restore` and `diff`. */
export const UNDO_COMMANDS: readonly CoderCommand[] = [
  {
    name: "undo",
    description: "Undo the last turn that changed files: the files, the conversation, or both",
    arguments: [PART],
    isTask: true,
    run: async ([what], scope) => {
      const all = await checkpoints(scope);
      const last = all.findLast(({ label }) => !label.startsWith("restore of "));
      if (last === undefined) return answer("There is nothing to undo in this conversation.");
      const first = all.find(({ taskId }) => taskId === last.taskId) ?? last;
      return restore(first, readPart(what), scope);
    },
  },
  {
    name: "restore",
    description: "Return to a checkpoint",
    arguments: [{ name: "checkpoint", description: "Its id, from restore list" }, PART],
    isTask: true,
    subCommands: [
      {
        name: "list",
        description: "List the checkpoints of this conversation",
        run: async (_args, scope) => listed(await checkpoints(scope)),
      },
    ],
    run: async ([id, what], scope) => {
      const all = await checkpoints(scope);
      if (id === undefined) return listed(all);
      const found = all.find((one) => one.id === id);
      if (found !== undefined) return restore(found, readPart(what), scope);
      throw new A2AError("InvalidParams", `checkpoint: there is no ${JSON.stringify(id)}`);
    },
  },
  {
    name: "diff",
    description: "Show what this conversation has changed",
    run: async (_args, scope) => {
      const [first] = await checkpoints(scope);
      const changes = first ? await scope.project.checkpoints.changesSince(first.id) : [];
      if (changes.length === 0) return answer("This conversation has changed no files.", []);
      const text = changes.map((change) => unifiedDiff(change)).join("\n");
      return answer(`\`\`\`diff\n${text}\n\`\`\``, changes);
    },
  },
];

/** Those of the caller's conversation; without one, there are none. */
async function checkpoints({ project, session }: CommandScope): Promise<readonly Checkpoint[]> {
  if (session === undefined) return [];
  return project.checkpoints.list(session);
}

function listed(all: readonly Checkpoint[]): ReturnType<typeof answer> {
  const lines = all.map(({ id, createdAt, label }) => `- \`${id}\` ${createdAt} ${label}`);
  const text = lines.length === 0 ? "There are no checkpoints." : lines.join("\n");
  return answer(text, all);
}

function readPart(given: string | undefined): Part {
  const part = PARTS.find((one) => one === (given ?? "both"));
  if (part !== undefined) return part;
  throw new A2AError("InvalidParams", `what: it must be one of ${PARTS.join(", ")}`);
}

async function restore(
  checkpoint: Checkpoint,
  part: Part,
  scope: CommandScope,
): Promise<ReturnType<typeof answer>> {
  const report = part === "conversation" ? undefined : await restoreFiles(checkpoint, scope);
  const messages = part === "files" ? [] : await rewind(checkpoint, scope);
  scope.record({
    kind: "internal:coder/restored",
    checkpoint: checkpoint.id,
    messages,
    ...(report && { files: report }),
  });
  const told = [
    ...(report === undefined ? [] : [describe(report)]),
    ...(part === "files" ? [] : [`${messages.length} messages are no longer in the context.`]),
  ];
  return answer(told.join(" "), { checkpoint: checkpoint.id, messages, ...report });
}

async function restoreFiles({ id }: Checkpoint, { project }: CommandScope): Promise<RestoreReport> {
  project.checkChange("restore", project.workspace.root);
  return project.checkpoints.restore(id);
}

function describe({ written, deleted, left }: RestoreReport): string {
  if (written.length + deleted.length + left.length === 0)
    return "The files were already as before.";
  const told = [
    ...(written.length > 0 ? [`Restored ${written.join(", ")}.`] : []),
    ...(deleted.length > 0 ? [`Deleted ${deleted.join(", ")}.`] : []),
    ...(left.length > 0 ? [`Left alone: ${left.join(", ")}.`] : []),
  ];
  return told.join(" ");
}

/**
 * Hides the messages from the turn of the checkpoint on. The log of their tasks stays; only the
 * model does not get them any more.
 */
async function rewind(
  { taskId }: Checkpoint,
  { session, sessions, conversation }: CommandScope,
): Promise<readonly string[]> {
  const from = conversation.findIndex(
    (message) => taskId !== undefined && isOfTask(message, taskId),
  );
  if (session === undefined || from === -1) return [];
  const messages = conversation.slice(from).map(({ messageId }) => messageId);
  await sessions.change(session, ({ hidden }) => ({ hidden: [...hidden, ...messages] }));
  return messages;
}
