import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SERVICE = fileURLToPath(new URL('../bare/bulk-service.js', import.meta.url));

/**
 * Runs a service in a process of its own that costs as little as possible.
 * @param delayMs how long it takes to answer
 * @param measure gets the environment for commands, and what empties the service
 */
export async function withBulkService(delayMs, measure) {
  const child = spawn(process.execPath, [SERVICE, String(delayMs)], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = await once(createInterface({ input: child.stdout }), 'line');
    const reset = async () => {
      const [response] = await once(request({ port, method: 'DELETE', agent: false }).end(), 'response');
      await once(response.resume(), 'end');
    };
    return await measure({ env: { PARTNER_BASE_URL: `http://127.0.0.1:${port}/v1`, PARTNER_TOKEN: 'bench' }, reset });
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}
