import { visibleLine } from "./visible-text.tsx";

const RISKS: Readonly<Record<string, string>> = {
  info: "Low risk",
  warning: "Some risk",
  danger: "Dangerous",
};

/** How risky a tool call is, as its tool says. */
export function RiskBadge({ risk }: { readonly risk: string }) {
  return (
    <span class="badge risk" data-risk={risk}>
      {RISKS[risk] ?? visibleLine(risk, 20)}
    </span>
  );
}
