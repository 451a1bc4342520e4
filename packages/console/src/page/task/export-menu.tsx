import { useState } from "preact/hooks";
import { download } from "../kit/download.ts";
import { Icon } from "../kit/icon.tsx";
import { Problem } from "../kit/notices.tsx";
import { FILE_ID } from "../server/log-file.ts";
import { encodeTask } from "../server/task-log.ts";
import type { LensProps } from "./lens.ts";
import { tellStory } from "./story.ts";
import { toMarkdown } from "./transcript.ts";

/** Saves the task at the playhead, its whole log, or its story. */
export function ExportMenu({ log, task, entries }: LensProps) {
  const [problem, setProblem] = useState<Error>();
  const name = `task-${task.id.slice(0, 8)}`;
  const save = (make: () => Promise<Blob>, extension: string): void => {
    setProblem(undefined);
    make().then((content) => download(`${name}.${extension}`, content), setProblem);
  };
  const choices = [
    {
      text: "Task as JSON",
      save: () => save(async () => jsonBlob(encodeTask(task)), "json"),
    },
    ...(log.taskId === FILE_ID
      ? []
      : [{ text: "Log as JSON Lines", save: () => save(() => logBlob(log), "jsonl") }]),
    {
      text: "Story as Markdown",
      save: () =>
        save(async () => new Blob([toMarkdown(task, tellStory(entries))], MARKDOWN), "md"),
    },
  ];
  return (
    <>
      <button type="button" class="button" popovertarget="export-menu">
        <Icon name="download" size={15} /> Export
      </button>
      <div id="export-menu" class="menu" popover="auto">
        {choices.map((choice) => (
          <button
            key={choice.text}
            type="button"
            class="menu-item"
            popovertarget="export-menu"
            popovertargetaction="hide"
            onClick={choice.save}
          >
            {choice.text}
          </button>
        ))}
      </div>
      {problem && <Problem problem={problem} />}
    </>
  );
}

const MARKDOWN = { type: "text/markdown" };

function jsonBlob(value: unknown): Blob {
  return new Blob([JSON.stringify(value, undefined, 2)], { type: "application/json" });
}

/** The format of `convoke export`: a line with the task, then a line for each event. */
async function logBlob(log: LensProps["log"]): Promise<Blob> {
  const { taskId } = log;
  const now = log.events.taskAt(log.events.head);
  const pieces = [`${JSON.stringify({ task: now && encodeTask(now) })}\n`];
  for await (const lines of log.lines()) {
    pieces.push(lines.map((line) => `${JSON.stringify({ taskId, ...line })}\n`).join(""));
  }
  return new Blob(pieces, { type: "application/jsonl" });
}
