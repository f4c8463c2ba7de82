import { describe, expect, test } from 'vitest';
import { type Chat, createChat, MESSAGE } from '../support/chat.ts';
import { type HeldRequests, holdRequests } from '../support/fake-service.ts';
import { tempDirectory } from '../support/run.ts';
import { type Service, service as startService } from '../support/service.ts';
import { hasTmux, inTmux, type TmuxScreen } from '../support/tmux.ts';

/** What stands for a line break on the input line. */
const LINE_BREAK = '\u2b92';

interface Talk extends TmuxScreen {
  readonly service: Service;
  readonly chat: Chat;
  /** Adds a message of the agent to the session. */
  reply(text: string): Promise<void>;
}

/**
 * `chat open` in a separate terminal, against a sandbox whose agents send nothing on their own.
 * @param way how the service is reached
 */
async function talk(way: (service: Service) => Pick<Service, 'env'> | Promise<Pick<Service, 'env'>>): Promise<Talk> {
  const service = await startService();
  await service.admin('PUT', '/script', { rules: [{ pattern: '.*', replies: [] }] });
  const chat = await createChat(service);
  const args = ['chat', 'open', '--source', chat.source_id, '--session', 't1'];
  const terminal = await inTmux(args, { ...(await way(service)).env, HOME: tempDirectory() });
  await terminal.screen(/^› *$/m);
  const place = { source_id: chat.source_id, session_id: 't1', role: 'assistant' };
  const reply = async (text: string) => void (await service.admin('POST', '/messages', { ...place, text }));
  return { ...terminal, service, chat, reply };
}

const directly = (service: Service): Service => service;

// Without tmux there is no terminal; skipped tests are counted as skipped.
describe.skipIf(!hasTmux)('chat open, in a real terminal (needs tmux)', () => {
  test('a reply while typing keeps the text and the cursor, even if it is full of controls', async () => {
    const { keys, screen, cursor, reply, title } = await talk(directly);
    await keys('hello', 'Enter');
    await screen(/^› *$/m);
    await keys('half a wo', 'Left', 'Left');
    await screen(/^› half a wo$/m);
    // The line is drawn first, and then the cursor goes to its place: after the prompt and all letters but two.
    const column = '› half a wo'.length - 2;
    await expect.poll(cursor).toMatch(new RegExp(`^${column},`));
    await reply('**Good** morning');
    const shown = await screen(/assistant: \*\*Good\*\* morning\n› half a wo$/);
    await expect.poll(cursor).toBe([column, shown.split('\n').length - 1].join(','));
    await keys('XYZ');
    await screen(/^› half a XYZwo$/m);
    await reply('\u001b[2J\u001b[H\u001b]0;title\u0007gone?\rover\u202e\u0008');
    expect(await screen(/gone\?[\s\S]*^› half a XYZwo$/m)).toMatch(/\\x1b\[2J/);
    await keys('C-u');
    await reply(`${'x'.repeat(100_000)}\u001b[2J\rEND`);
    await screen(/x\\x1b\[2J\\rEND\n› wo$/);
    await keys('still here, ');
    await screen(/^› still here, wo$/m);
    expect(await title()).not.toBe('title');
  });

  test('a reply and a resize keep a line that wraps', async () => {
    const { keys, screen, reply, resize } = await talk(directly);
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
    // The terminal rewraps its lines itself. Only what the program writes afterwards shows that it knows the new size.
    await reply('later');
    await screen(/later\n[^\n]*over the edge of the terminal, and furth!er$/);
    await keys('?');
    const wide = await screen(/furth!\?er$/);
    expect(wide.match(/a line that/g)).toHaveLength(1);
    expect(wide).toMatch(/meanwhile/);
  });

  test('after Ctrl-Z and fg a pasted text is not sent, although the shell turned bracketed paste off', async () => {
    const { keys, screen, paste, chat } = await talk(directly);
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

  test('leaving waits for a message that is being sent, and prints the command that sends a refused one again', async () => {
    const ways: HeldRequests[] = [];
    const { keys, screen, everything, service } = await talk(async (at) => {
      ways.push(await holdRequests(at, ({ method, path }) => method === 'POST' && path.endsWith(MESSAGE)));
      return ways[0] ?? at;
    });
    await service.faults({ kind: 'status', status: 422, stage: 'after', on: `POST ${MESSAGE}` });
    await keys('refused', 'Enter');
    await ways[0]?.held();
    await keys('C-d');
    await screen(/Waiting until all messages are registered\. Press Ctrl-C/);
    ways[0]?.release();
    await screen(/ended with 1$/);
    expect(await everything()).toMatch(/partnerctl chat send .*--external-id [-\w]+ refused$/m);
  });

  test('Ctrl-C while leaving waits leaves immediately, with the commands to resend the messages', async () => {
    const { keys, screen, everything, service } = await talk(directly);
    await service.faults({ kind: 'stall', on: `POST ${MESSAGE}` });
    await keys("it's stuck", 'Enter');
    await keys('another', 'Enter');
    await screen(/^. another$/m);
    await keys('C-d');
    await screen(/Waiting until all messages are registered/);
    await keys('C-c');
    await screen(/ended with 130/);
    const said = await everything();
    expect(said).toMatch(/--external-id\s+[-\w ]+'it'\\''s stuck'/);
    expect(said).toMatch(/--external-id\s+[-\w ]+another/);
  });

  test('multiple lines, commands, the history, and leaving work', async () => {
    const { keys, screen, paste, reply } = await talk(directly);
    await paste('one\ntwo');
    await screen(new RegExp(`^› one${LINE_BREAK}two$`, 'm'));
    await keys('M-Enter', 'three', 'Enter');
    await screen(/^› *$/m);
    await reply('seen');
    await screen(/seen[\s\S]*^› *$/m);
    await keys('/nope', 'Enter');
    await screen(/Unknown command \/nope/);
    await keys('Up', 'Up');
    await screen(new RegExp(`^› one${LINE_BREAK}two${LINE_BREAK}three$`, 'm'));
    await keys('C-c');
    await paste('a draft');
    await keys('Left', 'Left', 'Up', '!');
    await screen(/^› a draft!$/m);
    await keys('C-c');
    await screen(/^› *$/m);
    await keys('C-d');
    await screen(/ended with 0/);
  });
});
