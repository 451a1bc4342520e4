import { resultText, standIn } from "../stand-in.ts";

/** Plays the model without a key: it sends the mail that a message asks for. */
export const mailStandIn = standIn(({ text, results }) => {
  const [, to, said] = /\b(?:tell|write to) (\S+@\S+?)[:,]? (?:that )?(.+)/i.exec(text) ?? [];
  if (to === undefined || said === undefined) return "Whom shall I write, and what?";
  const sent = resultText(results.get("send_mail"));
  if (sent !== undefined) return sent;
  const input = { to, subject: "News from the shop", text: `Hello,\n\n${said}` };
  return { kind: "tool-call", toolName: "send_mail", input };
});
