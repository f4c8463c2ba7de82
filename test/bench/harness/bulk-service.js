import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SERVICE = fileURLToPath(new URL('../bare/bulk-service.js', import.meta.url));
const CHAT = fileURLToPath(new URL('../bare/chat-service.js', import.meta.url));
const DISCARD = fileURLToPath(new URL('../bare/discard-service.js', import.meta.url));

/** Runs a server of one of the bare files. @param measure gets its port */
async function withServer(args, measure) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = await once(createInterface({ input: child.stdout }), 'line');
    return await measure(port);
  } finally {
    child.kill();
    await once(child, 'exit');
  }
}

function environment(port) {
  return { PARTNER_BASE_URL: `http://127.0.0.1:${port}/v1`, PARTNER_TOKEN: 'bench' };
}

/** Runs a service in a separate process that discards what is uploaded. @param measure gets the environment for commands */
export function withDiscardService(measure) {
  return withServer([DISCARD], (port) => measure(environment(port)));
}

/**
 * Runs a service in a separate process that has that many sessions.
 * @param perSecond the number of messages that they get per second in total, after those that exist
 * @param existing the number of messages that each has from the start
 * @param measure gets the environment for commands
 */
export function withChatService({ sessions, perSecond = 0, existing = 0 }, measure) {
  return withServer([CHAT, String(sessions), String(perSecond), String(existing)], (port) =>
    measure(environment(port)),
  );
}

/**
 * Runs a minimal service in a separate process.
 * @param delayMs the delay of its responses
 * @param measure gets the environment for commands, and a function that empties the service
 */
export function withBulkService(delayMs, measure) {
  return withServer([SERVICE, String(delayMs)], (port) => {
    const reset = async () => {
      const [response] = await once(request({ port, method: 'DELETE', agent: false }).end(), 'response');
      await once(response.resume(), 'end');
    };
    return measure({ env: environment(port), reset });
  });
}
