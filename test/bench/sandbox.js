import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export const PROGRAM = new URL('../../bin/partnerctl.js', import.meta.url).pathname;

/** Starts `sandbox start` and gives what it prints, with a way to end it. */
export async function startSandbox() {
  const child = spawn(process.execPath, [PROGRAM, 'sandbox', 'start', '-o', 'json', '--quiet'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { base_url, token, admin_url, admin_key } = JSON.parse(line);
  return {
    env: { PARTNER_BASE_URL: base_url, PARTNER_TOKEN: token },
    /** Calls the admin surface. */
    async admin(path, body) {
      const response = await fetch(admin_url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${admin_key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`The sandbox answered ${response.status}: ${await response.text()}`);
    },
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
