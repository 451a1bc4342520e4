/** Not shown yet. */
export function ChatPage() {
  return <div class="page" />;
}
