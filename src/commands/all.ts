import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { group } from '../cli/command.ts';
import { list as listAgents } from './agents/list.ts';
import { api } from './api.ts';
import { apply } from './apply.ts';
import { open } from './chat/open.ts';
import { record } from './chat/record.ts';
import { send } from './chat/send.ts';
import { setup } from './chat/setup.ts';
import { tail } from './chat/tail.ts';
import { test } from './chat/test.ts';
import { wait } from './chat/wait.ts';
import { watch } from './chat/watch.ts';
import { completion } from './completion.ts';
import { check } from './contract/check.ts';
import { importDocument } from './contract/import.ts';
import { set, unset } from './contract/set.ts';
import { show as showContract } from './contract/show.ts';
import { adopt } from './cron/adopt.ts';
import { create } from './cron/create.ts';
import { forget } from './cron/forget.ts';
import { list as listJobs } from './cron/list.ts';
import { reconcile } from './cron/reconcile.ts';
import { doctor } from './doctor.ts';
import { exportManifests } from './export.ts';
import { help } from './help.ts';
import { login } from './login.ts';
import { logout } from './logout.ts';
import { plan } from './plan.ts';
import { list as listProfiles } from './profile/list.ts';
import { protect, unprotect } from './profile/protect.ts';
import { remove } from './profile/remove.ts';
import { show as showProfile } from './profile/show.ts';
import { use } from './profile/use.ts';
import { provision } from './provision.ts';
import { rehearse } from './sandbox/rehearse.ts';
import { runInSandbox } from './sandbox/run.ts';
import { start } from './sandbox/start.ts';
import { list as listSpaces } from './spaces/list.ts';
import { show as showSpace } from './spaces/show.ts';
import { copy } from './state/copy.ts';
import { init } from './state/init.ts';
import { path } from './state/path.ts';
import { show as showState } from './state/show.ts';
import { verify } from './state/verify.ts';
import { upload } from './upload.ts';
import { listen } from './webhook/listen.ts';
import { replay } from './webhook/replay.ts';
import { trigger } from './webhook/trigger.ts';
import { whoami } from './whoami.ts';

/** Creates all commands, in the order of help. */
export function allCommands(): readonly CommandUnknownOpts[] {
  const profiles = [listProfiles(), use(), showProfile(), protect(), unprotect(), remove()];
  const chats = [setup(), open(), send(), wait(), tail(), watch(), test(), record()];
  const jobs = [create(), listJobs(), reconcile(), adopt(), forget()];
  const states = [path(), showState(), verify(), init(), copy()];
  const contracts = [showContract(), set(), importDocument(), check(), unset()];
  return [
    login(),
    logout(),
    whoami(),
    doctor(),
    group('profile', 'Named services and tokens', profiles),
    group('spaces', 'Customer workspaces', [listSpaces(), showSpace()]),
    group('agents', 'Agents of a space', [listAgents()]),
    plan(),
    apply(),
    provision(),
    exportManifests(),
    group('chat', 'Send messages to agents and follow their replies', chats),
    upload(),
    group('cron', 'Scheduled jobs, never created twice', jobs),
    group('state', 'The record of earlier runs', states),
    group('webhook', 'Receive, verify, and forward webhooks', [listen(), replay(), trigger()]),
    api(),
    group('contract', 'The wire format, where the specification leaves it open', contracts),
    group('sandbox', 'A local copy of the service, no account needed', [start(), runInSandbox(), rehearse()]),
    completion(),
    help(),
  ];
}
