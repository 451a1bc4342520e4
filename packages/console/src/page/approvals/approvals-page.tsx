/** Not shown yet. */
export function ApprovalsPage() {
  return <div class="page" />;
}
