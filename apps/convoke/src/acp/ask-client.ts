import {
  type AgentContext,
  type PermissionOption,
  RequestError,
  type RequestPermissionOutcome,
  type ToolCall,
  methods,
} from "@agentclientprotocol/sdk";
import type { Question } from "@convoke/client";
import { type Approval, type ApprovalOption, type DataPart, EXTENSIONS } from "@convoke/protocol";

/** The options that an editor can offer. `edit` needs arguments, which it cannot ask for. */
const OPTIONS: Partial<Readonly<Record<ApprovalOption, Omit<PermissionOption, "optionId">>>> = {
  once: { name: "Allow once", kind: "allow_once" },
  conversation: { name: "Allow in this session", kind: "allow_always" },
  always: { name: "Always allow", kind: "allow_always" },
  reject: { name: "Reject", kind: "reject_once" },
};

/** Asks the user of the editor. */
export class AskClient {
  readonly #client: AgentContext;
  readonly #sessionId: string;
  readonly #fillsForms: boolean;

  constructor(client: AgentContext, sessionId: string, fillsForms: boolean) {
    this.#client = client;
    this.#sessionId = sessionId;
    this.#fillsForms = fillsForms;
  }

  /** Asks for a decision on a call. Returns the answer for the agent; `undefined` leaves it open. */
  async permission(
    approval: Approval,
    toolCall: ToolCall,
    signal: AbortSignal,
  ): Promise<DataPart | undefined> {
    const options = approval.options.flatMap((optionId) => {
      const shown = OPTIONS[optionId];
      return shown === undefined ? [] : [{ optionId, ...shown }];
    });
    const { outcome } = await this.#client.request(
      methods.client.session.requestPermission,
      { sessionId: this.#sessionId, toolCall, options },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    );
    const option = chosen(outcome, options);
    return option && answerPart(approval, option);
  }

  /** Shows a form with the question, if the editor can. Returns `undefined` if there is no answer. */
  async answer(question: Question, signal: AbortSignal): Promise<string | undefined> {
    if (!this.#fillsForms) return undefined;
    try {
      return await this.#fillForm(question, signal);
    } catch (error) {
      // An editor that cannot show this form: the question becomes a message.
      if (error instanceof RequestError && !signal.aborted) return undefined;
      throw error;
    }
  }

  async #fillForm({ text, options }: Question, signal: AbortSignal): Promise<string | undefined> {
    const property = { type: "string", title: "Answer", ...(options && { enum: [...options] }) };
    const answers = { properties: { answer: property }, required: ["answer"] };
    const response = await this.#client.request(
      methods.client.elicitation.create,
      {
        mode: "form",
        sessionId: this.#sessionId,
        message: text,
        requestedSchema: { type: "object", ...answers },
      },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    );
    if (response.action !== "accept") return undefined;
    const { content } = response as { readonly content?: { readonly answer?: unknown } | null };
    return typeof content?.answer === "string" ? content.answer : undefined;
  }
}

/** An option that was not offered decides nothing. */
function chosen(
  outcome: RequestPermissionOutcome,
  offered: readonly { readonly optionId: ApprovalOption }[],
): ApprovalOption | undefined {
  if (outcome.outcome !== "selected") return undefined;
  return offered.find(({ optionId }) => optionId === outcome.optionId)?.optionId;
}

function answerPart({ id: approvalId, digest }: Approval, option: ApprovalOption): DataPart {
  return {
    kind: "data",
    data: { approvalId, digest, option },
    metadata: { [EXTENSIONS.approvals.uri]: { type: "approval-answer" } },
  };
}
