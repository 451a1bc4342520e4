import type { ProtoTables } from "../binary/table.ts";
import { CARD_MESSAGES } from "./card-messages.ts";
import { REQUEST_MESSAGES } from "./request-messages.ts";
import { ENUMS, TASK_MESSAGES } from "./task-messages.ts";

/** Every message of the package. */
export const TABLES: ProtoTables = {
  messages: { ...TASK_MESSAGES, ...REQUEST_MESSAGES, ...CARD_MESSAGES },
  enums: ENUMS,
};
