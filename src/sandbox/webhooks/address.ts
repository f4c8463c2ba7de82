/**
 * What is wrong with the address of a webhook; undefined if the sandbox may send to it. Only this machine's own addresses
 * are allowed: the sandbox delivers what anybody who reaches its admin API writes, and must not become a way to send
 * requests into other networks.
 */
export function webhookUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL such as http://127.0.0.1:4000/webhooks';
  const { protocol, username, password, hostname } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') return 'must begin with http:// or https://';
  if (username !== '' || password !== '') return 'must have no user name and no password';
  const isLoopback = hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  if (isLoopback) return undefined;
  return 'must be on this machine (127.0.0.1, [::1], or localhost): the sandbox sends no requests into other networks';
}
