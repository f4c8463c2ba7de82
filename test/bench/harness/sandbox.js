import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export const PROGRAM = new URL('../../../bin/partnerctl.js', import.meta.url).pathname;

/** Peak memory of a command in MiB. */
export async function peakMemory(args, env, script = PROGRAM) {
  const preload = new URL('peak-memory.js', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--import', preload, script, ...args], {
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

/** Runs `sandbox start`. @returns the environment for commands, and a client for its admin API */
async function startSandbox(dataDir) {
  const data = dataDir === undefined ? [] : ['--data', dataDir];
  const child = spawn(process.execPath, [PROGRAM, 'sandbox', 'start', '-o', 'json', '--quiet', ...data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { base_url, token, admin_url, admin_key } = JSON.parse(line);
  const request = async (path, init) => {
    const headers = { authorization: `Bearer ${admin_key}`, 'content-type': 'application/json' };
    const response = await fetch(admin_url + path, { headers, ...init });
    if (!response.ok) throw new Error(`The sandbox responded with ${response.status}: ${await response.text()}`);
    return response;
  };
  return {
    env: { PARTNER_BASE_URL: base_url, PARTNER_TOKEN: token },
    /** Posts to the admin API. */
    admin: (path, body) => request(path, { method: 'POST', body: JSON.stringify(body) }),
    /** Reads from the admin API and parses the JSON. */
    read: async (path) => (await request(path)).json(),
    /** Its own peak memory in MiB; undefined on systems other than Linux. */
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

/** Runs a measurement with a separate sandbox, and stops it afterwards. */
export async function withSandbox(measure, dataDir) {
  const sandbox = await startSandbox(dataDir);
  try {
    return await measure(sandbox);
  } finally {
    await sandbox.stop();
  }
}
