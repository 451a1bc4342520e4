import { invalidParams } from "../../model/errors.ts";

/** The fields of one proto message, by every name that a ProtoJSON parser must accept. */
export interface ProtoShape {
  /** Maps `messageId` and `message_id` to `messageId`. */
  readonly names: ReadonlyMap<string, string>;
  readonly integers: ReadonlySet<string>;
}

interface ShapeOptions {
  /** Other names of a field, mapped to its JSON name. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Integer fields, which ProtoJSON also accepts as strings. */
  readonly integers?: readonly string[];
}

/** Creates the shape of a message with these JSON names. */
export function protoShape(names: readonly string[], options: ShapeOptions = {}): ProtoShape {
  const { aliases = {}, integers = [] } = options;
  return {
    names: new Map([
      ...Object.entries(aliases),
      ...names.flatMap((name) => [[snakeCase(name), name] as const, [name, name] as const]),
    ]),
    integers: new Set(integers),
  };
}

/**
 * Renames the fields of a message to their JSON names. A null field counts as absent, and if a
 * field is present under two names, the JSON name wins. Values that are not objects and unknown
 * fields are left for the schema to check.
 */
export function readProtoFields(value: unknown, shape: ProtoShape): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).flatMap(([key, inner]) => {
    const name = shape.names.get(key);
    if (name === undefined) return [[key, inner] as const];
    if (inner === null || (name !== key && hasValue(value, name))) return [];
    return [[name, shape.integers.has(name) ? parseInteger(inner) : inner] as const];
  });
  return Object.fromEntries(entries);
}

function hasValue(value: object, name: string): boolean {
  const inner = (value as Readonly<Record<string, unknown>>)[name];
  return Object.hasOwn(value, name) && inner !== null;
}

function parseInteger(value: unknown): unknown {
  return typeof value === "string" && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function taskName(taskId: string): string {
  return `tasks/${taskId}`;
}

export function configName(taskId: string, id: string): string {
  return `tasks/${taskId}/pushNotificationConfigs/${id}`;
}

// Resource names, which the proto of 0.3 uses in place of ids

const TASK_NAME = /^tasks\/([^/]+)$/;

/** The id in `tasks/{id}`. */
export function parseTaskName(name: string, field: string): string {
  const [, taskId] = TASK_NAME.exec(name) ?? [];
  if (taskId === undefined) throw invalidParams(field, "must be tasks/{id}");
  return taskId;
}

const MAX_CONFIG_ID = 256;

/** The caller chooses the id of a config, so it may contain anything; task ids are ours. */
const CONFIG_NAME = /^tasks\/([^/]+)\/pushNotificationConfigs\/(.+)$/s;

/** Both ids in `tasks/{id}/pushNotificationConfigs/{configId}`. */
export function parseConfigName(
  name: string,
  field: string,
): { readonly taskId: string; readonly id: string } {
  const [, taskId, id] = CONFIG_NAME.exec(name) ?? [];
  if (taskId === undefined || id === undefined) {
    throw invalidParams(field, "must be tasks/{id}/pushNotificationConfigs/{configId}");
  }
  if (id.length > MAX_CONFIG_ID) {
    throw invalidParams(field, `must not have a configId of more than ${MAX_CONFIG_ID} characters`);
  }
  return { taskId, id };
}
