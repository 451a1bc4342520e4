import {
  type Agent,
  type AgentEvent,
  type Dialect,
  EXTENSIONS,
  type Message,
  type Task,
  toolActivity,
} from "@convoke/protocol";
import type { Seq } from "../log/backend.ts";
import type { Call } from "./call.ts";
import { withoutData } from "./media-types.ts";

/** Converts an event of a log to what a caller receives. `seq` is its position in the log. */
export type View = (event: AgentEvent, seq: Seq) => AgentEvent;

const { runReport, toolActivity: activity } = EXTENSIONS;

/**
 * The view of a caller: what its active extensions add to tasks and streams, in the media types
 * that it accepts. Undefined if the caller receives everything as it is stored.
 */
export function callerView(
  { agent, caller, extensions }: Pick<Call, "agent" | "caller" | "extensions">,
  acceptedOutputModes?: readonly string[],
  dialect?: Dialect,
): View | undefined {
  const views: View[] = [];
  // A dialect shows the tool calls in its own form.
  if (extensions?.has(activity.uri) === true && dialect === undefined) views.push(withActivity);
  if (extensions?.has(runReport.uri) === true)
    views.push((event) => withReport(agent.definition, event, caller.owner));
  // A caller that activates a dialect reads its data parts, whatever else it accepts.
  const convert = dialect === undefined ? withoutData(acceptedOutputModes) : undefined;
  if (convert !== undefined) views.push(convert);
  if (views.length === 0) return undefined;
  return (event, seq) => views.reduce((viewed, view) => view(viewed, seq), event);
}

/** A result as the caller receives it. A promise only if it has large files. */
export function viewResult<Result extends Task | Message>(
  result: Result,
  view: View | undefined,
  { engine, files }: Pick<Call, "engine" | "files">,
): Result | Promise<Result> {
  const viewed = view === undefined ? result : (view(result, 0) as Result);
  return engine.files.show(viewed, files);
}

function withActivity(event: AgentEvent, seq: Seq): AgentEvent {
  const taskId = (event as { readonly taskId?: string }).taskId ?? "";
  return toolActivity(event, `${taskId}-tools-${seq}`) ?? event;
}

function withReport(agent: Agent, event: AgentEvent, owner: string): AgentEvent {
  if (event.kind !== "task") return event;
  const task = event as Task;
  const report = agent.report?.(task, owner);
  return report === undefined ? event : { ...task, metadata: { ...task.metadata, agent: report } };
}
