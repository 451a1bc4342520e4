import type { Model, ModelPrice, ModelRequest, ProviderData, ToolDescription } from "../model.ts";
import type { AiSdkCall, AiSdkModel, AiSdkTool, ReasoningEffort } from "./ai-sdk-model.ts";
import { AnswerStream } from "../answer-stream.ts";
import { type CallPlace, toModelError } from "./call-error.ts";
import { PartTranslator } from "./part-translator.ts";
import { promptOf } from "./prompt.ts";
import type { FileRules } from "./user-content.ts";

export interface AdapterOptions extends CallPlace {
  readonly contextTokens?: number | undefined;
  readonly price?: ModelPrice | undefined;
  readonly reasoning?: ReasoningEffort | undefined;
  readonly providerOptions?: ProviderData | undefined;
}

/**
 * A model over `doStream` of the AI SDK. One `stream` is one call of it: no
 * retry and no tool loop of the SDK has a part in it.
 */
export function fromAiSdk(sdk: AiSdkModel, options: AdapterOptions): Model {
  return {
    id: options.id,
    ...(options.contextTokens !== undefined && { contextTokens: options.contextTokens }),
    ...(options.price !== undefined && { price: options.price }),
    stream: (request, signal) =>
      new AnswerStream({
        signal,
        translator: new PartTranslator(),
        explain: (error) => toModelError(error, options),
        ask: async (abortSignal) => {
          const call = callOf(request, {
            options,
            rules: {
              version: sdk.specificationVersion,
              supportedUrls: await sdk.supportedUrls,
            },
            abortSignal,
          });
          const { stream } = await sdk.doStream(call as never);
          return stream.getReader();
        },
      }),
  };
}

interface CallSettings {
  readonly options: AdapterOptions;
  readonly rules: FileRules;
  readonly abortSignal: AbortSignal;
}

function callOf(request: ModelRequest, { options, rules, abortSignal }: CallSettings): AiSdkCall {
  const { tools, maxOutputTokens, temperature } = request;
  const { reasoning, providerOptions } = options;
  return {
    prompt: promptOf(request, rules),
    ...(tools.length > 0 && { toolChoice: { type: "auto" }, tools: tools.map(toolOf) }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(reasoning !== undefined && { reasoning }),
    ...(providerOptions !== undefined && { providerOptions }),
    abortSignal,
  };
}

function toolOf({ name, description, input }: ToolDescription): AiSdkTool {
  return { type: "function", name, description, inputSchema: input };
}
