import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import {
  addReplies,
  followUntil,
  injectHistoryFaults,
  joinRuns,
  messageIds,
  parseLines,
  shownIds,
  startConversations,
} from '../support/conversation.ts';
import { PROGRAM, shell, start, startFile, until } from '../support/program.ts';
import { run } from '../support/run.ts';
import { service as startService } from '../support/service.ts';

test('a message is sent, and only its reply is printed', async () => {
  const chats = await startConversations(await startService(), 1);
  const { source_id } = chats.chat;
  const { env } = chats.service;
  const ran = await shell(
    `reply=$(partnerctl chat send --source ${source_id} --session s1 'Hi!' --wait); echo "<$reply>"`,
    {
      env,
    },
  );
  expect(ran).toMatchObject({ exitCode: 0, stdout: '<You said: Hi!>\n', stderr: '' });
});

test('a tail shows new messages, reports an outage and its end, and exits 0 on Ctrl-C', async () => {
  const chats = await startConversations(await startService(), 1);
  const { service, tailArgs: args } = chats;
  await addReplies(chats, 3);
  const child = start([...args, '--interval', '100ms'], { env: service.env });
  const lost = until(child.stderr, /connection lost/);
  const back = until(child.stderr, /restored after .*; 2 messages arrived meanwhile/);
  await until(child.stdout, /(.*\n){3}/);
  await service.faults({ kind: 'status', status: 503, on: 'GET /integrations/api-chat/history/' });
  await lost;
  await addReplies(chats, 2);
  await service.faults();
  const said = await back;
  expect(said.match(/connection lost/g)).toHaveLength(1);
  child.kill('SIGINT');
  const ran = await child;
  expect(ran.exitCode).toBe(0);
  expect(shownIds(chats, parseLines(ran.stdout))).toEqual(await messageIds(chats));
});

test('a tail whose reader is gone exits 0 and does not record what was not read', async () => {
  const chats = await startConversations(await startService(), 1);
  const { service, tailArgs: args } = chats;
  await addReplies(chats, 1);
  const line = `partnerctl ${args.join(' ')} --from-start --interval 100ms | head -n 1`;
  const child = shell(line, { env: service.env });
  const first = await until(child.stdout, /\n/);
  await addReplies(chats, 1);
  expect((await child).exitCode).toBe(0);
  const rest = await start([...args, '--resume', '--no-follow'], { env: service.env });
  expect(shownIds(chats, [...parseLines(first), ...parseLines(rest.stdout)])).toEqual(await messageIds(chats));
});

test('the reader of a tail that is killed with SIGKILL sees end of file immediately, and no process stays', async () => {
  const chats = await startConversations(await startService(), 1);
  const { service, tailArgs: args } = chats;
  await addReplies(chats, 1);
  // The tail's parent never reaps it: to other processes, the dead tail still looks alive.
  const tail = `'${process.execPath}' '${PROGRAM}' ${args.join(' ')} --from-start & echo $! $BASHPID >&2; exec sleep 1000`;
  const reader = startFile('bash', ['-c', `exec cat < <(${tail} >&- 2>&-)`], { env: service.env });
  const [pid, parent] = (await until(reader.stderr, /\n/)).split(' ').map(Number);
  if (!pid || !parent) throw new Error('The shell named no processes.');
  onTestFinished(() => void process.kill(parent, 'SIGKILL'));
  await until(reader.stdout, /\n/);
  expect(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')).toBe('');
  process.kill(pid, 'SIGKILL');
  await reader;
  // Its files are closed a moment before it is dead.
  await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ');
});

test('a tail killed with SIGKILL and resumed loses nothing and repeats at most the last line', async () => {
  const chats = await startConversations(await startService(), 3);
  await injectHistoryFaults(chats.service, 2);
  const runs = [];
  for (const count of [1, 40]) {
    // A run may write everything before the signal reaches it, so that the next one needs new replies.
    await addReplies(chats, 20);
    runs.push((await followUntil(chats, ['--resume'], count, 'SIGKILL')).lines);
  }
  await chats.service.faults();
  const rest = await start([...chats.tailArgs, '--resume', '--no-follow'], { env: chats.service.env });
  runs.push(parseLines(rest.stdout));
  expect(shownIds(chats, joinRuns(runs))).toEqual(await messageIds(chats));
});

test('a message with an external id whose result nobody could read exists once when the command is repeated', async () => {
  const { service, chat } = await startConversations(await startService(), 1);
  const args = ['chat', 'send', '--source', chat.source_id, '--session', 's1', '--external-id', 'e1', 'Hi!'];
  const line = `partnerctl ${args.join(' ')}`;
  expect((await shell(`${line} > /dev/full`, { env: service.env })).exitCode).toBe(1);
  expect((await shell(`${line} | true`, { env: service.env })).exitCode).toBe(0);
  const again = await run(args, { env: service.env });
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('already exists') });
  expect((await chat.history()).filter(({ role }) => role === 'user')).toHaveLength(1);
});
