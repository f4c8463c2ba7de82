import { describe, expect, test } from 'vitest';
import { type Chat, createChat, MESSAGE } from '../support/chat.ts';
import { type HeldRequests, holdRequests } from '../support/hold-requests.ts';
import { start } from '../support/program.ts';
import { tempDirectory } from '../support/run.ts';
import { type Service, service as startService } from '../support/service.ts';
import { hasTmux, inTmux, type TmuxScreen } from '../support/tmux.ts';

/** What stands for a line break on the input line. */
const LINE_BREAK = '\u2b92';

interface Talk extends TmuxScreen {
  readonly service: Service;
  readonly chat: Chat;
  readonly home: string;
  /** Adds a message of the agent to the session. */
  reply(text: string): Promise<void>;
}

/** `chat open` in a separate terminal, against a sandbox whose agents send nothing on their own. */
async function talk(
  way: (service: Service) => Promise<Pick<Service, 'env'>> = async (service) => service,
  flags: readonly string[] = [],
): Promise<Talk> {
  const service = await startService();
  await service.admin('PUT', '/script', { rules: [{ pattern: '.*', replies: [] }] });
  const chat = await createChat(service);
  const home = tempDirectory();
  const args = ['chat', 'open', '--source', chat.source_id, '--session', 't1', ...flags];
  const { env } = await way(service);
  const terminal = await inTmux(args, { ...env, HOME: home });
  await terminal.screen(/^› *$/m);
  const place = { source_id: chat.source_id, session_id: 't1', role: 'assistant' };
  return {
    ...terminal,
    service,
    chat,
    home,
    reply: async (text) => void (await service.admin('POST', '/messages', { ...place, text })),
  };
}

/** The same, but requests wait until the test releases them. */
async function talkHeld(): Promise<Talk & HeldRequests> {
  const ways: HeldRequests[] = [];
  const talking = await talk(async (service) => {
    const way = await holdRequests(service, ({ method, path }) => method === 'POST' && path.endsWith(MESSAGE));
    ways.push(way);
    return way;
  });
  return Object.assign(talking, ...ways);
}

// Without tmux there is no terminal; skipped tests are counted as skipped.
describe.skipIf(!hasTmux)('chat open, in a real terminal (needs tmux)', () => {
  test('a reply while typing keeps the text and the cursor', async () => {
    const { keys, screen, cursor, reply } = await talk();
    await keys('hello', 'Enter');
    await screen(/^… *$/m);
    await keys('half a wo', 'Left', 'Left');
    await screen(/^… half a wo$/m);
    // The line is drawn first, and then the cursor goes to its place: after the prompt and all letters but two.
    const column = '… half a wo'.length - 2;
    await expect.poll(cursor).toMatch(new RegExp(`^${column},`));
    await reply('**Good** morning');
    const shown = await screen(/assistant\n {2}Good morning\n\n› half a wo$/);
    await expect.poll(cursor).toBe([column, shown.split('\n').length - 1].join(','));
    await keys('XYZ');
    await screen(/^› half a XYZwo$/m);
  });

  test('a reply and a resize keep a line that wraps', async () => {
    const { keys, screen, reply, resize } = await talk();
    const typed = 'a line that is long enough to go on over the edge of the terminal, and further';
    await keys(typed, 'Left', 'Left');
    await screen(/further$/m);
    await reply('meanwhile');
    expect((await screen(/meanwhile[\s\S]*further$/)).match(/a line that/g)).toHaveLength(1);
    await resize(40);
    await screen(/go on ov\ner the edge of the terminal, and further$/);
    await keys('!');
    // Once: a terminal may show the old and the new line for a moment.
    await screen(/^(?![\s\S]*a line that[\s\S]*a line that)[\s\S]*f\n?u\n?r\n?t\n?h\n?!\n?e\n?r$/);
    await resize(90);
    await screen(/over the edge of the terminal, and furth!er$/);
    await keys('?');
    const wide = await screen(/furth!\?er$/);
    expect(wide.match(/a line that/g)).toHaveLength(1);
    expect(wide).toMatch(/meanwhile/);
  });

  test('control characters in a reply do no harm', async () => {
    const { keys, screen, reply, title } = await talk();
    await keys('typing');
    await screen(/^› typing$/m);
    await reply('\u001b[2J\u001b[H\u001b]0;title\u0007gone?\rover\u202e\u0008');
    const shown = await screen(/gone\?[\s\S]*^› typing$/m);
    expect(shown).toMatch(/\\x1b\[2J/);
    await keys('C-u');
    await reply(`${'x'.repeat(100_000)}\u001b[2J\rEND`);
    await screen(/x\\x1b\[2J\\rEND\n\n›$/);
    await keys('still here');
    await screen(/^› still here$/m);
    expect((await title()) === 'title').toBe(false);
  });

  test('after Ctrl-Z and fg the line is still there', async () => {
    const { keys, screen } = await talk();
    await keys('half');
    await screen(/^› half$/m);
    await keys('C-z');
    await screen(/ended with \d+$/);
    await keys('fg', 'Enter');
    await screen(/fg[\s\S]*\n› half$/);
    await keys('way');
    await screen(/\n› halfway$/);
  });

  test('after Ctrl-Z and fg a pasted text is not sent, although the shell turned bracketed paste off', async () => {
    const { keys, screen, paste, chat } = await talk();
    await keys('half');
    await screen(/^› half$/m);
    await keys('C-z');
    await screen(/ended with \d+$/);
    await keys('printf \\033[?2004l', 'Enter');
    await keys('fg', 'Enter');
    await screen(/\n› half$/);
    await paste('one\ntwo');
    await screen(new RegExp(`\n› halfone${LINE_BREAK}two$`));
    expect(await chat.history({ session_id: 't1' })).toEqual([]);
  });

  test('a pasted line that is taller than the screen can be edited and is sent completely, whatever arrives meanwhile', async () => {
    const { keys, screen, everything, paste, reply, chat } = await talk();
    const typed = Array.from({ length: 400 }, (_, index) => `w${index}`).join(' ');
    await paste(typed);
    await screen(/w399$/);
    await keys('Left', 'Left', 'x');
    await screen(/w3x99$/);
    await reply('one');
    await reply('two');
    await expect.poll(everything).toMatch(/\bone\b[\s\S]*\btwo\b/);
    await keys('y');
    await screen(/w3xy99$/);
    await keys('Enter');
    await screen(/^… *$/m);
    await expect
      .poll(async () => (await chat.history({ session_id: 't1' })).map((entry) => entry.text))
      .toContain(typed.replace('w399', 'w3xy99'));
  });

  test('leaving waits for a message that is being sent', async () => {
    const { keys, screen, chat, held, release } = await talkHeld();
    await keys('slow', 'Enter');
    await held();
    await keys('C-d');
    await screen(/Waiting until a message is registered\. Press Ctrl-C/);
    release();
    await screen(/ended with 0/);
    expect(await chat.history({ session_id: 't1' })).toMatchObject([{ text: 'slow' }]);
  });

  test.each(['C-d', 'C-c'])('%s again leaves immediately, with the commands to resend the messages', async (key) => {
    const { keys, screen, everything, service } = await talk();
    await service.faults({ kind: 'stall', on: `POST ${MESSAGE}` });
    await keys("it's stuck", 'Enter');
    await keys('another', 'Enter');
    await screen(/^. another$/m);
    await keys('C-d');
    await screen(/Waiting until 2 messages are registered/);
    await keys(key);
    await screen(/ended with 130/);
    const said = await everything();
    expect(said).toMatch(/--external-id\s+[-\w ]+'it'\\''s stuck'/);
    expect(said).toMatch(/--external-id\s+[-\w ]+another/);
  });

  test('a message that fails after leaving is reported with the command that sends it again', async () => {
    const { keys, screen, everything, service, held, release } = await talkHeld();
    await service.faults({ kind: 'status', status: 422, stage: 'after', on: `POST ${MESSAGE}` });
    await keys('refused', 'Enter');
    await held();
    await keys('C-d');
    await screen(/Waiting until a message is registered/);
    release();
    await screen(/ended with 1$/);
    expect(await everything()).toMatch(/partnerctl chat send .*--external-id [-\w]+ refused$/m);
  });

  test('--timeout ends the conversation', async () => {
    const { screen } = await talk(undefined, ['--timeout', '3s']);
    await screen(/error: The command did not finish within --timeout\.[\s\S]*ended with 1$/);
  });

  test('chat watch knows the conversation', async () => {
    const { service, home, keys, screen } = await talk();
    await keys('hello', 'Enter');
    await screen(/^… *$/m);
    await keys('C-d');
    await screen(/ended with 0/);
    const args = ['chat', 'watch', '--no-follow', '-o', 'json', '--query', '[].session_id'];
    const { stdout } = await start(args, { env: { ...service.env, HOME: home } });
    expect(JSON.parse(stdout)).toEqual(['t1']);
  });

  test('multiple lines, commands, the history, and leaving work', async () => {
    const { keys, screen, paste, reply } = await talk();
    await paste('one\ntwo');
    await screen(new RegExp(`^› one${LINE_BREAK}two$`, 'm'));
    await keys('M-Enter', 'three', 'Enter');
    await screen(/^… *$/m);
    await reply('seen');
    await screen(/seen[\s\S]*^› *$/m);
    await keys('/nope', 'Enter');
    await screen(/Unknown command \/nope/);
    await keys('Up', 'Up');
    await screen(new RegExp(`^› one${LINE_BREAK}two${LINE_BREAK}three$`, 'm'));
    await keys('C-c');
    await screen(/^› *$/m);
    await keys('C-d');
    await screen(/ended with 0/);
  });
});
