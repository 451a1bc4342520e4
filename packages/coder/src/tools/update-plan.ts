import { type Tool, tool } from "@convoke/runtime";
import { type Static, Type } from "typebox";
import { PLAN_NOTE } from "../events/coder-event.ts";

const Input = Type.Object(
  {
    entries: Type.Array(
      Type.Object(
        {
          content: Type.String({ minLength: 1 }),
          status: Type.Union([
            Type.Literal("pending"),
            Type.Literal("in_progress"),
            Type.Literal("completed"),
          ]),
          priority: Type.Optional(
            Type.Union([Type.Literal("high"), Type.Literal("medium"), Type.Literal("low")]),
          ),
        },
        { additionalProperties: false },
      ),
      { maxItems: 50 },
    ),
  },
  { additionalProperties: false },
);

/** `update_plan`: shows the steps of the work to the user. */
export const updatePlan = (): Tool =>
  tool({
    name: "update_plan",
    description:
      "Shows your plan to the user, as the whole list of steps. Use it for work of three or more " +
      "steps, and call it again whenever a step begins or ends. One step at a time is in_progress.",
    inputSchema: Object.fromEntries(Object.entries(Input)),
    idempotent: true,
    run: function* (input) {
      const { entries } = input as Static<typeof Input>;
      yield { kind: "tool:note", name: PLAN_NOTE, data: entries } as const;
      const done = entries.filter(({ status }) => status === "completed").length;
      return `The plan has ${entries.length} steps, of which ${done} are done.`;
    },
  });
