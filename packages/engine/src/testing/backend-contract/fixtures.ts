import { expect } from "vitest";
import type { Backend, CommitStep, NewPush, NewTask } from "../../log/backend.ts";

/** Opens an empty backend. */
export type OpenBackend = () => Promise<Backend>;

/** A test body with a backend of its own, which is closed when the test ends, also if it fails. */
export function using(open: OpenBackend, body: (backend: Backend) => Promise<void>) {
  return async (): Promise<void> => {
    const backend = await open();
    try {
      await body(backend);
    } finally {
      await backend.close();
    }
  };
}

/** A step on an existing task: no events, `working`, epoch 1. */
export function aStep(taskId: string, overrides: Partial<CommitStep> = {}): CommitStep {
  return {
    taskId,
    epoch: 1,
    events: [],
    state: "working",
    statusAt: 1_000,
    listed: true,
    ...overrides,
  };
}

/** The first step of a task: one event, `submitted`, epoch 1, owned by ann. */
export function aCreation(
  taskId: string,
  overrides: Partial<CommitStep> = {},
  task: Partial<NewTask> = {},
): CommitStep {
  return aStep(taskId, {
    create: { owner: "ann", contextId: "context", agent: "greeter", createdAt: 1_000, ...task },
    events: [anEvent(`${taskId} begins`)],
    state: "submitted",
    ...overrides,
  });
}

/** A push config from the beginning of the log. */
export function aPush(id: string, overrides: Partial<NewPush> = {}): NewPush {
  return { id, config: `{"url":"https://hooks.example/${id}"}`, cursor: 0, ...overrides };
}

/** An event as a backend sees it: JSON on one line. */
export function anEvent(text: string): string {
  return JSON.stringify({ kind: "internal:test", text });
}

/** `count` distinct events. */
export function someEvents(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => anEvent(`${name} ${index}`));
}

/** The whole log. Asserts that the sequence numbers run from 1 without gaps. */
export async function wholeLog(backend: Backend, taskId: string): Promise<readonly string[]> {
  const stored = await backend.read(taskId, 0, 1_000_000);
  expect(stored.map(({ seq }) => seq)).toEqual(stored.map((_, index) => index + 1));
  return stored.map(({ json }) => json);
}
