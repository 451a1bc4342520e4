import { fieldIn, isObject, snakeCase } from "../../internal/json.ts";
import { invalidParams } from "../../model/errors.ts";
import { compileCheck } from "../../schema/compile-schema.ts";
import { id } from "../../schema/schema.ts";

/** The fields of one object on the wire, by every name that a ProtoJSON parser must accept. */
export interface ProtoShape {
  /** Maps `messageId` and `message_id` to `messageId`. */
  readonly names: ReadonlyMap<string, string>;
  /** The JSON names of fields whose values are used as they are. */
  readonly plain: ReadonlySet<string>;
  readonly integers: ReadonlySet<string>;
  readonly isNullUnset: boolean;
}

interface ShapeOptions {
  /** Other names of a field, mapped to its JSON name. */
  readonly aliases?: Readonly<Record<string, string>>;
  /** Integer fields, which ProtoJSON also accepts as strings. */
  readonly integers?: readonly string[];
  /** Whether null is the same as an absent field, as in ProtoJSON. Default true. */
  readonly isNullUnset?: boolean;
}

/** Creates the shape of a message with these JSON names. */
export function protoShape(names: readonly string[], options: ShapeOptions = {}): ProtoShape {
  const { aliases = {}, integers = [], isNullUnset = true } = options;
  return {
    names: new Map([
      ...Object.entries(aliases),
      ...names.flatMap((name) => [[snakeCase(name), name] as const, [name, name] as const]),
    ]),
    plain: new Set(names.filter((name) => !integers.includes(name))),
    integers: new Set(integers),
    isNullUnset,
  };
}

/** The shape of an object in which null is a value: the schema rejects it where it is not allowed. */
export function jsonShape(names: readonly string[]): ProtoShape {
  return protoShape(names, { isNullUnset: false });
}

/**
 * Reads the known fields of an object under their JSON names, and drops all others (1.0 §5.7). A
 * field that is present under two names must have the same value under both. Values that are not
 * objects are left for the schema to check.
 *
 * @param field the name of the object in errors
 */
export function readProtoFields(value: unknown, shape: ProtoShape, field: string): unknown {
  if (!isObject(value) || isPlain(value, shape)) return value;
  const fields: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    const name = shape.names.get(key);
    if (name === undefined || (inner === null && shape.isNullUnset)) continue;
    const read = shape.integers.has(name) ? parseInteger(inner) : inner;
    if (Object.hasOwn(fields, name) && !isSame(fields[name], read)) {
      throw invalidParams(fieldIn(field, name), "is given under two names with different values");
    }
    fields[name] = read;
  }
  return fields;
}

/** Whether nothing has to be renamed, dropped or converted, as in nearly every request. */
function isPlain(value: Readonly<Record<string, unknown>>, shape: ProtoShape): boolean {
  // Not Object.keys, whose array costs more than the check. It runs for each event of a stream.
  for (const key in value) {
    if (!shape.plain.has(key)) return false;
    if (shape.isNullUnset && value[key] === null) return false;
  }
  return true;
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function parseInteger(value: unknown): unknown {
  return typeof value === "string" && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
}

export function taskName(taskId: string): string {
  return `tasks/${taskId}`;
}

export function configName(taskId: string, id: string): string {
  return `tasks/${taskId}/pushNotificationConfigs/${id}`;
}

// Resource names, which the proto of 0.3 uses in place of ids

const TASK_NAME = /^tasks\/([^/]+)$/;

const checkId = compileCheck(id);

/** The id in `tasks/{id}`. */
export function parseTaskName(name: string, field: string): string {
  const [, taskId] = TASK_NAME.exec(name) ?? [];
  if (taskId === undefined) throw invalidParams(field, "must be tasks/{id}");
  checkId(taskId, field);
  return taskId;
}

/** The caller chooses the id of a config, so it may contain a slash; task ids are ours. */
const CONFIG_NAME = /^tasks\/([^/]+)\/pushNotificationConfigs\/(.+)$/s;

/** Both ids in `tasks/{id}/pushNotificationConfigs/{configId}`. */
export function parseConfigName(
  name: string,
  field: string,
): { readonly taskId: string; readonly id: string } {
  const [, taskId, configId] = CONFIG_NAME.exec(name) ?? [];
  if (taskId === undefined || configId === undefined) {
    throw invalidParams(field, "must be tasks/{id}/pushNotificationConfigs/{configId}");
  }
  checkId(taskId, field);
  checkId(configId, "configId");
  return { taskId, id: configId };
}
