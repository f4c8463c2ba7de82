import pkg from '../../package.json' with { type: 'json' };
import { LocalError } from '../errors.ts';
import { shellQuote } from '../platform/text.ts';
import { REPAIR_HINT } from '../state/log.ts';
import { type Check, failed, ok, skipped, warning } from './check.ts';
import type { Facts } from './gather.ts';

/** The oldest Node.js that the program runs on. */
const MINIMUM_NODE = pkg.engines.node.replace(/^[^\d]*/, '');

/** Shows the version of the program, and checks that of Node.js. */
export function checkProgram({ version, nodeVersion }: Facts): Check {
  const isOld = nodeVersion.localeCompare(MINIMUM_NODE, 'en', { numeric: true }) < 0;
  if (!isOld) return ok('program', `partnerctl ${version}, Node.js ${nodeVersion}`);
  const message = `Node.js ${nodeVersion} is older than ${MINIMUM_NODE}, the oldest that partnerctl runs on.`;
  return failed('program', new LocalError(message, { hint: `Install Node.js ${MINIMUM_NODE} or later.` }));
}

/** Checks that the profiles can be read, and by this user only. */
export function checkProfiles({ profiles, profilesPath }: Facts): Check {
  if (profiles.error) return failed('profiles', profiles.error);
  const { names, isExposed } = profiles.value;
  if (isExposed) {
    const hint = `Run: chmod 600 ${shellQuote(profilesPath)}`;
    return warning('profiles', `Other users can read the tokens in ${profilesPath}.`, hint);
  }
  return ok('profiles', names.length === 0 ? `none in ${profilesPath}` : `${names.join(', ')} (${profilesPath})`);
}

/** Shows the service, the token's source, and the profile in use. */
export function checkSettings({ settings, profiles }: Facts): Check {
  if (profiles.error) return skipped('settings');
  if (settings.error) return failed('settings', settings.error);
  const { baseUrl, profile, token, shadowed } = settings.value;
  const others = shadowed.length === 0 ? '' : ` (${shadowed.join('; ')})`;
  const isStored = profiles.value.names.includes(profile.value);
  const named = isStored ? `profile "${profile.value}" from ${profile.from}` : 'no profile';
  const message = `${baseUrl.value} from ${baseUrl.from}, ${token ? `token from ${token.from}` : 'no token'}, ${named}${others}`;
  return ok('settings', message);
}

/** Checks that the state can be read and written, and that every line is intact. Warns if CI does not share it. */
export function checkState({ state, isCi, profiles, settings }: Facts): Check {
  // The profile may name the state.
  if (state === undefined || (state.error && profiles.error?.message === state.error.message)) return skipped('state');
  if (state.error) return failed('state', state.error);
  const { location, records, damage } = state.value;
  const { kind, address, from } = location;
  if (damage) {
    const what = `A line of the state cannot be used: ${address}:${damage.line}: ${damage.why}.`;
    const hint = `List the lines with: partnerctl state verify. ${REPAIR_HINT}`;
    return failed('state', new LocalError(what, { hint }));
  }
  const where = kind === 'file' ? 'a file: guards this machine only' : 'shared';
  const message = `${address} (${from}): ${where}; records: ${records ?? 'none yet'}`;
  if (isCi && kind === 'file' && records === undefined && settings.value !== undefined) {
    const hint = 'Share one state with --state postgres://… or git+ssh://…#branch: partnerctl help state';
    return warning('state', `${message}. In CI, it guards this run alone.`, hint);
  }
  return ok('state', message);
}
