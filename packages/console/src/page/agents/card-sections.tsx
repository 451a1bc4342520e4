import { type CardPublicKey, type RawCard, verifyCard } from "@convoke/protocol";
import { oneLine } from "@convoke/protocol/internal";
import type { ComponentChildren } from "preact";
import { useResource } from "../server/resource.ts";
import { ask } from "../server/session.ts";
import { type CardView, type SkillView, readCard } from "./card-view.ts";

interface CardProps {
  readonly card: RawCard;
  /** Whether this server has written the card, and so has the keys that verify it. */
  readonly isOwn: boolean;
}

/** A card as its reader wants it: what the agent can do first, how to call it after that. */
export function CardSections({ card, isOwn }: CardProps) {
  const view = readCard(card);
  return (
    <>
      {view.description !== "" && <p class="agent-description">{view.description}</p>}
      <div class="agent-columns">
        <section class="card agent-section" aria-label="Skills">
          <h2>Skills</h2>
          {view.skills.length === 0 && <p class="muted small">The card names no skills.</p>}
          {view.skills.map((skill, place) => (
            <Skill key={place} {...skill} />
          ))}
        </section>
        <section class="card agent-section" aria-label="Card">
          <h2>Card</h2>
          <Facts view={view} card={card} isOwn={isOwn} />
        </section>
      </div>
      <Interfaces {...view} />
      <Extensions {...view} />
    </>
  );
}

function Skill({ name, description, tags, examples }: SkillView) {
  return (
    <article class="agent-skill">
      <h3>{name}</h3>
      <p class="muted small">{description}</p>
      {tags.length > 0 && <Badges names={tags} />}
      {examples.length > 0 && (
        <ul class="agent-examples" aria-label="Examples">
          {examples.map((example) => (
            <li key={example}>“{example}”</li>
          ))}
        </ul>
      )}
    </article>
  );
}

function Badges({ names }: { readonly names: readonly string[] }) {
  return (
    <p class="agent-badges">
      {names.map((name) => (
        <span key={name} class="badge">
          {name}
        </span>
      ))}
    </p>
  );
}

function Facts({ view, card, isOwn }: CardProps & { readonly view: CardView }) {
  const { capabilities, inputModes, outputModes, security } = view;
  return (
    <dl class="agent-facts">
      <Fact name="Capabilities">{capabilities.length > 0 && <Badges names={capabilities} />}</Fact>
      <Fact name="Accepts">{inputModes.join(", ")}</Fact>
      <Fact name="Returns">{outputModes.join(", ")}</Fact>
      <Fact name="Authentication">{security.join(", ") || "None"}</Fact>
      <Fact name="Provider">{view.provider}</Fact>
      <Fact name="Documentation">{view.documentationUrl}</Fact>
      <Fact name="Signature">
        {view.signatures === 0 && "Not signed"}
        {view.signatures > 0 && (isOwn ? <Signature card={card} /> : "Signed")}
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  if (children === "" || children === false) return null;
  return (
    <>
      <dt class="muted small">{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Signature({ card }: { readonly card: RawCard }) {
  const verdict = useResource(async () => {
    const { keys } = await ask<{ readonly keys: readonly CardPublicKey[] }>(
      "/.well-known/jwks.json",
    );
    return describeSignature(card, keys);
  }, [card]);
  return <>{verdict.value ?? verdict.problem?.message ?? "…"}</>;
}

/** Says whether the signature of a card is valid, by the keys that its server publishes. */
async function describeSignature(card: RawCard, keys: readonly CardPublicKey[]): Promise<string> {
  // Browsers have no cryptography on plain HTTP, except on loopback.
  if (!globalThis.isSecureContext) return "Signed; it can be verified over HTTPS only";
  const verdict = await verifyCard(card, { keys });
  return verdict.kind === "valid"
    ? `Signed; valid by key ${oneLine(verdict.kid)}`
    : "Signed; not valid by the keys of this server";
}

function Interfaces({ interfaces }: CardView) {
  return (
    <section class="card agent-section" aria-label="Interfaces">
      <h2>Interfaces</h2>
      <ul class="agent-interfaces">
        {interfaces.map(({ how, url }) => (
          <li key={how + url}>
            <span class="badge">{how}</span> <span class="mono">{url}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Extensions({ extensions }: CardView) {
  if (extensions.length === 0) return null;
  return (
    <section class="card agent-section" aria-label="Extensions">
      <h2>Extensions</h2>
      <ul class="agent-interfaces">
        {extensions.map(({ uri, description, isRequired }) => (
          <li key={uri}>
            <span class="mono">{uri}</span>{" "}
            {isRequired && <span class="badge agent-off">Required</span>}
            <span class="muted small agent-extension">{description}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
