import { useEffect, useRef } from "preact/hooks";
import { refusal, signIn } from "../server/session.ts";

/** Asks for a token when the server wants one. The page behind stays where it is. */
export function SignIn() {
  const dialog = useRef<HTMLDialogElement>(null);
  const reason = refusal.value;
  useEffect(() => {
    if (reason !== undefined && dialog.current?.open === false) dialog.current.showModal();
    if (reason === undefined) dialog.current?.close();
  }, [reason]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const token = form.get("token");
    if (typeof token === "string" && token.trim() !== "")
      signIn(token.trim(), { isKept: form.get("keep") === "on" });
  };
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby="sign-in-title"
      onCancel={(event) => event.preventDefault()}
    >
      <form class="sign-in" onSubmit={submit}>
        <h2 id="sign-in-title">Sign in</h2>
        <p class="muted small">This server asks for a token or an API key.</p>
        {reason !== undefined && (
          <p class="small refusal" role="alert">
            {reason}
          </p>
        )}
        <label class="field">
          Token
          <input
            class="input"
            name="token"
            type="password"
            autocomplete="current-password"
            required
          />
        </label>
        <label class="choice">
          <input type="checkbox" name="keep" /> Keep it in this tab until it is closed
        </label>
        <button type="submit" class="button primary">
          Sign in
        </button>
      </form>
    </dialog>
  );
}
