import { type Rpc, type SeededFault, forgetting, rpc, stream, words } from "./fault.ts";

const isEnd = ({ result }: Rpc): boolean =>
  /COMPLETED|FAILED|CANCELED/.test(result?.statusUpdate?.status.state ?? "");

/** Faults in streams. */
export const STREAM_FAULTS: readonly SeededFault[] = [
  {
    title: "a stream without its task",
    id: "v1-S14.first",
    answer: stream((told) => told.slice(1)),
  },
  {
    title: "a stream that is buffered until its end",
    id: "v1-S14.at-once",
    answer: (answered) => answered,
  },
  {
    title: "a stream without its end",
    id: "v1-S14.ends",
    answer: stream((told) => told.filter((event) => !isEnd(event))),
  },
  {
    title: "an event after the last one",
    id: "v1-S14.ends",
    answer: stream((told) => [...told, ...told.filter(({ result }) => result?.artifactUpdate)]),
  },
  {
    title: "a stream that stays open",
    id: "v1-S14.ends",
    options: ["--timeout", "5"],
    answer: (answered) =>
      answered.headers["content-type"] === "text/event-stream"
        ? { ...answered, endless: true }
        : answered,
  },
  {
    title: "chunks in the wrong order",
    id: "v1-S15.whole",
    answer: stream((told) => swapped(told)),
  },
  {
    title: "a lost chunk",
    id: "v1-S15.whole",
    answer: stream((told) => told.filter((_, place) => place !== 4)),
  },
  {
    title: "events of another request",
    id: "v1-S50.stream-envelope",
    answer: stream((told) => told.map((event) => ({ ...event, id: 1 }))),
  },
  {
    title: "updates without their task id",
    id: "v1-S46.event-fields",
    answer: stream((told) =>
      told.map((event) => JSON.parse(JSON.stringify(event).replace(/"contextId":"[^"]*",?/, ""))),
    ),
  },
];

/** Faults of a 0.3 server. */
export const EARLY_FAULTS: readonly SeededFault[] = [
  { title: "no final", id: "v03-S21.final-word", answer: words(/"final":\w+,?/g, "") },
  {
    title: "no final status at the end",
    id: "v03-S21.final-at-end",
    answer: words(/"final":true/g, '"final":false'),
  },
  {
    title: "a question that is not final",
    id: "v03-S21.final-at-question",
    answer: words(/"final":true/g, '"final":false'),
  },
  { title: "parts without a kind", id: "v03-S21.kinds", answer: words(/"kind":"text",?/g, "") },
  { title: "a wrong id", id: "v03-S6.envelope", answer: rpc((body) => ({ ...body, id: 1 })) },
  {
    title: "a negative historyLength accepted",
    id: "v03-S14.negative-history",
    ask: forgetting("historyLength"),
  },
  {
    title: "a rejected stream that is not a stream",
    id: "v03-S7.stream-error",
    answer: (answered) =>
      answered.body.includes('"error"')
        ? {
            ...answered,
            headers: { "content-type": "application/json" },
            body: answered.body.replace(/^[^{]*/, "").trimEnd(),
          }
        : answered,
  },
];

/** Two chunks in the middle are swapped. */
function swapped(told: readonly Rpc[]): readonly Rpc[] {
  const [third, fourth] = [told[3], told[4]];
  if (third?.result?.artifactUpdate === undefined || fourth === undefined) return told;
  return [...told.slice(0, 3), fourth, third, ...told.slice(5)];
}
