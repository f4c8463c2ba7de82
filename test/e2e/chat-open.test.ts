import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LINE_BREAK } from '../../src/output/multiline-input.ts';
import { tempDirectory } from '../helpers/run.ts';
import { service } from '../helpers/service.ts';
import { PROVISION } from '../sandbox/harness.ts';
import { PROGRAM } from './program.ts';

const hasTmux = spawnSync('tmux', ['-V']).status === 0;

interface Talk {
  readonly home: string;
  keys(...keys: string[]): Promise<void>;
  resize(columns: number): Promise<void>;
  /** The screen, once it matches; its lines without trailing blanks. */
  screen(wanted: RegExp): Promise<string>;
  /** Column and row of the cursor. */
  cursor(): Promise<string>;
  /** Puts a message of the agent into the session. */
  reply(text: string): Promise<void>;
  paste(text: string): Promise<void>;
}

/** `chat open` in a terminal of its own, against a sandbox whose agents say nothing unless they are told to. */
async function talk(): Promise<Talk> {
  const { env, admin, partner } = await service();
  await admin('PUT', '/script', { rules: [{ pattern: '.*', fail: 'silent' }] });
  const made = await partner('POST', PROVISION, {
    body: {
      external_space_id: 'acme',
      space: { name: 'Acme', description: 'x', is_org_wide: false },
      agents: [
        {
          template_id: 'tmpl_support',
          name: 'Support',
          auto_create_api_chat: true,
          api_chat_routing_mode: 'agent_inbox',
        },
      ],
    },
  });
  const source = made.json.agents[0].integrations.api_chat.source_id;
  const home = tempDirectory();
  const socket = join(home, 'tmux');
  const tmux = async (...words: string[]): Promise<string> => (await execa('tmux', ['-S', socket, ...words])).stdout;
  onTestFinished(async () => {
    await execa('tmux', ['-S', socket, 'kill-server'], { reject: false });
  });
  const given = Object.entries({ ...env, HOME: home, TERM: 'screen-256color', NO_COLOR: '1' }).map(
    ([name, value]) => `${name}='${value}'`,
  );
  const line = `env -i PATH="$PATH" ${given.join(' ')} '${process.execPath}' '${PROGRAM}' chat open --source ${source} --session t1; echo "ended with $?"; cat`;
  await tmux('-f', '/dev/null', 'new-session', '-d', '-x', '60', '-y', '20', line);
  const screen = async (wanted: RegExp): Promise<string> => {
    for (let looks = 0; looks < 2_000; looks += 1) {
      const shown = (await tmux('capture-pane', '-p')).replace(/ +$/gm, '').trimEnd();
      if (wanted.test(shown)) return shown;
    }
    throw new Error(`The screen never showed ${wanted}:\n${await tmux('capture-pane', '-p')}`);
  };
  await screen(/^› *$/m);
  return {
    home,
    screen,
    keys: async (...keys) => void (await tmux('send-keys', ...keys)),
    resize: async (columns) => void (await tmux('resize-window', '-x', String(columns), '-y', '20')),
    cursor: () => tmux('display-message', '-p', '#{cursor_x},#{cursor_y}'),
    reply: async (text) =>
      void (await admin('POST', '/messages', { source_id: source, session_id: 't1', role: 'assistant', text })),
    paste: async (text) => {
      await tmux('set-buffer', text);
      await tmux('paste-buffer', '-p', '-r');
    },
  };
}

// Without tmux there is no terminal to look at; what is skipped is counted as skipped.
describe.skipIf(!hasTmux)('chat open, in a real terminal (needs tmux)', () => {
  test('a reply in mid-word leaves the typed text and the cursor as they were', async () => {
    const { keys, screen, cursor, reply } = await talk();
    await keys('hello', 'Enter');
    await screen(/^… *$/m);
    await keys('half a wo', 'Left', 'Left');
    await screen(/^… half a wo$/m);
    const before = await cursor();
    await reply('**Good** morning');
    const shown = await screen(/Good morning/);
    expect(shown).toMatch(/assistant\n {2}Good morning\n\n› half a wo$/);
    const [column, row] = (await cursor()).split(',').map(Number);
    expect(column).toBe(Number(before.split(',')[0]));
    expect(row).toBe(shown.split('\n').length - 1);
    await keys('X');
    await screen(/^› half a Xwo$/m);
  });

  test('a reply and a resize while a line is typed that wraps', async () => {
    const { keys, screen, reply, resize } = await talk();
    const typed = 'a line that is long enough to go on over the edge of the terminal, and further';
    await keys(typed, 'Left', 'Left');
    await screen(/further$/m);
    await reply('meanwhile');
    await screen(/meanwhile/);
    await resize(40);
    await keys('!');
    const narrow = (await screen(/!/)).replaceAll('\n', '');
    expect(narrow).toContain('furth!er');
    expect(narrow.match(/a line that/g)).toHaveLength(1);
    await resize(90);
    await keys('?');
    const wide = await screen(/\?/);
    expect(wide).toMatch(/furth!\?er$/);
    expect(wide.match(/a line that/g)).toHaveLength(1);
    expect(wide).toMatch(/meanwhile/);
  });

  test('a reply full of controls harms nothing', async () => {
    const { keys, screen, reply } = await talk();
    await keys('typing');
    await screen(/^› typing$/m);
    await reply('\u001b[2J\u001b[H\u001b]0;title\u0007gone?\rover\u202e\u0008');
    const shown = await screen(/gone\?/);
    expect(shown).toMatch(/\\x1b\[2J/);
    expect(shown).toMatch(/^› typing$/m);
  });

  test('several lines, the words, the history, and the ways out', async () => {
    const { home, keys, screen, paste, reply } = await talk();
    await paste('one\ntwo');
    await screen(new RegExp(`^› one${LINE_BREAK}two$`, 'm'));
    await keys('M-Enter', 'three', 'Enter');
    await screen(/^… *$/m);
    await reply('seen');
    await screen(/seen[\s\S]*^› *$/m);
    await keys('/info', 'Enter');
    await screen(/session t1\nline +up/);
    await keys('/nope', 'Enter');
    await screen(/There is no \/nope/);
    await keys('/session other', 'Enter');
    await screen(/session other/);
    await keys('Up', 'Up', 'Up', 'Up');
    await screen(new RegExp(`^› one${LINE_BREAK}two${LINE_BREAK}three$`, 'm'));
    await keys('C-c');
    await screen(/^› *$/m);
    await keys('C-d');
    await screen(/ended with 0/);
    const history = join(home, '.local', 'state', 'partnerctl', 'chat-history.json');
    expect(JSON.parse(readFileSync(history, 'utf8'))).toContain(`one${LINE_BREAK}two${LINE_BREAK}three`);
    expect(statSync(history).mode & 0o777).toBe(0o600);
  });
});
