import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export const PROGRAM = new URL('../../bin/partnerctl.js', import.meta.url).pathname;

/** Peak memory of a command in MiB. */
export async function peakMemory(args, env) {
  const preload = new URL('peak-memory.js', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', preload, PROGRAM, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  let kib = '';
  child.stdio[3].on('data', (chunk) => {
    kib += chunk;
  });
  await once(child, 'close');
  return Number(kib) / 1024;
}

/** Starts `sandbox start` and gives what it prints, with a way to end it. */
export async function startSandbox(dataDir) {
  const data = dataDir === undefined ? [] : ['--data', dataDir];
  const child = spawn(process.execPath, [PROGRAM, 'sandbox', 'start', '-o', 'json', '--quiet', ...data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { base_url, token, admin_url, admin_key } = JSON.parse(line);
  const ask = async (path, init) => {
    const headers = { authorization: `Bearer ${admin_key}`, 'content-type': 'application/json' };
    const response = await fetch(admin_url + path, { headers, ...init });
    if (!response.ok) throw new Error(`The sandbox answered ${response.status}: ${await response.text()}`);
    return response;
  };
  return {
    env: { PARTNER_BASE_URL: base_url, PARTNER_TOKEN: token },
    /** Calls the admin API. */
    admin: (path, body) => ask(path, { method: 'POST', body: JSON.stringify(body) }),
    /** Reads from it. */
    read: async (path) => (await ask(path)).json(),
    /** Its own peak memory in MiB; undefined where the system does not tell. */
    peakMiB() {
      if (process.platform !== 'linux') return undefined;
      const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'));
      return Number(kib) / 1024;
    },
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}
