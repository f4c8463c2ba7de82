import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { drawTerminal } from './terminal-svg.js';

/**
 * Draws the pictures of the README: what the built program shows in a real terminal (tmux), with a sandbox. Ids, times, and
 * durations, which differ from run to run, are replaced by fixed ones.
 */

const COLUMNS = 96;
const ROWS = 40;
const PROGRAM = resolve('bin/partnerctl.js');
const PICTURES = resolve(process.argv[2] ?? '.ci/pictures');
const run = promisify(execFile);

const manifest = (id, name, description, rest = '') => `external_space_id: ${id}
space: { name: ${name}, description: ${description}, is_org_wide: false }
agents:
  - template_id: tmpl_support
    name: Support
    auto_create_api_chat: true
    api_chat_routing_mode: session_workflow
${rest}`;

const SALES = `    cron:
      - { name: daily report, instructions: Summarize the day., schedule: '0 18 * * 1-5', timezone: Europe/Berlin }
  - { template_id: tmpl_sales, name: Sales }
`;

const SCRIPT = `- pattern: invoice
  replies:
    - { text: 'Let me look for it.', delay_ms: 200 }
    - { text: 'Found it: INV-2041, sent on March 3. Shall I send it again?', delay_ms: 900 }
- { pattern: '^Yes', replies: [{ text: 'Done. It is on its way to billing@acme.example.', delay_ms: 300 }] }
`;

/** What differs between two runs: it is replaced by fixed texts. */
function makeRepeatable(screen) {
  const ids = new Map();
  const nameId = (id, kind) => {
    if (!ids.has(id)) ids.set(id, `${kind}_${createHash('sha256').update(`${kind} ${ids.size}`).digest('hex').slice(0, 20)}`);
    return ids.get(id);
  };
  return screen
    .replace(/\b(spc|agt|src|msg|cron)_[0-9a-f]{20}\b/g, nameId)
    .replace(/\breq-[0-9a-f]{12}-/g, 'req-2f6c91d05e7a-')
    .replace(/\b127\.0\.0\.1:\d+\b/g, '127.0.0.1:43100')
    .replace(/\b\d+ ms\b/g, '12 ms')
    .replace(/\d{4}-\d\d-\d\d 18:00 \+0[12]:00/g, '2030-01-07 18:00 +01:00')
    .replace(/\bNode\.js \d+\.\d+\.\d+/g, 'Node.js 24.0.0');
}

/** A terminal with a shell in `directory`. */
function createTerminal(directory, env) {
  const tmux = async (...args) => (await run('tmux', ['-S', join(directory, '.tmux'), ...args])).stdout;
  const screen = () => tmux('capture-pane', '-e', '-p');
  return {
    screen,
    close: () => tmux('kill-server').catch(() => undefined),
    async open() {
      const variables = Object.entries({ ...env, TERM: 'screen-256color', PS1: '$ ' }).map(([name, value]) => `${name}=${value}`);
      const shell = ['env', '-i', ...variables, 'bash', '--norc', '--noprofile'];
      await tmux('-f', '/dev/null', 'new-session', '-d', '-x', String(COLUMNS), '-y', String(ROWS), '-c', directory, ...shell);
    },
    /** Runs a command line on an empty screen. */
    async type(line) {
      await tmux('send-keys', 'clear', 'Enter');
      await this.until(/^\$\s*$/);
      await tmux('send-keys', '-l', line);
      await tmux('send-keys', 'Enter');
    },
    /** Waits until the screen shows something. */
    async until(expected) {
      for (let tries = 0; tries < 600; tries++) {
        if (expected.test((await screen()).replace(/\x1b\[[\d;]*m/g, ''))) return;
        await sleep(50);
      }
      throw new Error(`The screen never showed ${expected}:\n${await screen()}`);
    },
  };
}

async function startSandbox(directory) {
  const args = [PROGRAM, 'sandbox', 'start', '--script', 'agents.yaml', '-o', 'json'];
  const child = spawn(process.execPath, args, { cwd: directory, stdio: ['ignore', 'pipe', 'ignore'] });
  let output = '';
  for await (const chunk of child.stdout) {
    output += chunk;
    if (output.trimEnd().endsWith('}')) break;
  }
  return { child, ...JSON.parse(output) };
}

async function draw(name, title, screen) {
  const text = (await screen()).replace(/\n(\x1b\[[\d;]*m)*\$\s*$/, '');
  await writeFile(join(PICTURES, `${name}.svg`), drawTerminal(makeRepeatable(text), COLUMNS, title));
}

/** The command that sets the balance of the organization in the sandbox. */
function setBalance(usd) {
  const headers = `-H "Authorization: Bearer $PARTNER_SANDBOX_KEY" -H 'Content-Type: application/json'`;
  return `curl -sf -X PATCH ${headers} -d '{"balance_usd":${usd}}' $PARTNER_SANDBOX_URL/settings`;
}

const SEND = 'partnerctl chat send --agent name:Support --space ext:acme-001 --session ticket-42 --quiet';

async function drawAll(directory, env) {
  const shell = (line) => run('bash', ['-c', line], { cwd: directory, env });
  await writeFile(join(directory, 'acme.yaml'), manifest('acme-001', 'Acme', 'Support for Acme'));
  await shell('partnerctl provision acme.yaml');
  await mkdir(join(directory, 'customers'));
  await writeFile(join(directory, 'customers', 'acme.yaml'), manifest('acme-001', 'Acme', 'Support for Acme Inc.', SALES));
  await writeFile(join(directory, 'customers', 'globex.yaml'), manifest('globex-7', 'Globex', 'Support for Globex'));
  const terminal = createTerminal(directory, env);
  await terminal.open();
  try {
    await terminal.until(/^\$/);
    await terminal.type('partnerctl plan customers/');
    await terminal.until(/Plan: .*\n\$\s*$/);
    await draw('plan', 'partnerctl plan shows what provision would create, change, and leave', terminal.screen);
    await shell(setBalance(0.5));
    await terminal.type('partnerctl doctor');
    await terminal.until(/hint: [^]*\n\$\s*$/);
    await draw('doctor', 'partnerctl doctor checks every setting and connection, and says what to do', terminal.screen);
    await shell(setBalance(100));
    await terminal.type('partnerctl chat tail --agent name:Support --space ext:acme-001 --session ticket-42');
    await terminal.until(/Waiting for new ones/);
    await shell(`${SEND} 'My invoice for March is missing.'`);
    await terminal.until(/is missing[^]*send it again/);
    await shell(`${SEND} 'Yes, please.'`);
    await terminal.until(/on its way/);
    await draw('chat-tail', 'partnerctl chat tail follows a conversation as it happens', terminal.screen);
  } finally {
    await terminal.close();
  }
}

const directory = await mkdtemp(join(tmpdir(), 'partnerctl-pictures-'));
try {
  await writeFile(join(directory, 'agents.yaml'), SCRIPT);
  await mkdir(join(directory, 'bin'));
  await writeFile(join(directory, 'bin/partnerctl'), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  await chmod(join(directory, 'bin/partnerctl'), 0o755);
  await mkdir(PICTURES, { recursive: true });
  const { child, ...sandbox } = await startSandbox(directory);

  try {
    await drawAll(directory, {
      PATH: `${join(directory, 'bin')}:${process.env.PATH}`,
      HOME: directory,
      PARTNER_BASE_URL: sandbox.base_url,
      PARTNER_TOKEN: sandbox.token,
      PARTNER_SANDBOX_URL: sandbox.admin_url,
      PARTNER_SANDBOX_KEY: sandbox.admin_key,
      PARTNER_STATE: 'state.jsonl',
      PARTNER_CONFIG_DIR: '.config',
    });
  } finally {
    child.kill();
    await once(child, 'close');
  }
} finally {
  // Programs in the terminal may still write.
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}
