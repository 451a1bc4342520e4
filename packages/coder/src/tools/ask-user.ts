import { type Tool, inputRequired, tool } from "@convoke/runtime";
import { Type, type Static } from "typebox";

const Input = Type.Object(
  {
    question: Type.String({
      minLength: 1,
      description: "One question, with what is needed to answer it.",
    }),
    options: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        maxItems: 10,
        description: "Answers to choose from. The user may also answer something else.",
      }),
    ),
  },
  { additionalProperties: false },
);

/** `ask_user`: a question, whose answer is the result. */
export const askUser = (): Tool =>
  tool({
    name: "ask_user",
    description:
      "Asks the user a question and returns the answer. Use it only if you cannot find out " +
      "yourself, and a wrong guess would be expensive. Do not ask for permission: tools do that.",
    inputSchema: Object.fromEntries(Object.entries(Input)),
    run: (input, { answers }) => {
      const { question, options } = input as Static<typeof Input>;
      const answer = answers.get("answer");
      if (answer !== undefined) return { answer: answer.text };
      const requestId = "answer";
      return inputRequired(question, { requestId, ...(options && { options }) });
    },
  });
