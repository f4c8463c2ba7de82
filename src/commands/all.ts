import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { agents } from './agents.ts';
import { api } from './api.ts';
import { chat } from './chat.ts';
import { completion } from './completion.ts';
import { contract } from './contract.ts';
import { cron } from './cron.ts';
import { doctor } from './doctor.ts';
import { help } from './help.ts';
import { login } from './login.ts';
import { logout } from './logout.ts';
import { plan } from './plan.ts';
import { profile } from './profile.ts';
import { provision } from './provision.ts';
import { sandbox } from './sandbox.ts';
import { spaces } from './spaces.ts';
import { state } from './state.ts';
import { upload } from './upload.ts';
import { webhook } from './webhook.ts';
import { whoami } from './whoami.ts';

/** Creates all commands, in the order of help. */
export function allCommands(): readonly CommandUnknownOpts[] {
  return [
    login(),
    logout(),
    whoami(),
    doctor(),
    profile(),
    spaces(),
    agents(),
    plan(),
    provision(),
    chat(),
    upload(),
    cron(),
    state(),
    webhook(),
    api(),
    contract(),
    sandbox(),
    completion(),
    help(),
  ];
}
